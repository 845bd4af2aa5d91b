//! Workers that cost more than they bring: a batch that is quickly loaded takes longer to be handed over.

use laptime_core::units::{counted, duration};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::injected;
use super::super::pipeline::Pipeline;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "fewer_workers", subject: "what workers cost", look };

/// How far the prediction may be off.
const UNCERTAIN: f64 = 0.2;

fn look(evidence: &Evidence<'_>) -> Outcome {
    // On a GPU the host runs ahead, so what it takes to load is no part of a step until it is more than the device does.
    let Some(workers) = evidence.fit.workers.filter(|workers| *workers > 0 && evidence.on_cpu()) else {
        return Outcome::DoesNotApply;
    };
    let Some(pipeline) = Pipeline::of(evidence) else {
        return Outcome::Unknown("what loading computes and what it waits for was not recorded".to_owned());
    };
    let now = evidence.training.step_s();
    let without = pipeline.step_s(0, true);
    if without >= now {
        return Outcome::Fine;
    }
    Outcome::advice(Advised {
        title: "load without workers".to_owned(),
        because: format!(
            "a step takes {} and waits for {} that {} a batch in {}: to start them and to hand batches over takes more",
            duration(now),
            counted(workers, "worker"),
            if workers == 1 { "loads" } else { "load" },
            duration(pipeline.load_cpu_s + pipeline.load_waits_s)
        ),
        change: "DataLoader(…, num_workers=0)".to_owned(),
        speedup: Speedup::around(now / without, UNCERTAIN),
        injects: injected("num_workers", 0),
    })
}
