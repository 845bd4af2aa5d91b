//! The sweep as every presenter gets it, and as `--json` prints it: `laptime.sweep/1`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::best::{Best, Measure, best};
use super::estimate::Repeated;
use super::findings::{SweepFinding, findings};
use super::frontier::frontier;
use super::laws::{Grid, SweepLaw, laws};
use super::machine::{MachineDuring, Taint};
use super::machines::{self, SweepMachine, evened, machines};
use super::plan::{Plan, Target, Value};
use super::point::point;
use super::repeat::{Moment, Repeat};
use super::schedule::{by_point, trusted};
use super::target::{ToTarget, target};

/// The version of [`Sweep`]; fields may be added to it, none changes meaning.
pub const SWEEP_SCHEMA: &str = "laptime.sweep/1";

/// One sweep, explained. What is unknown is `None`, never a guess.
#[derive(Clone, Debug, Serialize)]
pub struct Sweep {
    /// Always [`SWEEP_SCHEMA`].
    pub schema: &'static str,
    /// Which sweep this is.
    pub sweep: SweepFacts,
    /// The axes.
    pub parameters: Vec<Axis>,
    /// Every point of the grid; the last axis varies fastest.
    pub points: Vec<Point>,
    /// Laws of time along the axes that are numbers.
    pub laws: Vec<SweepLaw>,
    /// What points are compared by.
    pub compared_by: Measure,
    /// What training was to reach, where that is known.
    pub target: Option<Target>,
    /// The point that does best; absent when none finished.
    pub best: Option<Best>,
    /// Points that nobody beats in both, the last accuracy (or loss) and the time to it, from the quickest.
    pub frontier: Vec<usize>,
    /// The machines it was measured on; none where it was started and on no other.
    pub machines: Vec<SweepMachine>,
    /// What analysis concluded, one sentence each.
    pub findings: Vec<SweepFinding>,
}

/// Which sweep a document is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SweepFacts {
    /// Its id: its folder's name.
    pub id: String,
    /// The command, with `{NAME}` where values go.
    pub command: Vec<String>,
    /// How it stands.
    pub status: SweepStatus,
    /// When it started, RFC 3339 in UTC.
    pub started: String,
    /// Time it took, all sessions together, seconds.
    pub wall_s: f64,
    /// What decided the order of the repeats.
    pub seed: u64,
    /// Repeats that were made.
    pub repeats: u64,
    /// CPUs of the machine.
    pub cpus: u32,
}

/// How a sweep stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepStatus {
    /// It is being made, or was cut off without a word.
    #[default]
    Running,
    /// Every point is measured as well as was asked for.
    Finished,
    /// It was stopped and can go on.
    Interrupted,
    /// Its time was over and it can go on.
    BudgetSpent,
}

/// One axis for programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Its values in the order they were given.
    pub values: Vec<Value>,
}

/// How a point stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PointStatus {
    /// Nothing was tried yet.
    #[default]
    NotRun,
    /// All its repeats ended well.
    Finished,
    /// A repeat ended with an exit code that says it failed.
    Failed,
    /// A repeat was ended by a signal.
    Killed,
    /// A repeat did not end in time.
    TimedOut,
}

/// One point of the grid.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Point {
    /// Its values by axis.
    pub values: BTreeMap<String, Value>,
    /// Repeats its means rest on.
    pub repeats: u64,
    /// Repeats that were tried, those that failed and the tainted ones among them.
    pub tried: u64,
    /// How it stands.
    pub status: PointStatus,
    /// Why it did not finish.
    pub reason: Option<String>,
    /// Whether its means rest on tainted repeats, since there were too few others.
    pub tainted: bool,
    /// Tainted repeats, used or not.
    pub tainted_repeats: u64,
    /// Why they are tainted.
    pub taints: Vec<Taint>,
    /// Mean step after warm-up, seconds.
    pub step_s: Option<Repeated>,
    /// Mean epoch after warm-up, seconds.
    pub epoch_s: Option<Repeated>,
    /// Samples a second after warm-up.
    pub samples_per_s: Option<Repeated>,
    /// From the command's start to its end, seconds.
    pub wall_s: Option<Repeated>,
    /// How many times as long as the best point it takes.
    pub relative: Option<f64>,
    /// Epochs that ended.
    pub epochs: Option<u64>,
    /// Steps that ended.
    pub steps: Option<u64>,
    /// Numbers the model learns.
    pub parameters: Option<u64>,
    /// Floating-point operations that a sample takes.
    pub flops_per_sample: Option<f64>,
    /// The most memory that was resident, bytes.
    pub peak_rss_bytes: Option<u64>,
    /// Mean of the last losses.
    pub loss: Option<f64>,
    /// Mean of the last accuracies.
    pub accuracy: Option<f64>,
    /// How long training took to its target.
    pub to_target: Option<ToTarget>,
    /// Loss and accuracy over time, of its first trusted repeat.
    pub course: Vec<Moment>,
    /// What the machine did during its repeats, on average.
    pub machine: MachineDuring,
}

impl Sweep {
    /// Folds the repeats of a plan.
    #[must_use]
    pub fn of(plan: &Plan, repeats: &[Repeat], facts: SweepFacts) -> Self {
        let even = evened(plan, repeats);
        let of_points = by_point(plan, &even);
        let used: Vec<Vec<&Repeat>> = of_points.iter().map(|own| trusted(&plan.goal, own).0).collect();
        let mut sweep = Self::so_far(plan, repeats, facts);
        sweep.laws = laws(&Grid { plan, points: &sweep.points, used: &used });
        sweep.findings = findings(plan, &sweep, &used);
        sweep.findings.extend(machines::findings(plan, repeats, &sweep.machines, sweep.compared_by));
        sweep
    }

    /// Folds the repeats into points alone, without laws and sentences: for a table that is drawn often.
    #[must_use]
    pub fn so_far(plan: &Plan, repeats: &[Repeat], facts: SweepFacts) -> Self {
        let target = target(repeats);
        let even = evened(plan, repeats);
        let of_points = by_point(plan, &even);
        let folded = of_points.iter().enumerate().map(|(at, own)| point(plan, at, own, target));
        let mut points: Vec<Point> = folded.collect();
        let compared_by = Measure::of(&points);
        let best = best(&points, compared_by);
        let best_cost = best.as_ref().and_then(|best| compared_by.cost(&points[best.point]));
        for point in points.iter_mut().filter(|point| point.status == PointStatus::Finished) {
            point.relative = compared_by.cost(point).zip(best_cost).map(|(cost, best)| cost / best);
        }
        let axes = plan.parameters.iter().map(|axis| Axis { name: axis.name.clone(), values: axis.typed() });
        Self {
            schema: SWEEP_SCHEMA,
            sweep: facts,
            parameters: axes.collect(),
            frontier: frontier(&points),
            laws: Vec::new(),
            points,
            compared_by,
            target,
            best,
            machines: machines(plan, repeats, compared_by),
            findings: Vec::new(),
        }
    }
}
