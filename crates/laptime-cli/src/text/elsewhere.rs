//! A dataset that lies elsewhere, as text: what it is, its link, and what moving it takes.

use laptime_data::elsewhere::Elsewhere;
use laptime_data::link::NetworkLink;
use laptime_data::survey::Amount;
use laptime_data::transfer::{Advice, TransferPlan, WhatIf};

use super::dataset::{a_sample, all_of, heading, line, memory, samples, size, troubles};
use super::facts::labelled;
use super::style::{Emphasis, Style};
use super::units;

/// The dataset, the link, the plan, and the command that carries it out.
pub(crate) fn elsewhere_text(found: &Elsewhere, style: &Style) -> String {
    let survey = &found.survey;
    let mut text = heading(survey, style);
    if survey.files == 0 {
        text += &line("no files in it", style, Emphasis::Plain);
        return text + &troubles(survey, style);
    }
    let plan = found.plan.as_ref();
    let facts = [
        ("samples", Some(samples(survey))),
        ("size", Some(size(survey))),
        ("a sample", a_sample(survey)),
        ("an epoch", Some(all_of(survey))),
        ("memory", memory(survey)),
        ("link", Some(link(found))),
        ("once", plan.map(|plan| once(plan, found.network.as_ref()))),
        ("streamed", plan.and_then(streamed)),
        ("disk", plan.and_then(disk)),
        ("advice", plan.map(advice)),
        ("what if", plan.and_then(what_if)),
    ];
    text.push('\n');
    for (label, fact) in facts {
        text.extend(fact.map(|fact| labelled(label, &fact, style)));
    }
    text += &troubles(survey, style);
    format!("{text}\n{}", next(found, style))
}

pub(super) fn per_second(rate: f64) -> String {
    format!("{}/s", units::bytes(rate as u64))
}

fn link(found: &Elsewhere) -> String {
    let Some(link) = &found.network else {
        let why = found.network_problem.as_ref().map(|problem| format!(": {}", super::shown(problem)));
        return format!("not measured{}", why.unwrap_or_default());
    };
    let rates = link.rates.iter().map(|rate| {
        let more = if rate.ramping { " and rising" } else { "" };
        let on = if rate.streams == 1 { "1 stream".to_owned() } else { rate.streams.to_string() };
        format!("{}{more} on {on}", per_second(rate.bytes_per_s.mean))
    });
    let rates: Vec<String> = rates.collect();
    let measured =
        format!("{} fetched in {}", units::bytes(link.measured_bytes), units::duration(link.measured_s));
    let ramping =
        if link.ramping { "; it still rose: --probe-bytes and --probe-time allow more" } else { "" };
    format!("{}\n{}; {measured}{ramping}", rates.join(", "), waits(link))
}

/// What is waited for before bytes flow.
pub(super) fn waits(link: &NetworkLink) -> String {
    let times = [
        ("connect", (link.connect_s > 0.0).then_some(link.connect_s)),
        ("TLS", link.tls_s),
        ("login", link.login_s),
        ("first byte", Some(link.first_byte_s)),
    ];
    let shown =
        times.into_iter().filter_map(|(name, time)| Some(format!("{name} {}", units::duration(time?))));
    shown.collect::<Vec<_>>().join(", ")
}

pub(super) fn time(amount: &Amount) -> String {
    // Whole seconds are enough to wait by, unless it is over in a few.
    if amount.high < 10.0 {
        return format!("{} ({})", units::duration(amount.mean), units::interval(amount.low, amount.high));
    }
    format!("{} ({})", units::waiting(amount.mean), units::waiting_interval(amount.low, amount.high))
}

fn short(seconds: f64) -> String {
    if seconds < 10.0 { units::duration(seconds) } else { units::waiting(seconds) }
}

fn once(plan: &TransferPlan, link: Option<&NetworkLink>) -> String {
    let streams = units::counted(u64::from(plan.streams), "stream");
    let tried_more = link.is_some_and(|link| link.rates.iter().any(|rate| rate.streams > plan.streams));
    let more = if tried_more { "; more do not help" } else { "" };
    let waiting = plan.waiting_s / plan.copy_s.mean.max(1e-9);
    let waiting =
        if waiting >= 0.1 { format!("; {} of it waiting", units::percent(waiting)) } else { String::new() };
    format!("{} on {streams}{more}{waiting}", time(&plan.copy_s))
}

/// What reading it over the link in every epoch takes, where that is another number than a copy.
fn streamed(plan: &TransferPlan) -> Option<String> {
    let readers = match plan.readers {
        1 => String::new(),
        more => format!(
            "{} share the link: {} an epoch",
            units::counted(more, "reader"),
            time(&plan.shared_epoch_s)
        ),
    };
    let epochs = match plan.epochs {
        1 => String::new(),
        more => format!("{} {}", units::counted(more, "epoch"), time(&plan.streamed_s)),
    };
    let both: Vec<String> = [readers, epochs].into_iter().filter(|text| !text.is_empty()).collect();
    (!both.is_empty()).then(|| both.join("; "))
}

fn disk(plan: &TransferPlan) -> Option<String> {
    let disk = plan.disk?;
    let fits = if plan.fits_on_disk? { "fits" } else { "does not fit" };
    let rate = |rate: Option<f64>, what: &str| rate.map(|rate| format!("; {what} {}", per_second(rate)));
    let reads = rate(disk.read_bytes_per_s, "reads").unwrap_or_default();
    let writes = rate(disk.write_bytes_per_s, "writes").unwrap_or_default();
    Some(format!("{fits} here: {} free{writes}{reads}", units::bytes(disk.free_bytes)))
}

fn advice(plan: &TransferPlan) -> String {
    let local = match plan.local_epoch_s {
        Some(0.0) => ", then epochs come from memory".to_owned(),
        Some(seconds) => format!(", then {} an epoch", short(seconds)),
        None => String::new(),
    };
    let against = plan.staged_s.map(|staged| {
        let (staged, streamed) = (short(staged.mean), short(plan.streamed_s.mean));
        format!(": {staged} for {} against {streamed} streamed", units::counted(plan.epochs, "epoch"))
    });
    let against = against.unwrap_or_default();
    match plan.advice {
        Advice::Stream => "read it where it lies: it is read once".to_owned(),
        Advice::CopyOnce => format!("copy it once to the local disk{local}{against}"),
        Advice::KeepInMemory => format!("keep it in memory after the first epoch{against}"),
        _ => "stream it: it fits neither on this disk nor in memory".to_owned(),
    }
}

fn what_if(plan: &TransferPlan) -> Option<String> {
    let shown = |what: &WhatIf| match what.change {
        "packed" => {
            let shards = units::counted(what.objects as u64, "shard");
            format!("packed into {shards}: {} a copy", short(what.copy_s.mean))
        }
        change => {
            let bytes = units::bytes(what.bytes as u64);
            format!("{change} to about {bytes}: {} a copy", short(what.copy_s.mean))
        }
    };
    let all: Vec<String> = plan.what_if.iter().map(shown).collect();
    (!all.is_empty()).then(|| all.join("\n"))
}

fn next(found: &Elsewhere, style: &Style) -> String {
    match &found.next {
        // Whole and alone on its lines, so that it can be copied.
        Some(next) => format!("next: {}\n", style.fitted(&super::shown(&next.line()))),
        None => line(
            "next: none of rclone, curl, aws, lftp and rsync is here and copies from there",
            style,
            Emphasis::Dim,
        ),
    }
}
