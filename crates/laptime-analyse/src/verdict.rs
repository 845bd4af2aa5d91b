//! Verdict: what limits the training, in one sentence with numbers, and what else the facts say.

use laptime_core::units::duration;
use laptime_core::{StageId, Status, Timebase, Trouble};

use crate::compiled::{compiled, compiled_functions};
use crate::discarded::discarded_gradients;
use crate::process::Process;
use crate::report::{Finding, Report, Warning};
use crate::statistics::{t_width, variance};
use crate::step_series::{Block, joined};
use crate::wording::{percent, times, times_between};

/// Fewer steps (or spans, without steps) than this show no bottleneck.
const FEWEST_STEPS: u64 = 10;
/// Waiting for data is the limit from this share of a pass on: ready batches would save a quarter.
const WAITING: f64 = 0.25;
/// Computing is the limit from this share of a pass on.
const COMPUTING: f64 = 0.50;
/// Evaluation, checkpoints or start-up are the limit from this share of the run on.
const AROUND: f64 = 0.40;
/// A process that got less than this share of the CPUs it asked for, while others waited, was crowded out.
const CROWDED: f64 = 0.6;
const LEVEL: f64 = 0.95;

/// Where the time of the passes and of the run went, as shares.
struct Shares<'a> {
    report: &'a Report,
    training_s: f64,
}

impl Shares<'_> {
    fn of_run(&self, stage: &str) -> f64 {
        self.report.ledger.iter().find(|row| row.stage == stage).map_or(0.0, |row| row.share)
    }

    fn of_training(&self, stage: &str) -> f64 {
        let spent: f64 = self.report.epochs.iter().filter_map(|epoch| epoch.stages.get(stage)).sum();
        if self.training_s > 0.0 { spent / self.training_s } else { 0.0 }
    }

    /// Stages of computing from the largest.
    fn computing(&self) -> Vec<(&str, f64)> {
        let stages = ["forward", "loss", "backward", "optimizer"].into_iter();
        let stages = stages.chain(compiled_functions(self.report));
        let mut shares: Vec<_> = stages.map(|stage| (stage, self.of_training(stage))).collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares
    }
}

/// The verdict first, then what else stands out.
pub(crate) fn findings(report: &Report, process: &Process, timebase: &Timebase) -> Vec<Finding> {
    let training_s = report.epochs.iter().map(|epoch| epoch.wall_s).sum();
    let shares = Shares { report, training_s };
    let verdict = verdict(&shares, process, timebase);
    let others = [
        compiled(report),
        discarded_gradients(process),
        slow_first_epoch(report),
        throttled(report, 0.01),
        swapping(report, process, timebase),
        not_a_number(process),
        overhead(report),
    ];
    let first = verdict.id;
    let others = others.into_iter().flatten().filter(|finding| finding.id != first);
    std::iter::once(verdict).chain(others).collect()
}

fn verdict(shares: &Shares, process: &Process, timebase: &Timebase) -> Finding {
    let report = shares.report;
    if let Some(finding) = too_little(report, process) {
        return finding;
    }
    throttled(report, 0.2)
        .or_else(|| swapping(report, process, timebase))
        .or_else(|| around(shares))
        .or_else(|| data_bound(shares, process))
        .or_else(|| contended(shares, process, timebase))
        .or_else(|| compute_bound(shares))
        .or_else(|| communication_bound(shares))
        .unwrap_or_else(|| nothing_stands_out(shares))
}

fn finding(id: &'static str, text: String) -> Finding {
    Finding { id, text }
}

/// What can be said of a command that recorded nothing of itself: why, where that is known.
pub(crate) fn nothing_recorded(warnings: &[Warning]) -> Finding {
    let because = warnings.iter().find_map(|warning| match warning {
        Warning::Trouble { trouble: Trouble::HooksNotAttached { because, hint } } => {
            Some(format!("{because}; {hint}"))
        }
        Warning::Trouble { trouble: Trouble::NothingToRecord { because } } => Some(because.clone()),
        _ => None,
    });
    let because = because.unwrap_or_else(|| "the command recorded no stages".to_owned());
    finding("nothing_recorded", format!("cannot tell where the time went: {because}"))
}

fn too_little(report: &Report, process: &Process) -> Option<Finding> {
    let steps = report.steps.map_or(0, |steps| steps.count);
    let spans = process.lanes.values().filter_map(|lane| lane.state.as_ref());
    let spans = spans.flat_map(|state| &state.totals).filter(|total| total.stage != StageId::EVALUATE);
    let evidence = spans.map(|total| total.count).fold(steps, u64::max);
    let text = match steps {
        _ if report.fits.is_empty() => "cannot tell what limits the training: no fit began".to_owned(),
        _ if evidence < FEWEST_STEPS => {
            let unit = if steps == 1 { "step" } else { "steps" };
            format!("cannot tell what limits the training: only {steps} {unit} ended")
        }
        _ => return None,
    };
    Some(finding("cannot_tell", text))
}

/// The time is not spent in the passes but around them.
fn around(shares: &Shares) -> Option<Finding> {
    let rows = [
        ("start_up", "start_up_bound", "starting up is the limit"),
        ("evaluate", "evaluate_bound", "evaluation is the limit"),
        ("checkpoint", "checkpoint_bound", "saving checkpoints is the limit"),
    ];
    let share = |stage| shares.of_run(stage);
    let (stage, id, text) = rows.into_iter().max_by(|a, b| share(a.0).total_cmp(&share(b.0)))?;
    let spent = share(stage);
    // A run that has only just begun has started up for most of its life.
    if stage == "start_up" && shares.report.run.status == Status::Running {
        return None;
    }
    let training = (shares.training_s / shares.report.wall_s.max(f64::MIN_POSITIVE)).min(1.0);
    (spent >= AROUND && spent > training).then(|| {
        let training = percent(training);
        finding(
            id,
            format!("{text}: {} of the run; the passes over the data take {training}", percent(spent)),
        )
    })
}

fn data_bound(shares: &Shares, process: &Process) -> Option<Finding> {
    let waiting = shares.of_training("data_wait");
    let computing: f64 = shares.computing().iter().map(|stage| stage.1).sum();
    // Where computing takes more than twice as long, faster loading is not the first thing to do.
    if waiting < WAITING || computing > 2.0 * waiting {
        return None;
    }
    let faster = |waiting: f64| 1.0 / (1.0 - waiting.clamp(0.0, 0.99));
    let range = waiting_half_width(process).filter(|half| *half > 0.0).map_or_else(String::new, |half| {
        format!(" (95 %: {})", times_between(faster(waiting - half), faster(waiting + half)))
    });
    let text = format!(
        "data loading is the limit: {} of each step waits for data; the model could run {} faster if batches \
         were ready{range}",
        percent(waiting),
        times(faster(waiting))
    );
    Some(finding("data_bound", text))
}

/// Half of the 95 % interval of the share of a step that waits for data, from how it varies between blocks
/// of steps: the interval of a ratio of two sums.
fn waiting_half_width(process: &Process) -> Option<f64> {
    let blocks: Vec<_> = process.fits.values().flat_map(|fit| joined(fit.steps.blocks(), 20)).collect();
    if blocks.len() < 4 {
        return None;
    }
    let (count, sum) =
        (blocks.len() as f64, |of: fn(&Block) -> u64| blocks.iter().map(of).sum::<u64>() as f64);
    let (ticks, wait) = (sum(|block| block.ticks).max(1.0), sum(|block| block.wait));
    let off = |block: &Block| block.wait as f64 - wait / ticks * block.ticks as f64;
    let residuals: Vec<f64> = blocks.iter().map(off).collect();
    let deviation = (variance(&residuals)? / count).sqrt() / (ticks / count);
    Some(t_width(LEVEL, count - 1.0) * deviation)
}

fn compute_bound(shares: &Shares) -> Option<Finding> {
    let computing = shares.computing();
    let sum: f64 = computing.iter().map(|stage| stage.1).sum();
    if sum < COMPUTING {
        return None;
    }
    let [(first, most), (second, next), ..] = computing[..] else { return None };
    let second = if next > 0.0 { format!(", {second} {}", percent(next)) } else { String::new() };
    let text = format!(
        "computing is the limit: {first} takes {} of each step{second}; waiting for data {}",
        percent(most),
        percent(shares.of_training("data_wait"))
    );
    Some(finding("compute_bound", text))
}

/// Computing is the limit, but mostly because others used the CPUs.
fn contended(shares: &Shares, process: &Process, timebase: &Timebase) -> Option<Finding> {
    let report = shares.report;
    compute_bound(shares).filter(|_| report.run.device.as_deref().is_none_or(|device| device == "cpu"))?;
    let sampled = process.gauges.sampled_s(timebase);
    let cpus = report.machine.cpu_s? / sampled;
    let asked = f64::from(report.run.threads.unwrap_or(1).clamp(1, report.run.cpus.max(1)));
    let asked = report.machine.quota_cpus.map_or(asked, |quota| asked.min(quota)).max(0.1);
    let taken = report.machine.involuntary_switches.unwrap_or(0) as f64 / sampled;
    let pressure = report.machine.cpu_pressure.unwrap_or(0.0);
    if sampled < 1.0 || cpus >= CROWDED * asked || (pressure < 0.2 && taken < 100.0) {
        return None;
    }
    let text = format!(
        "the machine was shared: computing is the limit, but the process got {cpus:.1} of the {asked:.1} CPUs \
         it asked for; a CPU was taken from it {taken:.0} times a second, and for {} of the time some task \
         waited for one",
        percent(pressure)
    );
    Some(finding("contended", text))
}

fn communication_bound(shares: &Shares) -> Option<Finding> {
    let share = shares.of_training("communication");
    let text = || format!("exchange between ranks is the limit: {} of each step", percent(share));
    (share >= AROUND).then(|| finding("communication_bound", text()))
}

fn nothing_stands_out(shares: &Shares) -> Finding {
    let rest = shares.of_training("unaccounted");
    let computing: f64 = shares.computing().iter().map(|stage| stage.1).sum();
    let text = if rest >= 0.5 {
        format!("cannot tell what limits the training: no stage claims {} of each step", percent(rest))
    } else {
        format!(
            "cannot tell what limits the training: nothing stands out (computing {} of each step, waiting for \
             data {}, claimed by no stage {})",
            percent(computing),
            percent(shares.of_training("data_wait")),
            percent(rest)
        )
    };
    finding("cannot_tell", text)
}

fn throttled(report: &Report, least: f64) -> Option<Finding> {
    let held = report.machine.throttled_s?;
    let share = held / report.wall_s.max(f64::MIN_POSITIVE);
    let quota = report.machine.quota_cpus.map_or_else(String::new, |cpus| format!(" of {cpus:.1} CPUs"));
    let text = || {
        let held = duration(held);
        format!(
            "the container's CPU quota{quota} held the process back for {held} of {}",
            duration(report.wall_s)
        )
    };
    (share >= least).then(|| finding("throttled", text()))
}

fn swapping(report: &Report, process: &Process, timebase: &Timebase) -> Option<Finding> {
    let (swapped, faults) = (report.memory.swapped_bytes?, report.memory.major_faults?);
    let rate = faults as f64 / process.gauges.sampled_s(timebase).max(1.0);
    let text = || {
        let mib = swapped as f64 / f64::from(1 << 20);
        format!("memory ran short: {mib:.0} MiB were swapped out, {faults} page faults waited for storage")
    };
    // Swapped pages that nobody touches cost nothing; faults that wait for storage do.
    (swapped > 0 && rate >= 50.0).then(|| finding("swapping", text()))
}

fn slow_first_epoch(report: &Report) -> Option<Finding> {
    let slow = report.fits.iter().filter(|fit| fit.epochs >= 3).find_map(|fit| {
        let (first, steady) = (fit.epoch_s.first?, fit.epoch_s.steady?);
        (first > 1.3 * steady && steady > 0.0).then_some((first, steady))
    })?;
    let (first, steady) = slow;
    let text = format!(
        "the first epoch took {} the time of the later ones ({} against {})",
        times(first / steady),
        duration(first),
        duration(steady)
    );
    Some(finding("slow_first_epoch", text))
}

fn not_a_number(process: &Process) -> Option<Finding> {
    let lost = process.fits.iter().find_map(|(index, fit)| {
        let epoch = fit.epochs.iter().find(|epoch| epoch.raw_loss().is_some_and(|loss| !loss.is_finite()))?;
        Some((index, epoch.index))
    })?;
    let (fit, epoch) = lost;
    Some(finding(
        "loss_not_a_number",
        format!("the loss is not a finite number in epoch {epoch} of fit {fit}"),
    ))
}

fn overhead(report: &Report) -> Option<Finding> {
    let overhead = &report.overhead;
    let spans_s = overhead.spans as f64 * overhead.span_cost_ns.unwrap_or(0.0) * 1e-9;
    let by_spans = spans_s > 0.01 * report.wall_s;
    // Opening files costs the same however short the run; that says nothing about the stages.
    let by_flusher = overhead.share > 0.01 && report.wall_s >= 1.0;
    let hint = if by_spans { "; time fewer or longer stages" } else { "" };
    let text = || format!("laptime itself took {} of the run{hint}", percent(overhead.share));
    (by_spans || by_flusher).then(|| finding("overhead", text()))
}
