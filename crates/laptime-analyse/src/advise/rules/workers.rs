//! Batches that come late: load them in more processes, as far as there are CPUs for them.

use laptime_core::Change;
use laptime_core::units::{counted, duration, percent};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::pipeline::Pipeline;
use super::super::rule::{Advised, Outcome, Rule};
use super::memory::faults_of_short_memory;

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
    if faults_of_short_memory(evidence).is_some() {
        let because = "the data does not stay in memory, and more workers read from the same disk";
        return Outcome::Unknown(because.to_owned());
    }
    let Some(pipeline) = Pipeline::of(evidence) else {
        let because = "what loading computes and what it waits for was not recorded";
        return Outcome::Unknown(because.to_owned());
    };
    let best = pipeline.best_workers(most(&pipeline));
    if best <= workers {
        return Outcome::Fine;
    }
    let persistent = evidence.setting("torch.persistent_workers") == Some("yes");
    let gain = (pipeline.step_s(workers, persistent) / pipeline.step_s(best, true)).max(1.0);
    let is_quiet = pipeline.rivals < 0.5;
    Outcome::advice(Advised {
        title: format!("load with {}", counted(best, "worker")),
        because: because(evidence, &pipeline, late),
        change: format!("DataLoader(…, num_workers={best}, persistent_workers=True)"),
        speedup: Speedup::around(gain, if is_quiet { UNCERTAIN.0 } else { UNCERTAIN.1 }).not_slower(),
        injects: changes(best, persistent),
    })
}

/// More workers; those that are kept already need no change for that.
fn changes(workers: u64, persistent: bool) -> Vec<Change> {
    let kept = (!persistent).then(|| Change::new("persistent_workers", 1));
    std::iter::once(Change::new("num_workers", workers)).chain(kept).collect()
}

/// Workers that compute are at most as many as the CPUs; those that wait may be more.
fn most(pipeline: &Pipeline) -> u64 {
    ((pipeline.cpus / pipeline.computing_share()).ceil() as u64).clamp(1, MOST)
}

/// The wait, what a batch takes, and on how many CPUs.
fn because(evidence: &Evidence<'_>, pipeline: &Pipeline, late: f64) -> String {
    let load_s = pipeline.load_cpu_s + pipeline.load_waits_s;
    let others = evidence.report.machine.other_cpus.filter(|others| *others >= 0.2);
    let others = others.map(|others| format!(", of which others keep {others:.1} busy")).unwrap_or_default();
    format!(
        "the model waits {} of each step: a batch takes {} to load, {} of it computing, on {:.0} CPUs{others}",
        percent(late),
        duration(load_s),
        percent(pipeline.computing_share()),
        evidence.cpus
    )
}
