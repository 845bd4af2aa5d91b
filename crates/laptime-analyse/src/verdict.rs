//! Verdict: what limits the steps, in one sentence with numbers, and what else the facts say.

mod device;
mod limit;

use laptime_core::units::{duration, percent};
use laptime_core::{StageId, Timebase, Trouble};

pub(crate) use self::device::host_times;
use self::limit::{Limit, late_half_width};
use crate::compiled::compiled;
use crate::contention::Contention;
use crate::discarded::discarded_gradients;
use crate::fit_name::fit_name;
use crate::machine::{clock_fell, heat, stolen, swapping, throttled};
use crate::outside_steps::outside_steps;
use crate::process::Process;
use crate::report::{Finding, FitSummary, Report, Warning};
use crate::shares::Shares;
use crate::supervised::Supervised;
use crate::wording::times;

/// Fewer steps (or spans, without steps) than this show no bottleneck.
const FEWEST_STEPS: u64 = 10;
/// A quota that holds a run back for this share of it is the verdict, and for the second worth a word.
const THROTTLED: (f64, f64) = (0.2, 0.01);
/// Garbage collection and callbacks are worth a word from these shares of a step on.
const MUCH_GARBAGE: f64 = 0.05;
const MUCH_CALLING: f64 = 0.15;

/// What limits the steps first, then what is around them, then what else stands out.
pub(crate) fn findings(report: &Report, run: &Supervised<'_>, timebase: &Timebase) -> Vec<Finding> {
    let process = run.process;
    let shares = Shares::of_run(report);
    let mut found = verdicts(report, run, &shares, timebase);
    let others = [not_a_number(report, process), discarded_gradients(process)];
    let machine = [
        throttled(report, THROTTLED.1),
        swapping(report, process, timebase),
        heat(&report.machine),
        clock_fell(report),
        stolen(&report.machine),
    ];
    let rest =
        [garbage(&shares), callbacks(&shares), compiled(report), slow_first_epoch(report), overhead(report)];
    let others = device::findings(report).into_iter().chain(others.into_iter().flatten());
    let others = others.chain(machine.into_iter().flatten()).chain(outside_steps(report));
    for finding in others.chain(rest.into_iter().flatten()) {
        if !found.iter().any(|known| known.id == finding.id) {
            found.push(finding);
        }
    }
    found
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
    let text = format!("cannot tell where the time went: {because}");
    Finding { verdict: true, ..Finding::new("nothing_recorded", text) }
}

/// The verdict, or one for each fit; what the machine did to all steps comes before what they do.
fn verdicts(report: &Report, run: &Supervised<'_>, shares: &Shares<'_>, timebase: &Timebase) -> Vec<Finding> {
    if let Some(finding) = too_little(report, run.process) {
        return vec![Finding { verdict: true, ..finding }];
    }
    let hint = report.fits.first().map_or("", hint);
    if let Some(finding) = device::verdict(report, hint) {
        return on_device(finding, report, run, timebase);
    }
    let mut found = of_steps(report, run.process);
    if let Some(device) = device::only_host_times(report) {
        found.iter_mut().for_each(|finding| doubt(finding, device));
    }
    found.iter_mut().for_each(|finding| finding.verdict = true);
    let cause = throttled(report, THROTTLED.0).or_else(|| swapping(report, run.process, timebase));
    if let Some(cause) = cause {
        found.insert(0, Finding { verdict: true, ..cause });
    }
    put_contention(&mut found, report, run, shares, timebase);
    found
}

/// The verdict by the times of a device; what the machine does to the host limits steps that wait for the host.
fn on_device(finding: Finding, report: &Report, run: &Supervised<'_>, timebase: &Timebase) -> Vec<Finding> {
    let computes = finding.id == "gpu_bound";
    let mut found = vec![Finding { verdict: true, ..finding }];
    let cause = throttled(report, THROTTLED.0).or_else(|| swapping(report, run.process, timebase));
    if let Some(cause) = cause.filter(|_| !computes) {
        found.insert(0, Finding { verdict: true, ..cause });
    }
    let contention = Contention::seen(report, run, timebase).filter(|_| !computes);
    found.extend(contention.and_then(|seen| seen.finding("the CPUs are contended, too")));
    found
}

/// What the host launches says nothing of what a device computes.
fn doubt(finding: &mut Finding, device: &str) {
    if finding.id == "compute_bound" {
        finding.id = "cannot_tell";
        finding.text = format!(
            "cannot tell what limits the training: times are the host's, and {device} works on after them"
        );
    }
}

/// Contention is what limits steps that compute; of others it is one more thing to know.
fn put_contention(
    found: &mut Vec<Finding>,
    report: &Report,
    run: &Supervised<'_>,
    shares: &Shares<'_>,
    timebase: &Timebase,
) {
    let Some(seen) = Contention::seen(report, run, timebase) else { return };
    let computing = found.iter().all(|finding| finding.id == "compute_bound");
    let beside = matches!(Limit::of(shares), Limit::Data | Limit::Prepare | Limit::Communication);
    let words = if beside && !computing { "the CPUs are contended, too" } else { "contention is the limit" };
    let Some(mut finding) = seen.finding(words) else { return };
    if computing {
        let share = percent(shares.computing_sum());
        finding.text.push_str(&format!("; computing takes {share} of each step"));
        found.clear();
    }
    finding.verdict = computing || !beside;
    let at = if finding.verdict { 0 } else { found.len() };
    found.insert(at, finding);
}

fn too_little(report: &Report, process: &Process) -> Option<Finding> {
    let steps = report.steps.map_or(0, |steps| steps.count);
    let spans = process.lanes.values().filter_map(|lane| lane.state.as_ref());
    let spans = spans.flat_map(|state| &state.totals).filter(|total| total.stage != StageId::EVALUATE);
    let evidence = spans.map(|total| total.count).fold(steps, u64::max);
    let text = match steps {
        _ if report.fits.is_empty() => "cannot tell what limits the training: no fit began".to_owned(),
        0 if evidence < FEWEST_STEPS => {
            "cannot tell what limits the training: its steps are not seen".to_owned()
        }
        _ if evidence < FEWEST_STEPS => {
            let unit = if steps == 1 { "step" } else { "steps" };
            format!("cannot tell what limits the training: only {steps} {unit} ended")
        }
        _ => return None,
    };
    Some(Finding::new("cannot_tell", text))
}

/// One verdict that is true of all fits, else one each.
fn of_steps(report: &Report, process: &Process) -> Vec<Finding> {
    let fits = report.fits.as_slice();
    let steps = |fit: &&FitSummary| process.fits.get(&fit.index).map_or(0, |known| known.steps.sum.steps);
    let judged: Vec<&FitSummary> = fits.iter().filter(|fit| steps(fit) >= FEWEST_STEPS).collect();
    let (Some(first), true) = (judged.first(), fits.len() > 1) else {
        return vec![together(report, process)];
    };
    let shares: Vec<Shares<'_>> = judged.iter().map(|fit| Shares::of_fit(report, fit)).collect();
    let limits: Vec<Limit<'_>> = shares.iter().map(Limit::of).collect();
    if limits.iter().all(|limit| *limit == limits[0]) {
        let sentence = limits[0].sentence(&shares, hint(first), None);
        return vec![Finding::new(
            limits[0].id(),
            format!("{}: {sentence}", all_of(judged.len(), fits.len())),
        )];
    }
    let one = |((fit, shares), limit): ((&&FitSummary, &Shares<'_>), &Limit<'_>)| {
        let sentence = limit.sentence(std::slice::from_ref(shares), hint(fit), None);
        let text = format!("{}: {sentence}", fit_name(fit, fits));
        Finding { fit: Some(fit.index), ..Finding::new(limit.id(), text) }
    };
    judged.iter().zip(&shares).zip(&limits).map(one).collect()
}

/// Of how many fits a verdict is true.
fn all_of(judged: usize, fits: usize) -> String {
    match fits - judged {
        0 if fits == 2 => "both fits".to_owned(),
        0 => format!("all {fits} fits"),
        _ => format!("{judged} of {fits} fits (the others have fewer than {FEWEST_STEPS} steps)"),
    }
}

/// The verdict of the only fit, or of several that only together have steps enough.
fn together(report: &Report, process: &Process) -> Finding {
    let shares = Shares::of_run(report);
    let limit = Limit::of(&shares);
    let hint = report.fits.first().map_or("", hint);
    let sentence = limit.sentence(&[shares], hint, late_half_width(process));
    let of = if report.fits.len() > 1 {
        format!("all {} fits together: ", report.fits.len())
    } else {
        String::new()
    };
    Finding::new(limit.id(), format!("{of}{sentence}"))
}

/// How batches are made ahead of the model.
fn hint(fit: &FitSummary) -> &'static str {
    match fit.framework.as_deref() {
        Some("torch") => "prepare them ahead in DataLoader workers",
        Some("keras" | "tensorflow") => "prepare them ahead with tf.data and prefetch()",
        _ => "prepare them ahead in another thread or process",
    }
}

fn garbage(shares: &Shares<'_>) -> Option<Finding> {
    let share = shares.of("garbage_collection");
    let text = || {
        format!(
            "garbage collection takes {} of each step: gc.freeze() after start-up, or gc.disable() and \
             gc.collect() between epochs",
            percent(share)
        )
    };
    (share > MUCH_GARBAGE).then(|| Finding::new("garbage_collection", text()))
}

fn callbacks(shares: &Shares<'_>) -> Option<Finding> {
    let share = shares.of("callbacks");
    let text =
        || format!("callbacks take {} of each step: call them less often, or leave some out", percent(share));
    (share > MUCH_CALLING).then(|| Finding::new("callbacks", text()))
}

fn slow_first_epoch(report: &Report) -> Option<Finding> {
    let slow = report.fits.iter().filter(|fit| fit.epochs >= 3).find_map(|fit| {
        let (first, steady) = (fit.epoch_s.first?, fit.epoch_s.steady?);
        (first > 1.3 * steady && steady > 0.0).then_some((fit, first, steady))
    })?;
    let (fit, first, steady) = slow;
    let text = format!(
        "the first epoch{} took {} the time of the later ones ({} against {})",
        of_which(fit, &report.fits),
        times(first / steady),
        duration(first),
        duration(steady)
    );
    Some(Finding { fit: Some(fit.index), ..Finding::new("slow_first_epoch", text) })
}

fn not_a_number(report: &Report, process: &Process) -> Option<Finding> {
    let lost = report.fits.iter().find_map(|fit| {
        let mut epochs = process.fits.get(&fit.index)?.epochs.rows().iter();
        let epoch = epochs.find(|epoch| epoch.raw_loss().is_some_and(|loss| !loss.is_finite()))?;
        Some((fit, u64::from(epoch.index) + 1))
    })?;
    let (fit, epoch) = lost;
    let text = format!("the loss is not a finite number in epoch {epoch}{}", of_which(fit, &report.fits));
    Some(Finding { fit: Some(fit.index), ..Finding::new("loss_not_a_number", text) })
}

/// ` of fit 2 (batch 64)`, where there are several.
fn of_which(fit: &FitSummary, fits: &[FitSummary]) -> String {
    if fits.len() > 1 { format!(" of {}", fit_name(fit, fits)) } else { String::new() }
}

fn overhead(report: &Report) -> Option<Finding> {
    let overhead = &report.overhead;
    let spans_s = overhead.spans as f64 * overhead.span_cost_ns.unwrap_or(0.0) * 1e-9;
    let by_spans = spans_s > 0.01 * report.wall_s;
    // Opening files costs the same however short the run; that says nothing about the stages.
    let by_flusher = overhead.share > 0.01 && report.wall_s >= 1.0;
    let hint = if by_spans { "; time fewer or longer stages" } else { "" };
    let text = || format!("laptime itself took {} of the run{hint}", percent(overhead.share));
    (by_spans || by_flusher).then(|| Finding::new("overhead", text()))
}
