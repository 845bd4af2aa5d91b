//! Copies of batches to a GPU that computes nothing meanwhile: pinned memory and non-blocking copies.

use laptime_core::units::{bytes, percent};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::gpu::{Gpu, of_share};
use super::super::injected;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "pin_memory", subject: "pinned memory", look };

/// Copies are pageable, or blocking, from this share of their bytes on.
const MOST: f64 = 0.5;
/// Pinned memory is copied at 55 GB/s where pageable memory is at 17 (H200, PCIe 5).
const PINNED: f64 = 55.0 / 17.0;
/// What is left of copies that are made ahead, on a stream of their own.
const AHEAD: f64 = 10.0;
/// How far a prediction may be off.
const UNCERTAIN: f64 = 0.2;

fn look(evidence: &Evidence<'_>) -> Outcome {
    let Some(gpu) = Gpu::of(evidence) else { return Outcome::DoesNotApply };
    let transfer = &evidence.report.transfer;
    let Some(moved) = transfer.host_to_device_bytes.filter(|bytes| *bytes > 0) else {
        return Outcome::DoesNotApply;
    };
    let part = |bytes: Option<u64>| bytes.unwrap_or(0) as f64 / moved as f64;
    let copying = gpu.share("copy");
    let each = bytes(moved / evidence.report.steps.map_or(1, |steps| steps.count.max(1)));
    let because = |what: &str| {
        format!("the GPU only copies for {} of the time: {each} a step, {what}", percent(copying))
    };
    let is_pageable = part(transfer.pageable_bytes) >= MOST;
    // Without workers it is the training's own thread that would copy batches into pinned memory first.
    if is_pageable && evidence.fit.workers == Some(0) {
        return Outcome::DoesNotApply;
    }
    if is_pageable {
        return Outcome::advice(Advised {
            title: "copy batches from pinned memory".to_owned(),
            because: because(&format!("{} of it pageable", percent(part(transfer.pageable_bytes).min(1.0)))),
            change: "DataLoader(…, pin_memory=True) and batch.to(device, non_blocking=True)".to_owned(),
            speedup: Speedup::around(of_share(copying, PINNED), UNCERTAIN),
            injects: injected("pin_memory", 1),
        });
    }
    let blocking = if part(transfer.blocking_bytes) >= MOST { ", and the host waits for it" } else { "" };
    Outcome::advice(Advised {
        title: "copy the next batch ahead".to_owned(),
        because: because(&format!("pinned{blocking}")),
        change: "copy the next batch with non_blocking=True on a torch.cuda.Stream() of its own".to_owned(),
        speedup: Speedup::around(of_share(copying, AHEAD), UNCERTAIN),
        injects: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{FORWARD, MS, advice, advises, because, changed, gains, on_gpu};

    use crate::compare::ComparedRun;

    fn copied(pageable: u64, blocking: u64) -> ComparedRun {
        let run = on_gpu(
            &[(laptime_core::StageId::HOST_TO_DEVICE, 20 * MS, 20 * MS), (FORWARD, MS, 20 * MS)],
            |_| (),
        );
        changed(run, |report| {
            let lap_rows = report.epochs.iter_mut().filter_map(|lap| lap.device_stages.as_mut());
            lap_rows.for_each(|rows| {
                *rows = [("copy", 1.0), ("forward", 3.0)].map(|(a, b)| (a.to_owned(), b)).into();
            });
            report.transfer.host_to_device_bytes = Some(360 << 20);
            report.transfer.pageable_bytes = Some(pageable << 20);
            report.transfer.blocking_bytes = Some(blocking << 20);
        })
    }

    #[test]
    fn pageable_copies_that_a_gpu_waits_for_get_pinned_memory() {
        let run = copied(360, 360);
        assert_eq!(gains(&run), [("pin_memory", 1.11, 1.32)]);
        assert_eq!(
            because(&run, "pin_memory"),
            "the GPU only copies for 25 % of the time: 1.0 MiB a step, 100 % of it pageable"
        );
    }

    #[test]
    fn without_workers_nobody_pins_memory_beside_the_training() {
        let mut run = copied(360, 360);
        run.report.fits.iter_mut().for_each(|fit| fit.workers = Some(0));
        assert!(!advises(&run, "pin_memory"));
    }

    #[test]
    fn pinned_copies_that_a_gpu_still_waits_for_are_to_be_made_ahead() {
        let run = copied(0, 0);
        let item = &advice(&run).items[0];
        assert_eq!((item.title.as_str(), &item.injects), ("copy the next batch ahead", &None));
    }

    #[test]
    fn copies_that_take_no_time_and_data_on_the_gpu_are_fine() {
        let hidden = changed(copied(360, 360), |report| {
            for rows in report.epochs.iter_mut().filter_map(|lap| lap.device_stages.as_mut()) {
                rows.insert("copy".to_owned(), 0.01);
            }
        });
        assert!(advice(&hidden).fine.contains(&"pinned memory"));
        let nothing = changed(copied(0, 0), |report| report.transfer.host_to_device_bytes = None);
        assert!(!advises(&nothing, "pin_memory"));
    }
}
