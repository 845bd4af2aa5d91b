//! A host that waits for the GPU in its loop, which then has nothing to do until the next launch.

use laptime_core::units::{count, percent};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::gpu::Gpu;
use super::super::rule::{Advised, Outcome, Rule};
use crate::report::SampledPart;

pub(super) const RULE: Rule = Rule { id: "synchronize", subject: "waits for the GPU", look };

/// Waits of a step from which on nearly each has one.
const EACH_STEP: f64 = 0.5;
/// How far a prediction may be off.
const UNCERTAIN: f64 = 0.2;

/// Without waits host and device work side by side, and the slower one is what a step takes.
fn look(evidence: &Evidence<'_>) -> Outcome {
    let Some(gpu) = Gpu::of(evidence) else { return Outcome::DoesNotApply };
    // Of a stage that is done as soon as it is launched it is not seen why: after a wait it is because of that.
    let idle = gpu.share("idle_sync") + gpu.waiting_for_launches();
    let waits = waits(evidence);
    if waits < EACH_STEP || idle <= 0.0 {
        return Outcome::Fine;
    }
    let host = 1.0 - evidence.training.share("device_wait");
    let device = 1.0 - idle - gpu.share("idle_data");
    let often =
        if waits < 1.5 { "once".to_owned() } else { format!("{} times", count(waits.round() as u64)) };
    Outcome::advice(Advised {
        title: "do not wait for the GPU in each step".to_owned(),
        because: format!(
            "the host waits for the GPU {often} a step{}, which then idles {} of the time",
            place(evidence).map(|place| format!(" ({place})")).unwrap_or_default(),
            percent(idle)
        ),
        change: "read .item(), .cpu() or print the loss every 100 steps; add it up on the GPU".to_owned(),
        speedup: Speedup::around(1.0 / host.max(device).clamp(1e-3, 1.0), UNCERTAIN),
        injects: Vec::new(),
    })
}

/// Waits for the device in each step.
fn waits(evidence: &Evidence<'_>) -> f64 {
    let report = evidence.report;
    let waits = report.ledger.iter().find(|row| row.stage == "device_wait").map_or(0, |row| row.count);
    waits as f64 / report.steps.map_or(0, |steps| steps.count).max(1) as f64
}

/// Where most of the waiting is, of a run that was profiled: `train.py:41`.
fn place(evidence: &Evidence<'_>) -> Option<String> {
    let parts = &evidence.report.profile.as_ref()?.parts;
    let training = parts.iter().find(|part| part.part == SampledPart::Training)?;
    let waiting = training.stages.iter().find(|stage| stage.stage.as_deref() == Some("device_wait"))?;
    let own = waiting.functions.iter().find(|function| !function.file.contains("site-packages"))?;
    let file = own.file.rsplit('/').next().unwrap_or(&own.file);
    Some(format!("{file}:{}", own.line))
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{FORWARD, MS, advice, advises, because, busy_gpu, gains, on_gpu};

    use laptime_core::StageId;

    /// A training that waits for the GPU at the end of each step.
    fn waiting(launch: u64, work: u64) -> crate::compare::ComparedRun {
        on_gpu(&[(StageId::PREPARE, 4 * MS, 0), (FORWARD, launch, work)], |script| {
            script.wait_for_device(StageId::AFTER_UPDATE);
        })
    }

    #[test]
    fn a_wait_in_each_step_costs_what_the_gpu_idles_after_it() {
        // 24 ms of work and 4 ms until the next launch comes: 28 ms, and 24 without the wait.
        let run = waiting(2 * MS, 24 * MS);
        let [(id, low, high)] = gains(&run)[..] else { panic!("{:?}", gains(&run)) };
        assert!(id == "synchronize" && low < 28.0 / 24.0 && 28.0 / 24.0 < high, "{low} {high}");
        assert!(
            because(&run, "synchronize")
                .starts_with("the host waits for the GPU once a step, which then idles")
        );
    }

    #[test]
    fn a_host_that_takes_longer_than_the_gpu_gains_only_what_it_waited() {
        // 24 ms of the host, of which the GPU works 20 ms side by side: it waits for 1 ms.
        let run = waiting(20 * MS, 20 * MS);
        assert!(!advises(&run, "synchronize"), "{:?}", gains(&run));
    }

    #[test]
    fn waits_once_in_an_epoch_are_fine() {
        assert!(advice(&busy_gpu()).fine.contains(&"waits for the GPU"));
    }
}
