//! A forecast as text: when it is done first, then where the time goes, what moves and how sure that is.

use laptime_analyse::forecast::{
    Basis, Convergence, Fits, Forecast, ForecastChange, ForecastMemory, ForecastPart, NotSeen, PlanSource,
};
use laptime_core::units;
use laptime_launch::clock_time;

use super::report::{ended, explained};
use super::shown;
use super::style::{Emphasis, Style};
use crate::prediction::{DeadlineOutlook, Prediction, Probed};

/// Files that are named one by one.
const MOST_FILES: usize = 8;
/// Parts below this share of the time are not worth a word.
const LEAST_PART: f64 = 0.001;

/// A prediction; `source` says what it is made from.
pub(crate) fn prediction_text(prediction: &Prediction, source: &str, style: &Style) -> String {
    let forecast = &prediction.forecast;
    let mut lines = explained(source, style, Emphasis::Dim);
    lines.extend(explained(&done_line(prediction), style, Emphasis::Bold));
    let mut plain = |text: Option<String>| {
        let text = text.map(|text| explained(&text, style, Emphasis::Plain));
        lines.extend(text.unwrap_or_default());
    };
    plain(epochs_line(forecast));
    plain(forecast.change.map(|change| change_line(&change)));
    plain(parts_line(forecast));
    plain(moves_line(forecast));
    plain(memory_line(&forecast.memory));
    plain(Some(plan_line(&forecast.basis)));
    plain(forecast.convergence.as_ref().map(convergence_line));
    plain(sureness_line(forecast));
    for part in &forecast.estimated {
        plain(Some(format!("{} is estimated: {}", part_name(part.name), shown(&part.because))));
    }
    for part in &forecast.not_seen {
        plain(Some(not_seen_line(part)));
    }
    if let Some(outlook) = &prediction.deadline {
        let paint = if outlook.met { Emphasis::Good } else { Emphasis::Bad };
        lines.extend(explained(&deadline_line(prediction, outlook), style, paint));
    }
    lines.extend(prediction.probe.as_ref().map(|probe| opened_lines(probe, style)).unwrap_or_default());
    ended(&lines)
}

/// `done Tue 14:20, in 31h00m (90 %: 29h40m–33h10m)`
fn done_line(prediction: &Prediction) -> String {
    let (mean, low, high) = prediction.left_s;
    let at = clock_time(prediction.now_s + mean, prediction.now_s);
    let level = units::percent(prediction.forecast.total_s.level).replace(".0 %", " %");
    let bound = if prediction.forecast.basis.is_bound { " at the latest" } else { "" };
    format!("done {at}{bound}, in {} ({level}: {})", units::duration(mean), units::interval(low, high))
}

fn epochs_line(forecast: &Forecast) -> Option<String> {
    let later = units::duration(forecast.epoch_s.later?);
    Some(match forecast.epoch_s.first.map(units::duration) {
        Some(first) if first != later => format!("first epoch {first}, later ones {later}"),
        _ => format!("an epoch takes {later}"),
    })
}

fn change_line(change: &ForecastChange) -> String {
    let ratio = &change.ratio;
    format!(
        "the change makes it {:.2} times as long ({:.2}–{:.2}); without it {}",
        ratio.mean,
        ratio.low,
        ratio.high,
        units::duration(change.unchanged_s)
    )
}

/// `of it: training 27h36m · evaluation 2h06m`, the longest first.
fn parts_line(forecast: &Forecast) -> Option<String> {
    let mut parts: Vec<&ForecastPart> = forecast.parts.iter().collect();
    let all: f64 = parts.iter().map(|part| part.seconds).sum();
    parts.retain(|part| part.seconds > all * LEAST_PART);
    parts.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let said: Vec<String> = parts
        .iter()
        .map(|part| format!("{} {}", part_name(part.name), units::duration(part.seconds)))
        .collect();
    (said.len() > 1).then(|| format!("of it: {}", said.join(" · ")))
}

fn part_name(name: &str) -> String {
    match name {
        "checkpoint" => "checkpoints".to_owned(),
        "start_up" => "start-up".to_owned(),
        "warm_up" => "warm-up".to_owned(),
        "tear_down" => "tear-down".to_owned(),
        other => other.replace('_', " "),
    }
}

/// `not seen, so not counted: checkpoints: no epoch ended while the run was seen; one has at least 97.7 MiB`
fn not_seen_line(part: &NotSeen) -> String {
    let bytes = part.bytes.map(|bytes| format!("; one has at least {}", units::bytes(bytes)));
    let because = shown(&part.because);
    format!("not seen, so not counted: {}: {because}{}", part_name(part.name), bytes.unwrap_or_default())
}

fn moves_line(forecast: &Forecast) -> Option<String> {
    let transfer = &forecast.transfer;
    let ways = [
        (transfer.storage_bytes, "from storage"),
        (transfer.host_to_device_bytes, "to the device"),
        (transfer.between_ranks_bytes, "between ranks"),
    ];
    let said: Vec<String> =
        ways.iter().filter_map(|(bytes, way)| Some(format!("{} {way}", units::bytes((*bytes)?)))).collect();
    (!said.is_empty()).then(|| format!("moves: {}", said.join(" · ")))
}

fn memory_line(memory: &ForecastMemory) -> Option<String> {
    let of = |peak: Option<u64>, all: Option<u64>, place: &str| {
        let all = all.map(|all| format!(" of {}", units::bytes(all))).unwrap_or_default();
        Some(format!("{}{all} {place}", units::bytes(peak?)))
    };
    let needs = [
        of(memory.host_peak_bytes, memory.host_bytes, "on the host"),
        of(memory.device_peak_bytes, memory.device_bytes, "on the device"),
    ];
    let needs: Vec<String> = needs.into_iter().flatten().collect();
    if needs.is_empty() {
        return None;
    }
    let fits = match memory.fits {
        Fits::Yes => "fits",
        Fits::No => "does not fit",
        Fits::CannotTell => "cannot tell whether it fits",
    };
    Some(format!("memory: {}: {fits}", needs.join(" · ")))
}

/// `90 epochs of 1,250 steps, as the script says: range(epochs)`
fn plan_line(basis: &Basis) -> String {
    let steps = units::counted(basis.steps, "step");
    let much = match (basis.epochs, basis.steps_per_epoch) {
        (Some(epochs), Some(each)) => {
            format!("{} of {}", units::counted(epochs, "epoch"), units::counted(each, "step"))
        }
        (Some(epochs), None) => format!("{}, {steps}", units::counted(epochs, "epoch")),
        (None, _) => steps,
    };
    let source = match basis.plan {
        PlanSource::Given => "as asked",
        PlanSource::Script => "as the script says",
        PlanSource::Framework => "as the framework says",
        PlanSource::Finished => "as the run made them",
        PlanSource::Loss => "by the losses so far",
    };
    let said = |_: &&str| !matches!(basis.plan, PlanSource::Given | PlanSource::Loss);
    let text = basis.plan_text.as_deref().filter(said);
    let text = text.map(|text| format!(": {}", shown(text))).unwrap_or_default();
    format!("{much}, {source}{text}")
}

/// `a loss of at most 0.2 after 41.3 epochs (90 %: 33.0–58.1)`, or why that cannot be told.
fn convergence_line(found: &Convergence) -> String {
    let metric = found.metric.replace('_', " ");
    let what = match (found.target, found.patience) {
        (Some(target), _) => format!("a {metric} of at most {target}"),
        (None, patience) => {
            let waits = units::counted(patience.unwrap_or_default(), "epoch");
            format!("the end after {waits} without a lower {metric}")
        }
    };
    match (found.laps, &found.because) {
        (Some(laps), _) if found.reached => {
            format!("{what}: reached after {}", laps_text(laps.mean, found.unit))
        }
        (Some(laps), _) => {
            let level = units::percent(laps.level).replace(".0 %", " %");
            let (low, high) = (laps.low.round(), laps.high.round());
            format!("{what}: after {} ({level}: {low}–{high})", laps_text(laps.mean, found.unit))
        }
        (None, because) => format!("{what}: cannot tell: {}", shown(because.as_deref().unwrap_or_default())),
    }
}

fn laps_text(laps: f64, unit: &str) -> String {
    units::counted(laps.ceil() as u64, unit)
}

/// `70 % of the width comes from other programs on this machine; uncalibrated: …`
fn sureness_line(forecast: &Forecast) -> Option<String> {
    let cause = forecast.width_from.first().filter(|cause| cause.share > 0.0).map(|cause| {
        let share = units::percent(cause.share).replace(".0 %", " %");
        format!("{share} of the width comes from {}", cause.cause.words())
    });
    let finished = units::counted(forecast.basis.scores, "finished forecast");
    let calibrated = match forecast.calibrated {
        true => format!("calibrated by {finished} of this machine"),
        false => format!("uncalibrated: {finished} on this machine so far"),
    };
    Some(cause.into_iter().chain([calibrated]).collect::<Vec<_>>().join("; "))
}

/// `22 of 30 epochs fit before 06:00, in 55m00s (surely 21)`
fn deadline_line(prediction: &Prediction, outlook: &DeadlineOutlook) -> String {
    let due = outlook.due.words(prediction.now_s);
    let (mean, ..) = prediction.left_s;
    let apart = units::waiting((outlook.left_s - mean).abs());
    match (outlook.epochs.zip(outlook.planned_epochs), outlook.met) {
        (_, true) if outlook.surely => format!("all of it fits before {due}: {apart} to spare"),
        (Some((_, planned)), true) => format!(
            "all of it should just fit before {due}; surely {} of {} do",
            units::count(outlook.epochs_surely.unwrap_or_default()),
            units::counted(planned, "epoch")
        ),
        (None, true) => format!("all of it should just fit before {due}, but it is not sure"),
        (Some((epochs, planned)), false) => format!(
            "{} of {} fit before {due}; the last is done {apart} too late",
            units::count(epochs),
            units::counted(planned, "epoch")
        ),
        (None, false) => format!("it does not fit before {due}: done {apart} too late"),
    }
}

fn opened_lines(probe: &Probed, style: &Style) -> Vec<String> {
    if !probe.guarded {
        let text = "no Python of it took the hooks, so what it wrote is where it always is";
        return explained(text, style, Emphasis::Notice);
    }
    if probe.opened.is_empty() {
        return Vec::new();
    }
    let mut lines = explained("files it opened for writing while it was probed:", style, Emphasis::Notice);
    let files = probe.opened.iter().take(MOST_FILES);
    lines.extend(files.flat_map(|file| super::wrap::wrapped(&shown(file), style.width, "  ", "    ")));
    if let Some(more) = probe.opened.len().checked_sub(MOST_FILES).filter(|more| *more > 0) {
        lines.extend(explained(&format!("  and {more} more, in --json"), style, Emphasis::Plain));
    }
    lines
}
