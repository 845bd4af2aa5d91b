//! The facts beside the tables: one labelled line for steps, data, memory, machine, cost and law.

use laptime_analyse::{ImportTime, LedgerRow, Report, TargetSummary, Transfer};
use laptime_core::{Status, TrackKind, display_name};

use super::fits::epoch_times;
use super::shown;
use super::style::{Emphasis, Style};
use super::units;
use super::words::{metric_value, stage_name, throughput};
use super::workers::workers_line;
use super::wrap::wrapped;

/// Letters the labels take, so that all facts begin in one column.
const LABEL: usize = 11;

/// A share of waiting, or of the CPUs that others use, worth a word.
const MUCH_WAITING: f64 = 0.05;

/// Imports named in a line, and the share of them all that one must have taken.
const MOST_IMPORTS: usize = 4;
const WORTH_NAMING: f64 = 0.02;

/// Threads listed one by one.
const MOST_TRACKS: usize = 4;

/// All known facts of a run, one paragraph each.
pub(crate) fn facts_text(report: &Report, style: &Style) -> String {
    facts(report).iter().map(|(label, fact)| labelled(label, fact, style)).collect()
}

/// All known facts of a run, by what they are about.
pub(crate) fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let facts = [
        ("epoch time", epoch_time(report)),
        ("step time", step_time(report)),
        ("imports", imports(report)),
        ("model", model(report)),
        ("target", targets(report)),
        ("ended", ended_early(report)),
        ("precision", precision(report)),
        ("data", Some(data(report))),
        ("memory", memory(report)),
        ("machine", machine(report)),
        ("device", device(report)),
        ("tracks", tracks(report)),
        ("workers", workers_line(report)),
        ("laptime", Some(own_cost(report))),
        ("law", report.law.as_ref().map(|law| display_name(&law.text))),
    ];
    facts.into_iter().filter_map(|(label, fact)| Some((label, fact?))).collect()
}

/// What a command used, for one that recorded nothing of itself.
pub(crate) fn used_text(report: &Report, style: &Style) -> String {
    let facts = [("data", Some(data(report))), ("memory", memory(report)), ("machine", machine(report))];
    facts.iter().filter_map(|(label, fact)| Some(labelled(label, fact.as_deref()?, style))).collect()
}

/// A label and its text, wrapped under itself.
pub(super) fn labelled(label: &str, text: &str, style: &Style) -> String {
    let room = style.width.saturating_sub(LABEL + 1);
    let lines: Vec<String> = text.lines().flat_map(|line| wrapped(line, room, "", "")).collect();
    let label = style.paint(&format!("{label:<LABEL$} "), Emphasis::Dim);
    let margin = " ".repeat(LABEL + 1);
    let numbered = lines.iter().enumerate();
    numbered
        .map(|(at, line)| format!("{}{}\n", if at == 0 { &label } else { &margin }, style.fitted(line)))
        .collect()
}

/// The epoch times of a single fit; several have them in their own lines.
fn epoch_time(report: &Report) -> Option<String> {
    let [fit] = report.fits.as_slice() else { return None };
    epoch_times(fit)
}

fn step_time(report: &Report) -> Option<String> {
    let steps = report.steps?;
    let (mean, median, p95) =
        (units::duration(steps.mean_s), units::duration(steps.p50_s), units::duration(steps.p95_s));
    let rate = throughput(steps.samples_per_s, steps.tokens_per_s);
    let trainers = report.trainers.iter().flatten().filter(|one| one.side_by_side).count();
    let of = if trainers > 1 { format!(" of {trainers} trainers") } else { String::new() };
    let rate = rate.map(|rate| format!("   {rate}{of}")).unwrap_or_default();
    Some(format!("mean {mean}   median {median}   p95 {p95}{rate}"))
}

/// The slowest imports, where importing took a share of the run worth a word.
fn imports(report: &Report) -> Option<String> {
    let start_up = report.start_up.as_ref().filter(|start_up| start_up.imports_s > 0.0)?;
    let worth = |import: &&ImportTime| import.seconds >= WORTH_NAMING * start_up.imports_s;
    let named = start_up.imports.iter().take(MOST_IMPORTS).filter(worth);
    let named: Vec<String> =
        named.map(|import| format!("{} {}", shown(&import.name), units::duration(import.seconds))).collect();
    (!named.is_empty()).then(|| format!("slowest {}", named.join(", ")))
}

/// How large the model of a single fit is, and how fast it was computed.
fn model(report: &Report) -> Option<String> {
    let [fit] = report.fits.as_slice() else { return None };
    let (flops, parameters) = (units::flops(fit.flops_per_sample? as f64), fit.parameters?);
    let share = fit.share_of_peak.map(|share| format!(", {} of this CPU's peak", units::percent(share)));
    let rate = fit.flops_per_s.map(|rate| format!(": {}/s", units::flops(rate)));
    let rate = [rate, share].into_iter().flatten().collect::<String>();
    Some(format!("{}, {flops} a sample{rate}", units::counted(parameters, "parameter")))
}

/// Whether and when each fit came to its goal.
fn targets(report: &Report) -> Option<String> {
    let goals = report.fits.iter().filter_map(|fit| Some((fit, fit.target.as_ref()?)));
    let lines: Vec<String> = goals
        .map(|(fit, target)| {
            let of = if report.fits.len() > 1 { format!("fit {}: ", fit.index + 1) } else { String::new() };
            format!("{of}{}", target_line(target, fit.epochs))
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn target_line(target: &TargetSummary, epochs: u64) -> String {
    let metric = shown(&target.metric.replace('_', " "));
    let value = metric_value(&target.metric, Some(target.value));
    let Some(needed) = target.epochs else {
        let best = target.best.map(|best| format!("; best {}", metric_value(&target.metric, Some(best))));
        let epochs = units::counted(epochs, "epoch");
        return format!("{metric} {value} not reached in {epochs}{}", best.unwrap_or_default());
    };
    let (epochs, steps) =
        (units::counted(needed, "epoch"), units::or_unknown(target.steps, |n| units::counted(n, "step")));
    let time = units::or_unknown(target.seconds, units::duration);
    format!("{metric} {value} reached after {epochs} ({steps}), {time}")
}

/// Why fits that finished have fewer epochs than planned, where no goal explains it.
fn ended_early(report: &Report) -> Option<String> {
    let early = report.fits.iter().find(|fit| {
        let reached = fit.target.as_ref().is_some_and(|target| target.reached);
        let short = fit.planned_epochs.is_some_and(|planned| fit.epochs < planned);
        report.run.status == Status::Finished && short && !reached && fit.patience.is_some()
    })?;
    let planned = units::counted(early.planned_epochs?, "epoch");
    let patience = units::counted(early.patience?, "epoch");
    Some(format!("after {} of {planned}: the loss had not improved for {patience}", early.epochs))
}

/// What a number type other than the usual one means on a CPU.
fn precision(report: &Report) -> Option<String> {
    let precision = report.fits.iter().find_map(|fit| fit.precision.as_deref())?;
    let on_cpu = report.run.device.as_deref() == Some("cpu");
    let what = match precision {
        "bf16" => "bf16 is computed by way of f32 on this CPU: often slower than f32",
        "f64" => "f64 moves twice the bytes of f32: often slower than f32",
        _ => return None,
    };
    on_cpu.then(|| what.to_owned())
}

fn data(report: &Report) -> String {
    let moved = &report.transfer;
    // Not every training counts what it hands to its model.
    let counted = moved.batch_bytes > 0;
    let mut facts: Vec<String> = counted.then(|| to_the_model(report)).into_iter().collect();
    if moved.file_read_bytes > 0 {
        facts.push(format!("{} read from data files", units::bytes(moved.file_read_bytes)));
    }
    facts.push(match moved.storage_read_bytes {
        Some(bytes) => format!("{} read from storage", units::bytes(bytes)),
        None => "reads from storage unknown".to_owned(),
    });
    let part = |bytes: Option<u64>, what: &str| {
        bytes.filter(|bytes| *bytes > 0).map(|bytes| format!("{} {what}", units::bytes(bytes)))
    };
    facts.extend(copied(moved));
    facts.extend(part(moved.between_ranks_bytes, "between ranks"));
    facts.extend(part(moved.network_bytes, "over the network, other programs' too"));
    facts.join("; ")
}

/// What was copied to the device, and how much of it from memory that is not pinned.
fn copied(moved: &Transfer) -> Option<String> {
    let bytes = moved.host_to_device_bytes.filter(|bytes| *bytes > 0)?;
    let pageable = moved.pageable_bytes.filter(|pageable| *pageable > 0);
    let pageable = pageable.map(|pageable| {
        format!(" ({} from pageable memory)", units::percent(pageable as f64 / bytes as f64))
    });
    Some(format!("{} copied to the device{}", units::bytes(bytes), pageable.unwrap_or_default()))
}

fn to_the_model(report: &Report) -> String {
    let moved = &report.transfer;
    // Of a single epoch that would be the same number twice.
    match moved.batch_bytes_per_epoch.filter(|bytes| *bytes < moved.batch_bytes) {
        Some(bytes) => format!("{} an epoch to the model", units::bytes(bytes)),
        None => format!("{} to the model", units::bytes(moved.batch_bytes)),
    }
}

fn memory(report: &Report) -> Option<String> {
    let memory = &report.memory;
    let mut facts = Vec::new();
    facts.extend(memory.peak_rss_bytes.map(|bytes| format!("peak {}", units::bytes(bytes))));
    facts.extend(memory.peak_device_bytes.map(|bytes| format!("{} on the device", units::bytes(bytes))));
    let swapped = memory.swapped_bytes.filter(|bytes| *bytes > 0);
    facts.extend(swapped.map(|bytes| format!("{} swapped out", units::bytes(bytes))));
    let faults = memory.major_faults.filter(|faults| *faults > 0);
    facts.extend(faults.map(|faults| format!("{} waited for storage", units::counted(faults, "page fault"))));
    (!facts.is_empty()).then(|| facts.join("; "))
}

fn machine(report: &Report) -> Option<String> {
    let (machine, cpus) = (&report.machine, report.run.cpus);
    let mut facts = Vec::new();
    let busy = machine.busy_cpus.map(units::three_digits);
    facts.extend(busy.map(|busy| format!("{busy} of {} busy", units::counted(u64::from(cpus), "CPU"))));
    let others = machine.other_cpus.filter(|others| *others > f64::from(cpus) * MUCH_WAITING);
    facts.extend(others.map(|others| format!("other programs {}", units::three_digits(others))));
    let held = machine.throttled_s.filter(|held| *held > report.wall_s * 0.01);
    facts.extend(held.map(|held| format!("held back {} by its CPU quota", units::duration(held))));
    let waited = machine.cpu_pressure.filter(|share| *share > MUCH_WAITING);
    facts.extend(
        waited.map(|share| format!("some task waited for a CPU {} of the time", units::percent(share))),
    );
    let clock = machine.clock_mhz.zip(machine.peak_clock_mhz);
    facts.extend(clock.map(|(mean, peak)| format!("clock {:.2} of {:.2} GHz", mean / 1e3, peak / 1e3)));
    let load = machine.peak_load.filter(|load| *load > f64::from(cpus) * 1.5);
    facts.extend(load.map(|load| format!("load up to {}", units::number(load))));
    (!facts.is_empty()).then(|| facts.join("; "))
}

/// How far the host is ahead of the device, what it copied, and what its card did.
fn device(report: &Report) -> Option<String> {
    let device = report.devices.iter().flatten().next()?;
    let mut facts = Vec::new();
    facts.extend(device.steps_ahead.map(|steps| format!("host {} ahead", units::counted(steps, "step"))));
    if device.copy_s > 0.0 {
        let (all, alone) = (units::duration(device.copy_s), units::duration(device.exposed_copy_s));
        facts.push(format!("copies {all}, {alone} of it while nothing was computed"));
    }
    let clock = device.clock_mhz.zip(device.highest_clock_mhz);
    facts.extend(clock.map(|(mean, highest)| format!("clock {:.2} of {:.2} GHz", mean / 1e3, highest / 1e3)));
    let power = device.power_w.zip(device.power_limit_w);
    facts.extend(power.map(|(mean, limit)| format!("{mean:.0} of {limit:.0} W")));
    facts.extend(device.peak_celsius.map(|celsius| format!("up to {celsius:.0} C")));
    (!facts.is_empty()).then(|| facts.join("; "))
}

/// What each of the other tracks is busy with most; devices have tables of their own.
fn tracks(report: &Report) -> Option<String> {
    let others = report.tracks.iter().filter(|track| track.kind != TrackKind::Device);
    let mut lines: Vec<String> = others.map(|track| track_line(&shown(&track.name), &track.ledger)).collect();
    if lines.len() > MOST_TRACKS {
        let more = lines.len() - MOST_TRACKS;
        lines.truncate(MOST_TRACKS);
        lines.push(format!("and {more} more (--json has all)"));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn track_line(name: &str, ledger: &[LedgerRow]) -> String {
    let mut rows: Vec<&LedgerRow> = ledger.iter().filter(|row| row.seconds > 0.0).collect();
    rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let most =
        rows.iter().take(3).map(|row| format!("{} {}", stage_name(&row.stage), units::duration(row.seconds)));
    format!("{name}: {}", most.collect::<Vec<_>>().join(", "))
}

/// The cost and its parts, which add up to it.
fn own_cost(report: &Report) -> String {
    let cost = &report.overhead;
    let (seconds, share) = (units::duration(cost.seconds), units::percent(cost.share));
    let spans = units::counted(cost.spans, "span");
    let mut parts: Vec<String> = Vec::new();
    parts.extend(
        cost.spans_s.zip(cost.span_cost_ns).filter(|_| cost.spans > 0).map(|(all, ns)| {
            format!("{} for {spans} of {}", units::duration(all), units::duration(ns * 1e-9))
        }),
    );
    parts.extend(cost.flusher_cpu_s.map(|cpu| format!("{} to write the log", units::duration(cpu))));
    let uncounted = cost.span_cost_ns.is_none() && cost.spans > 0;
    parts.extend(uncounted.then(|| format!("{spans} not counted in")));
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    format!("its own cost {seconds}, {share} of the time{parts}")
}
