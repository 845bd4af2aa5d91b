//! A comparison as text: the answer, what changed, the stages, what to bear in mind, what to type next.

use laptime_analyse::Estimate;
use laptime_analyse::compare::{
    Answer, Cause, Change, ChangeKind, Check, Comparison, More, Outcome, SideSummary, StageChange, Timed,
};
use laptime_core::Status;

use super::report::{ended, explained, status_word};
use super::shown;
use super::style::{Emphasis, Style};
use super::table::{Align, Cell, Column, Table};
use super::units::{self, UNKNOWN};
use super::words::stage_name;
use super::wrap::shortened;

/// Letters a side's name may take.
const NAME: usize = 16;
/// Letters a value that changed may take.
const VALUE: usize = 28;
/// Stages that are named in the answer, and rows of a table.
const MOST_NAMED: usize = 3;
const MOST_STAGES: usize = 10;
/// Stages below this share on both sides are no row of their own.
const WORTH_A_ROW: f64 = 0.005;
/// An interval whose ends are this many times apart is only called wide.
const WIDE: f64 = 10.0;
/// A share of the CPUs that other programs wanted worth a word.
const DISTURBED: f64 = 0.1;
/// Changes that are listed; JSON has all.
const MOST_CHANGES: usize = 12;

/// The comparison, its tables apart by an empty line.
pub(crate) fn compare_text(comparison: &Comparison, style: &Style) -> String {
    let head = [
        answer(comparison, style),
        gate(comparison, style),
        in_turns(comparison, style),
        reference(comparison, style),
        ended(&explained(&changed(comparison), style, Emphasis::Plain)),
        efficiency(comparison)
            .map(|line| ended(&explained(&line, style, Emphasis::Plain)))
            .unwrap_or_default(),
        training(comparison).map(|line| ended(&explained(&line, style, Emphasis::Plain))).unwrap_or_default(),
    ];
    let device = comparison.device_stages.as_deref().unwrap_or_default();
    let sections = [
        head.concat(),
        stages("stage of a step", &comparison.stages, comparison, style),
        stages("on the device", device, comparison, style),
        apart(comparison, style),
        notes(comparison, style),
    ];
    sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The comparison in sentences: the answer, the condition, how it was measured, what changed, whether it is the same
/// training.
pub(crate) fn compare_sentences(comparison: &Comparison) -> Vec<String> {
    let plain = Style { width: usize::MAX, color: false, unicode: true };
    let answer = sentence(comparison).0;
    let gate = gate_text(comparison).map(|(text, _)| text);
    let measured = [in_turns(comparison, &plain), reference(comparison, &plain)].concat();
    let measured = measured.lines().map(|line| line.trim().to_owned());
    let rest = [Some(changed(comparison)), training(comparison)];
    let stages = stages_named(comparison);
    std::iter::once(answer)
        .chain(gate)
        .chain(stages)
        .chain(measured)
        .chain(rest.into_iter().flatten())
        .collect()
}

/// `4 ranks do 3.10 times the samples a second of 1: 78 % efficient`.
fn efficiency(comparison: &Comparison) -> Option<String> {
    let gain = comparison.ranks?;
    Some(format!(
        "{} of {} do {:.2} times the samples a second of {} of {}: {} efficient",
        units::counted(u64::from(gain.b_ranks), "rank"),
        name(&comparison.b),
        gain.speedup,
        units::counted(u64::from(gain.a_ranks), "rank"),
        name(&comparison.a),
        units::percent(gain.efficiency)
    ))
}

pub(super) fn name(side: &SideSummary) -> String {
    shortened(&shown(&side.name), NAME)
}

/// `after is 1.71× faster (95 %: 1.66–1.76)    data wait 61 % → 4 %; the rest unchanged`
fn answer(comparison: &Comparison, style: &Style) -> String {
    let (sentence, paint) = sentence(comparison);
    let mut lines = explained(&sentence, style, paint);
    let decided = comparison.verdict != Answer::NotSameTraining
        && !matches!(comparison.because, Some(Cause::DifferentMachines | Cause::TooFewSteps));
    let Some(stages) = stages_named(comparison).filter(|_| decided) else { return ended(&lines) };
    let room = style.width.saturating_sub(sentence.chars().count() + 4);
    match lines.first_mut() {
        Some(line) if stages.chars().count() <= room => {
            line.push_str("    ");
            line.push_str(&style.fitted(&stages));
        }
        _ => lines.extend(explained(&stages, style, Emphasis::Plain).iter().map(|line| format!("  {line}"))),
    }
    ended(&lines)
}

pub(super) fn sentence(comparison: &Comparison) -> (String, Emphasis) {
    let (a, b) = (name(&comparison.a), name(&comparison.b));
    let ratio = comparison.ratio;
    let unclear = |why: String| (format!("cannot tell whether {b} is faster: {why}"), Emphasis::Notice);
    match (comparison.verdict, comparison.because) {
        (Answer::Faster, _) => {
            let speed = ratio.map(inverted).map_or_else(String::new, |ratio| times(&ratio, "faster"));
            (format!("{b} is {speed}{}", of_what(comparison)), Emphasis::Good)
        }
        (Answer::Slower, _) => {
            let speed = ratio.map_or_else(String::new, |ratio| times(&ratio, "slower"));
            (format!("{b} is {speed}{}", of_what(comparison)), Emphasis::Bad)
        }
        (Answer::Same, _) => {
            let within = limit(comparison.same_within);
            let ratio = ratio.map_or_else(String::new, |ratio| close(&ratio));
            (format!("{b} takes the same time as {a} within {within}: {ratio}"), Emphasis::Bold)
        }
        (Answer::NotSameTraining, _) => {
            (format!("{b} is not the same training as {a}: {}", differences(comparison)), Emphasis::Bad)
        }
        (_, Some(Cause::DifferentMachines)) => {
            let machine = comparison.environment.iter().filter(|change| change.kind == ChangeKind::Machine);
            let what = machine.map(change_text).collect::<Vec<_>>().join(", ");
            unclear(format!("different machines ({what})"))
        }
        (_, Some(Cause::TooFewSteps)) => {
            let fewest = |side: &SideSummary| side.runs.iter().map(|run| run.steps).min().unwrap_or(0);
            let steps = |side: &SideSummary| units::counted(fewest(side), "step");
            unclear(format!("too few steps ({a} {}, {b} {})", steps(&comparison.a), steps(&comparison.b)))
        }
        (_, Some(Cause::OneRunASide)) => {
            unclear("no steps were recorded, and one run a side says nothing of the noise".to_owned())
        }
        (_, Some(Cause::NothingInCommon)) => unclear("the runs recorded nothing in common".to_owned()),
        (_, Some(Cause::Noise) | None) => {
            let ratio = ratio.map_or_else(|| UNKNOWN.to_owned(), |ratio| close(&ratio));
            unclear(format!("it takes {ratio} of the time of {a}"))
        }
    }
}

/// A share that somebody typed: `5 %`, not `5.0 %`.
fn limit(share: f64) -> String {
    units::percent(share).replace(".0 %", " %")
}

/// What the times are of, where they are not of steps.
fn of_what(comparison: &Comparison) -> &'static str {
    match comparison.timed {
        Some(Timed::Fit) => " as a training",
        Some(Timed::Run) if comparison.pairs.is_none() => " as a whole command",
        _ => "",
    }
}

fn inverted(ratio: Estimate) -> Estimate {
    Estimate { mean: 1.0 / ratio.mean, low: 1.0 / ratio.high, high: 1.0 / ratio.low, ..ratio }
}

/// `1.71× faster (95 %: 1.66–1.76)`
fn times(ratio: &Estimate, what: &str) -> String {
    let [mean, low, high] = [ratio.mean, ratio.low, ratio.high].map(units::three_digits);
    format!("{mean}× {what} ({}: {low}–{high})", units::percent(ratio.level))
}

/// A ratio near 1, with three decimals: `1.003 (95 %: 0.996–1.010)`.
pub(super) fn close(ratio: &Estimate) -> String {
    let [mean, low, high] = [ratio.mean, ratio.low, ratio.high].map(|value| units::fixed(value, 3));
    format!("{mean} ({}: {low}–{high})", units::percent(ratio.level))
}

/// `data wait 61 % → 4 %; the rest unchanged`; `None` without stages.
fn stages_named(comparison: &Comparison) -> Option<String> {
    if comparison.stages.is_empty() {
        return None;
    }
    let changed: Vec<&StageChange> = comparison.stages.iter().filter(|stage| stage.changed).collect();
    let share = |stage: &&&StageChange| {
        let (a, b) = (units::percent(stage.a_share), units::percent(stage.b_share));
        format!("{} {a} → {b}", stage_name(&stage.stage))
    };
    let named = changed.iter().take(MOST_NAMED).map(|stage| share(&stage)).collect::<Vec<_>>();
    match (changed.len(), comparison.verdict) {
        (0, Answer::Faster | Answer::Slower) => Some("all stages alike".to_owned()),
        (0, _) => Some("no stage changed beyond noise".to_owned()),
        (1..=MOST_NAMED, _) if changed.len() < comparison.stages.len() => {
            Some(format!("{}; the rest unchanged", named.join(", ")))
        }
        (1..=MOST_NAMED, _) => Some(named.join(", ")),
        _ => Some(format!("{} and {} more", named.join(", "), changed.len() - MOST_NAMED)),
    }
}

/// `changed: num_workers 0 → 6 · torch 2.14 → 2.15 (environment)`
fn changed(comparison: &Comparison) -> String {
    // An option that only sets what is listed anyway is not said twice.
    let is_listed = |words: &Option<String>| {
        words.as_deref().is_none_or(|words| {
            let option = words.strip_prefix("--").and_then(|rest| rest.split([' ', '=']).next());
            let setting = option.map(|option| option.replace('-', "_"));
            let listed = |setting| comparison.environment.iter().any(|change| change.what == setting);
            words.split(' ').count() <= 2 && setting.is_some_and(listed)
        })
    };
    let said_twice =
        |change: &Change| change.what == "command" && is_listed(&change.a) && is_listed(&change.b);
    let named_before = |change: &&Change| {
        let differs = |check: &Check| check.what == change.what && check.outcome == Outcome::Differ;
        !said_twice(change) && !comparison.training.iter().any(differs)
    };
    let all: Vec<String> = comparison.environment.iter().filter(named_before).map(marked).collect();
    if all.is_empty() {
        return "changed: nothing that was recorded".to_owned();
    }
    let more = all.len().saturating_sub(MOST_CHANGES);
    let more = if more > 0 { format!(" · and {more} more (--json has all)") } else { String::new() };
    format!("changed: {}{more}", all.into_iter().take(MOST_CHANGES).collect::<Vec<_>>().join(" · "))
}

fn marked(change: &Change) -> String {
    let kind = match change.kind {
        ChangeKind::Configuration => "",
        ChangeKind::Environment => " (environment)",
        ChangeKind::Machine => " (machine)",
    };
    format!("{}{kind}", change_text(change))
}

fn change_text(change: &Change) -> String {
    let value = |value: &Option<String>| {
        value.as_deref().map_or_else(|| UNKNOWN.to_owned(), |value| shortened(&shown(value), VALUE))
    };
    format!("{} {} → {}", shown(&change.what), value(&change.a), value(&change.b))
}

fn differences(comparison: &Comparison) -> String {
    let differing = comparison.training.iter().filter(|check| check.outcome == Outcome::Differ);
    let text = differing.map(|check| {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| UNKNOWN.to_owned());
        let (a, b) = (value(&check.a), value(&check.b));
        match (check.what, check.apart) {
            ("loss curve", Some(apart)) => {
                let more = if apart.mean > 0.0 { "higher" } else { "lower" };
                format!("loss {a} → {b} at equal steps, {} {more}", units::percent(apart.mean.abs()))
            }
            (what, _) => format!("{what} {a} → {b}"),
        }
    });
    text.collect::<Vec<_>>().join("; ")
}

/// `same training: samples an epoch, parameters and loss curve agree; batch unknown`
fn training(comparison: &Comparison) -> Option<String> {
    let of = |outcome: Outcome| -> Vec<&str> {
        let checks = comparison.training.iter().filter(|check| check.outcome == outcome);
        // Tokens that neither side counts are no gap.
        checks
            .filter(|check| outcome != Outcome::Unknown || !check.what.ends_with("a step"))
            .map(|check| check.what)
            .collect()
    };
    let (agree, unknown) = (of(Outcome::Agree), of(Outcome::Unknown));
    let unknown =
        if unknown.is_empty() { String::new() } else { format!("; unknown: {}", unknown.join(", ")) };
    match comparison.same_training {
        Some(true) => Some(format!("same training: {} agree{unknown}", listed(&agree))),
        Some(false) if agree.is_empty() => None,
        Some(false) => Some(format!("the same: {}{unknown}", listed(&agree))),
        // A command without steps trains nothing.
        None if comparison.pairs.is_some() && comparison.training.is_empty() => None,
        None => Some("whether it is the same training is not known".to_owned()),
    }
}

fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

fn gate(comparison: &Comparison, style: &Style) -> String {
    gate_text(comparison).map_or_else(String::new, |(text, paint)| ended(&explained(&text, style, paint)))
}

/// Whether the condition is met, in words; `None` where none was asked for.
pub(super) fn gate_text(comparison: &Comparison) -> Option<(String, Emphasis)> {
    let gate = comparison.gate?;
    let limit = limit(gate.fail_if_slower);
    let by = comparison.ratio.filter(|_| comparison.pairs.is_some()).map(|ratio| by_how_much(&ratio));
    let undecided = comparison
        .pairs
        .as_ref()
        .map_or(comparison.verdict == Answer::CannotTell, |pairs| pairs.decided == Some(false));
    Some(match (gate.met, comparison.verdict) {
        (true, _) if gate.warns => {
            (format!("warning: times of another machine cannot fail the limit of {limit}"), Emphasis::Notice)
        }
        (true, _) if undecided => {
            (format!("passed: not shown to be slower by more than {limit}"), Emphasis::Notice)
        }
        (true, _) => match by {
            Some(by) => (format!("passed: {by}, limit {limit}"), Emphasis::Good),
            None => (format!("passed: not slower by more than {limit}"), Emphasis::Good),
        },
        (false, Answer::NotSameTraining) if comparison.pairs.is_some() => {
            ("failed: not the same training".to_owned(), Emphasis::Bad)
        }
        (false, Answer::Slower) => match by {
            Some(by) => (format!("failed: {by}, limit {limit}"), Emphasis::Bad),
            None => (format!("failed: slower by more than {limit}"), Emphasis::Bad),
        },
        (false, _) => (format!("failed: not comparable, so not known to be within {limit}"), Emphasis::Bad),
    })
}

/// `slower by 12 % (95 %: 8–16)`; the ends have the same sign as the middle.
fn by_how_much(ratio: &Estimate) -> String {
    let (word, sign) = if ratio.mean >= 1.0 { ("slower", 1.0) } else { ("faster", -1.0) };
    let ends = [ratio.low - 1.0, ratio.high - 1.0].map(|share| sign * share * 100.0);
    let digits = usize::from(ends.iter().any(|end| end.abs() < 9.95));
    let [one, other] = ends.map(|end| units::fixed(end, digits));
    let (low, high) = if sign > 0.0 { (one, other) } else { (other, one) };
    let joined = if low.starts_with('-') { format!("{low} to {high}") } else { format!("{low}–{high}") };
    let size = units::fixed((ratio.mean - 1.0).abs() * 100.0, digits);
    format!("{word} by {size} % ({}: {joined})", units::percent(ratio.level))
}

/// `7 pairs in turns: main 1.02 s, this tree 1.12 s; main against itself 1.004`
fn in_turns(comparison: &Comparison, style: &Style) -> String {
    let Some(pairs) = &comparison.pairs else { return String::new() };
    let (a, b) = (name(&comparison.a), name(&comparison.b));
    let what = match comparison.timed {
        Some(Timed::Stage) => format!(" of {} a sample", stage_name(&pairs.measure)),
        _ => String::new(),
    };
    let times = comparison
        .a_s
        .zip(comparison.b_s)
        .map(|(first, second)| format!(": {a} {}, {b} {}", units::duration(first), units::duration(second)));
    let alike = comparison.aa.map(|alike| format!("; {a} against itself {}", units::fixed(alike.ratio, 3)));
    let text = format!(
        "{}{what} in turns{}{}",
        units::counted(pairs.count, "pair"),
        times.unwrap_or_default(),
        alike.unwrap_or_default()
    );
    let mut lines = explained(&text, style, Emphasis::Plain);
    if pairs.without_waits {
        let text = "other programs kept the CPUs busy; the ratio is without the time waited for one";
        lines.extend(explained(text, style, Emphasis::Plain));
    }
    ended(&lines)
}

/// `reference models: the machine of B takes 0.55 (95 %: 0.53–0.57) of the time (mlp, cnn); beyond the machine: 1.02`
fn reference(comparison: &Comparison, style: &Style) -> String {
    let Some(reference) = &comparison.reference else { return String::new() };
    let text = format!(
        "reference models: the machine of {} takes {} of the time ({}); beyond the machine: {}",
        name(&comparison.b),
        close(&reference.ratio),
        shown(&reference.models.join(", ")),
        close(&reference.beyond)
    );
    ended(&explained(&text, style, Emphasis::Bold))
}

/// The stages of a step on both sides, and the step itself.
fn stages(title: &str, rows: &[StageChange], comparison: &Comparison, style: &Style) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new(vec![
        Column::new(title, Align::Left).shrinks_to(10),
        Column::new(name(&comparison.a), Align::Unit).gap(3),
        Column::new("", Align::Right).importance(2),
        Column::new(name(&comparison.b), Align::Unit).gap(3),
        Column::new("", Align::Right).importance(2),
        Column::new("ratio", Align::Right).gap(3),
        Column::new("95 %", Align::Right).importance(1),
    ]);
    let worth = |row: &&StageChange| row.a_share.max(row.b_share) >= WORTH_A_ROW;
    let shown_rows: Vec<&StageChange> = rows.iter().filter(worth).take(MOST_STAGES).collect();
    for row in &shown_rows {
        table.row(stage_cells(row));
    }
    let left_out = rows.len() - shown_rows.len();
    if left_out > 0 {
        let text = format!("and {} (--json has all)", units::counted(left_out as u64, "smaller stage"));
        table.line(text, Emphasis::Dim);
    }
    table.drawn(style)
}

fn stage_cells(row: &StageChange) -> Vec<Cell> {
    let paint = if row.changed { Emphasis::Bold } else { Emphasis::Plain };
    let ratio = if row.a_s > 0.0 && row.b_s > 0.0 {
        units::three_digits(row.b_s / row.a_s)
    } else {
        UNKNOWN.to_owned()
    };
    let interval = units::or_unknown(row.ratio, |ratio| match ratio.high / ratio.low {
        // Digits of an interval that says nothing only distract.
        wide if wide > WIDE => "wide".to_owned(),
        _ => format!("{}–{}", units::three_digits(ratio.low), units::three_digits(ratio.high)),
    });
    vec![
        Cell::painted(stage_name(&row.stage), paint),
        units::duration(row.a_s).into(),
        units::percent_in_column(row.a_share).into(),
        units::duration(row.b_s).into(),
        units::percent_in_column(row.b_share).into(),
        ratio.into(),
        interval.into(),
    ]
}

/// The step, each fit, and what is no part of steady steps.
fn apart(comparison: &Comparison, style: &Style) -> String {
    let pair = |a: f64, b: f64| format!("{} → {}", units::duration(a), units::duration(b));
    let mut lines = Vec::new();
    if let (Some(a), Some(b), None) = (comparison.a_s, comparison.b_s, &comparison.pairs) {
        let what = match comparison.timed {
            Some(Timed::Fit) => "training",
            Some(Timed::Run) => "whole command",
            _ => "step after warm-up",
        };
        lines.push(format!("{what} {}", pair(a, b)));
    }
    for fit in &comparison.fits {
        let ratio = fit.ratio.map(|ratio| format!(", ratio {}", close(&ratio))).unwrap_or_default();
        lines.push(format!("fit {} {} {}{ratio}", fit.index + 1, shown(&fit.label), pair(fit.a_s, fit.b_s)));
    }
    // The whole command is what was timed in turns, and said before.
    let said = comparison.pairs.is_some() && comparison.timed == Some(Timed::Run);
    let parts = comparison.apart.iter().filter(|part| !said || part.what != "whole run");
    let parts = parts.filter(|part| part.a_s.max(part.b_s) > 0.0);
    let parts: Vec<String> =
        parts.map(|part| format!("{} {}", part.what, pair(part.a_s, part.b_s))).collect();
    if !parts.is_empty() {
        lines.push(format!("apart from that: {}", parts.join(" · ")));
    }
    lines.iter().map(|line| ended(&explained(line, style, Emphasis::Plain))).collect()
}

/// What to bear in mind, and what to type next.
fn notes(comparison: &Comparison, style: &Style) -> String {
    let mut lines = Vec::new();
    for run in comparison.a.runs.iter().chain(&comparison.b.runs) {
        let run_name = format!("{} ({})", shown(&run.name), short_id(&run.id));
        if run.status != Status::Finished {
            let status = status_word(run.status).0;
            lines
                .push((format!("note: {run_name} is {status}: compared as far as it got"), Emphasis::Notice));
        }
        if run.settled == Some(false) {
            let text = format!("note: steps of {run_name} never settle; all of them are compared");
            lines.push((text, Emphasis::Notice));
        }
    }
    let alone = comparison.a.runs.len() + comparison.b.runs.len() == 2 && comparison.pairs.is_none();
    let by_ratio = comparison.because.is_none_or(|because| because == Cause::Noise);
    if alone && by_ratio && comparison.verdict != Answer::NotSameTraining {
        let text = "note: one run a side: what changed on the machine between them cannot be seen";
        lines.push((text.to_owned(), Emphasis::Dim));
        lines.extend(disturbed(comparison).map(|text| (text, Emphasis::Notice)));
    }
    if comparison.gate.is_some() && comparison.pairs.is_none() {
        let text = "note: a stored baseline is weak evidence; `laptime compare --base REV -- COMMAND` runs both in \
                    turns";
        lines.push((text.to_owned(), Emphasis::Dim));
    }
    lines.extend(next(comparison).map(|next| (format!("next: {next}"), Emphasis::Dim)));
    lines.iter().map(|(text, paint)| ended(&explained(text, style, *paint))).collect()
}

/// How much other programs wanted the CPUs of two runs.
fn disturbed(comparison: &Comparison) -> Option<String> {
    let of = |side: &SideSummary| side.runs.first().and_then(|run| run.contention);
    let (a, b) = (of(&comparison.a)?, of(&comparison.b)?);
    let side = |side: &SideSummary, share: f64| format!("{} {}", name(side), units::percent(share));
    let (first, second) = (side(&comparison.a, a), side(&comparison.b, b));
    (a.max(b) > DISTURBED).then(|| {
        format!("note: other programs wanted the CPUs, too ({first}, {second}); the interval allows for it")
    })
}

fn short_id(id: &str) -> String {
    shown(id.rsplit('-').next().unwrap_or(id))
}

fn next(comparison: &Comparison) -> Option<String> {
    let ids =
        |side: &SideSummary| side.runs.iter().map(|run| short_id(&run.id)).collect::<Vec<_>>().join(",");
    let (a, b) = (ids(&comparison.a), ids(&comparison.b));
    let again = format!("`laptime compare {a},RUN {b},RUN`");
    let next = match (comparison.verdict, comparison.because, comparison.more) {
        (Answer::NotSameTraining, ..) => {
            "train the same samples, batch and model on both sides; `laptime runs` lists all".to_owned()
        }
        (_, Some(Cause::DifferentMachines), _) => {
            "run both on one machine; or `laptime train mlp` and `laptime train cnn` on each of the two, their \
             runs kept in one folder, show how the machines compare"
                .to_owned()
        }
        (_, Some(Cause::NothingInCommon), _) => format!("`laptime report {b}` shows what was recorded"),
        (_, Some(Cause::TooFewSteps), Some(More::Steps(steps))) => {
            format!("at least {} a side are needed", units::counted(steps, "more step"))
        }
        (_, _, Some(More::Steps(steps))) => {
            format!("about {} a side would tell", units::counted(steps, "more step"))
        }
        (_, _, Some(More::Runs(runs))) => {
            format!("about {} a side would tell: {again}", units::counted(runs, "more run"))
        }
        (_, _, Some(More::Pairs(pairs))) => {
            let made = comparison.pairs.as_ref().map_or(0, |made| made.count);
            format!("about {} would tell: `--pairs {}`", units::counted(pairs, "more pair"), made + pairs)
        }
        (Answer::CannotTell, ..) => {
            "the noise here hides it; a quieter machine or a longer training would tell".to_owned()
        }
        // Runs in turns are kept apart from the others.
        _ if comparison.pairs.is_some() => return None,
        _ => format!("`laptime report {}` shows where its time goes", b.split(',').next().unwrap_or(&b)),
    };
    Some(next)
}
