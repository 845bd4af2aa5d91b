//! The page of a comparison: the answer, the stages of both sides, what else differs.

use laptime_analyse::compare::{Change, ChangeKind, Check, Comparison, Outcome};
use laptime_core::units;

use super::figure::figures;
use super::page::{Shell, page};
use super::section::{Section, head, sections, told};
use super::table::Table;
use crate::chart::compare_figures;
use crate::one_line::shown;
use crate::text::compare_sentences;

/// Everything that a comparison found.
pub(crate) fn compare_page(comparison: &Comparison, shell: &Shell<'_>) -> String {
    let title = format!("{} against {}", comparison.b.name, comparison.a.name);
    let all = vec![
        Section::new("verdict", "Verdict", told(&compare_sentences(comparison))),
        Section::new("stages", "Stages", figures(compare_figures(comparison))),
        Section::new("apart", "Besides the steps", apart(comparison)),
        Section::new("changes", "What changed", changes(comparison)),
        Section::new("training", "Is it the same training?", training(comparison)),
        Section::new("runs", "Runs", runs(comparison)),
    ];
    page(&title, &format!("{}{}", head(&title, "", ""), sections(all)), shell)
}

/// The table, or nothing where it has no rows.
fn table(caption: &str, heads: &[&str], rows: &[Vec<String>], words: bool) -> String {
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    if rows.is_empty() { String::new() } else { Table { caption, heads: &heads, rows, words }.drawn() }
}

fn apart(comparison: &Comparison) -> String {
    let (a, b) = (shown(&comparison.a.name), shown(&comparison.b.name));
    let rows = comparison.apart.iter().map(|part| {
        let ratio = units::or_unknown(part.ratio, |ratio| units::fixed(ratio.mean, 3));
        vec![part.what.to_owned(), units::duration(part.a_s), units::duration(part.b_s), ratio]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    table("Time that is no part of steady steps", &["what", &a, &b, "ratio"], &rows, false)
}

fn changes(comparison: &Comparison) -> String {
    let (a, b) = (shown(&comparison.a.name), shown(&comparison.b.name));
    let value = |value: &Option<String>| value.as_deref().map_or_else(|| units::UNKNOWN.to_owned(), shown);
    let row = |change: &Change| {
        let kind = match change.kind {
            ChangeKind::Configuration => "configuration",
            ChangeKind::Environment => "environment",
            ChangeKind::Machine => "machine",
        };
        vec![shown(&change.what), value(&change.a), value(&change.b), kind.to_owned()]
    };
    let rows: Vec<Vec<String>> = comparison.environment.iter().map(row).collect();
    table("Settings, versions and machines that differ", &["what", &a, &b, "kind"], &rows, true)
}

fn training(comparison: &Comparison) -> String {
    let (a, b) = (shown(&comparison.a.name), shown(&comparison.b.name));
    let value = |value: &Option<String>| value.as_deref().map_or_else(|| units::UNKNOWN.to_owned(), shown);
    let row = |check: &Check| {
        let outcome = match check.outcome {
            Outcome::Agree => "agree",
            Outcome::Differ => "differ",
            Outcome::Unknown => "not known",
        };
        vec![check.what.to_owned(), value(&check.a), value(&check.b), outcome.to_owned()]
    };
    let rows: Vec<Vec<String>> = comparison.training.iter().map(row).collect();
    table("What was held against each other", &["what", &a, &b, "outcome"], &rows, true)
}

fn runs(comparison: &Comparison) -> String {
    let sides = [&comparison.a, &comparison.b];
    let rows = sides.into_iter().flat_map(|side| {
        side.runs.iter().map(|run| {
            let contention = units::or_unknown(run.contention, units::percent);
            vec![
                shown(&side.name),
                shown(&run.id),
                units::count(run.steps),
                units::count(run.warm_up_steps),
                contention,
            ]
        })
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let heads = ["side", "run", "steps", "of them warm-up", "other programs"];
    table("The runs of both sides", &heads, &rows, false)
}
