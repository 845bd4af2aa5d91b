//! A comparison as Markdown, for a pull request: the answer, a small table, the rest folded.

use laptime_analyse::compare::{Comparison, StageChange, Timed};

use super::compare::{close, compare_text, gate_text, name, sentence};
use super::style::Style;
use super::units;
use super::words::stage_name;

/// Rows of stages.
const MOST_STAGES: usize = 5;
/// Letters of a line in the folded part.
const WIDTH: usize = 80;

/// The comparison.
pub(crate) fn compare_markdown(comparison: &Comparison) -> String {
    let (answer, _) = sentence(comparison);
    let gate =
        gate_text(comparison).map(|(text, _)| format!("**{}**\n\n", escaped(&text))).unwrap_or_default();
    let plain = Style { width: WIDTH, color: false, unicode: true };
    format!(
        "### laptime: {}\n\n{gate}{}\n<details><summary>Details</summary>\n\n```text\n{}\n```\n\n</details>\n",
        escaped(&answer),
        table(comparison),
        compare_text(comparison, &plain).trim_end()
    )
}

fn table(comparison: &Comparison) -> String {
    let (a, b) = (escaped(&name(&comparison.a)), escaped(&name(&comparison.b)));
    let head = format!("| time | {a} | {b} | ratio (95 %) |\n|---|---:|---:|---:|\n");
    let changed = comparison.stages.iter().filter(|stage| stage.changed).take(MOST_STAGES).map(stage_row);
    let parts = comparison.apart.iter().filter(|part| part.a_s.max(part.b_s) > 0.0).map(|part| {
        row(part.what, part.a_s, part.b_s, part.ratio.map(|ratio| close_without_level(&close(&ratio))))
    });
    // The whole command is the first row where that is what was timed.
    let parts: Vec<String> = parts
        .filter(|row| comparison.timed != Some(Timed::Run) || !row.starts_with("| whole run "))
        .collect();
    head + &timed_row(comparison).unwrap_or_default() + &changed.collect::<String>() + &parts.concat()
}

fn timed_row(comparison: &Comparison) -> Option<String> {
    let what = match (comparison.timed?, &comparison.pairs) {
        (Timed::Stage, Some(pairs)) => {
            format!("{} a sample, {}", stage_name(&pairs.measure), counted(pairs.count))
        }
        (Timed::Run, Some(pairs)) => format!("whole command, {}", counted(pairs.count)),
        (Timed::Run, None) => "whole command".to_owned(),
        (Timed::Fit, _) => "training".to_owned(),
        _ => "step after warm-up".to_owned(),
    };
    let ratio = comparison.ratio.map(|ratio| close_without_level(&close(&ratio)));
    Some(row(&what, comparison.a_s?, comparison.b_s?, ratio))
}

fn counted(pairs: u64) -> String {
    format!("mean of {}", units::counted(pairs, "pair"))
}

fn stage_row(stage: &StageChange) -> String {
    let ratio = stage.ratio.map(|ratio| close_without_level(&close(&ratio)));
    row(&format!("{} a step", stage_name(&stage.stage)), stage.a_s, stage.b_s, ratio)
}

fn row(what: &str, a_s: f64, b_s: f64, ratio: Option<String>) -> String {
    let plain =
        || if a_s > 0.0 && b_s > 0.0 { units::fixed(b_s / a_s, 3) } else { units::UNKNOWN.to_owned() };
    let ratio = ratio.unwrap_or_else(plain);
    format!("| {} | {} | {} | {ratio} |\n", escaped(what), units::duration(a_s), units::duration(b_s))
}

/// The head of the column says the level.
fn close_without_level(ratio: &str) -> String {
    ratio.replace("95 %: ", "")
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
