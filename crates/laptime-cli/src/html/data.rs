//! The page of a dataset: what it is, what an epoch moves, what it consists of.

use laptime_core::units;
use laptime_data::survey::{Part, Survey};

use super::figure::figures;
use super::page::{Shell, page};
use super::section::{Section, described_list, head, sections};
use super::table::Table;
use crate::chart::bars_of_bytes;
use crate::one_line::shown;
use crate::text::dataset_facts;

/// Parts with a bar of their own.
const MOST_PARTS: usize = 24;

/// Everything that is known of a dataset.
pub(crate) fn data_page(survey: &Survey, shell: &Shell<'_>) -> String {
    let all = vec![
        Section::new("facts", "What it amounts to", described_list(dataset_facts(survey))),
        Section::new("epoch", "An epoch", figures(epoch(survey))),
        Section::new("parts", "What it consists of", parts(survey)),
        Section::new("troubles", "What could not be read", troubles(survey)),
    ];
    let format = survey.format.map_or("no data", |format| format.name());
    let title = shown(&survey.source);
    page(&title, &format!("{}{}", head(&title, format, ""), sections(all)), shell)
}

fn epoch(survey: &Survey) -> Option<crate::chart::Figure> {
    let moved = survey.epoch_bytes.host_to_device.map(|amount| amount.mean.round() as u64);
    let decoded = survey.decoded_bytes.map(|amount| amount.mean.round() as u64);
    let amounts = [
        ("stored", Some(survey.bytes)),
        ("read from storage", Some(survey.epoch_bytes.storage)),
        ("decoded in memory", decoded),
        ("moved to the device", moved),
    ];
    let known = amounts.into_iter().filter_map(|(what, bytes)| Some((what.to_owned(), bytes?)));
    bars_of_bytes("epoch-bytes", "Bytes of an epoch", &known.collect::<Vec<_>>())
}

fn parts(survey: &Survey) -> String {
    let name = |part: &Part| match part.ending.as_deref() {
        None => part.format.name().to_owned(),
        Some("") => "no ending".to_owned(),
        Some(ending) => format!(".{}", shown(ending)),
    };
    let bars: Vec<(String, u64)> =
        survey.parts.iter().take(MOST_PARTS).map(|part| (name(part), part.bytes)).collect();
    let figure = bars_of_bytes("parts-bytes", "Bytes of each format", &bars).filter(|_| bars.len() > 1);
    let rows = survey.parts.iter().map(|part| {
        let samples = units::or_unknown(part.samples, |samples| units::count(samples.mean.round() as u64));
        vec![
            name(part),
            units::count(part.files),
            units::bytes(part.bytes),
            samples,
            units::count(part.looked_into),
            units::count(part.broken),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let heads = ["format", "files", "bytes", "samples", "looked into", "broken"].map(str::to_owned);
    let table = Table { caption: "Files by format", heads: &heads, rows: &rows, words: false };
    if rows.is_empty() { String::new() } else { format!("{}{}", figures(figure), table.drawn()) }
}

fn troubles(survey: &Survey) -> String {
    let rows = survey
        .troubles
        .iter()
        .map(|trouble| vec![shown(&trouble.path.to_string()), shown(&trouble.problem.to_string())]);
    let rows: Vec<Vec<String>> = rows.collect();
    let heads = ["path", "problem"].map(str::to_owned);
    let table = Table { caption: "What could not be read", heads: &heads, rows: &rows, words: true };
    if rows.is_empty() { String::new() } else { table.drawn() }
}
