//! Batches that come late: load them in more processes, as far as there are CPUs for them.

use laptime_core::Change;
use laptime_core::units::{counted, duration, percent};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::pipeline::Pipeline;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "workers", subject: "loader workers", look };

/// A model that waits less than this share of its time has its batches in time.
pub(super) const LATE: f64 = 0.04;
/// Workers that wait rather than compute may be more than there are CPUs, but not without end.
const MOST: u64 = 16;
/// How far the prediction may be off: with CPUs to spare, and where other programs want them, too.
const UNCERTAIN: (f64, f64) = (0.15, 0.22);

fn look(evidence: &Evidence<'_>) -> Outcome {
    let Some(workers) = evidence.fit.workers else { return Outcome::DoesNotApply };
    let late = evidence.training.share("data_wait");
    if late < LATE {
        return Outcome::Fine;
    }
    let Some(pipeline) = Pipeline::of(evidence) else {
        let because = "what loading computes and what it waits for was not recorded";
        return Outcome::Unknown(because.to_owned());
    };
    let best = pipeline.best_workers(MOST);
    if best <= workers {
        return Outcome::Fine;
    }
    let persistent = evidence.setting("torch.persistent_workers") == Some("yes");
    let gain = (pipeline.step_s(workers, persistent) / pipeline.step_s(best, true)).max(1.0);
    let is_quiet = pipeline.others < 0.5;
    Outcome::advice(Advised {
        title: format!("load with {}", counted(best, "worker")),
        because: because(evidence, &pipeline, late),
        change: format!("DataLoader(…, num_workers={best}, persistent_workers=True)"),
        speedup: Speedup::around(gain, if is_quiet { UNCERTAIN.0 } else { UNCERTAIN.1 }).not_slower(),
        injects: vec![Change::new("num_workers", best), Change::new("persistent_workers", 1)],
    })
}

/// The wait, what a batch takes, and on how many CPUs.
fn because(evidence: &Evidence<'_>, pipeline: &Pipeline, late: f64) -> String {
    let load_s = pipeline.load_cpu_s + pipeline.load_waits_s;
    let others = match pipeline.others {
        others if others >= 0.5 => format!(", beside {others:.1} threads of other programs"),
        _ => String::new(),
    };
    format!(
        "the model waits {} of each step: a batch takes {} to load, {} of it computing, on {:.0} CPUs{others}",
        percent(late),
        duration(load_s),
        percent(pipeline.computing_share()),
        evidence.cpus
    )
}
