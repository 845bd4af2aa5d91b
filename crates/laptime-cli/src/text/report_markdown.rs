//! A run as Markdown, for a pull request: the answer, two small tables, the whole report folded.

use laptime_analyse::{EpochSummary, Report};

use super::report::{laps_done, report_text, status_word};
use super::style::Style;
use super::units::{self, UNKNOWN};
use super::words::stage_name;
use super::{shown, time_left::left_text};

/// Rows of epochs: the last ones, after the first.
const MOST_EPOCHS: usize = 6;
/// Rows of stages.
const MOST_STAGES: usize = 8;
/// Findings after the verdict.
const MOST_FINDINGS: usize = 3;
/// Letters of a line in the folded part.
const WIDTH: usize = 80;

/// The run; `kept` is where it is on disk.
pub(crate) fn report_markdown(report: &Report, kept: &str) -> String {
    let plain = Style { width: WIDTH, color: false, unicode: true };
    let whole = report_text(report, Some(kept), &plain);
    let fence = fence(&whole);
    let sections = [title(report), findings(report), epochs(report), stages(report)];
    let sections: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    format!(
        "{}\n<details><summary>Report</summary>\n\n{fence}text\n{}\n{fence}\n\n</details>\n",
        sections.join("\n"),
        whole.trim_end()
    )
}

fn title(report: &Report) -> String {
    let (status, _) = status_word(report.run.status);
    let left = report.time_left.map(|left| format!(" · {}", left_text(left, false))).unwrap_or_default();
    let (name, wall) = (escaped(&report.run.name), units::duration(report.wall_s));
    format!("### laptime: {name} · {status} · {} · {wall}{left}\n", laps_done(report))
}

fn findings(report: &Report) -> String {
    let (verdicts, others): (Vec<_>, Vec<_>) = report.findings.iter().partition(|finding| finding.verdict);
    let mut lines: Vec<String> =
        verdicts.iter().map(|finding| format!("**{}**\n", escaped(&finding.text))).collect();
    let others = others.iter().take(MOST_FINDINGS);
    let items: String = others.map(|finding| format!("- {}\n", escaped(&finding.text))).collect();
    lines.extend(Some(items).filter(|items| !items.is_empty()));
    lines.join("\n")
}

/// The first epoch, which pays for warm-up, and the last ones.
fn epochs(report: &Report) -> String {
    if report.epochs.is_empty() {
        return String::new();
    }
    let skipped = report.epochs.len().saturating_sub(MOST_EPOCHS);
    let kept = |at: usize| at == 0 || at > skipped || skipped == 0;
    let rows = report.epochs.iter().enumerate().filter(|(at, _)| kept(*at));
    let rows: String = rows.map(|(_, epoch)| epoch_row(report, epoch)).collect();
    let note = match skipped {
        0 => String::new(),
        skipped => format!(
            "\n{} between the first and these are left out.\n",
            units::counted(skipped as u64, "epoch")
        ),
    };
    format!("| epoch | time | data wait | samples/s | loss |\n|---:|---:|---:|---:|---:|\n{rows}{note}")
}

fn epoch_row(report: &Report, epoch: &EpochSummary) -> String {
    let number = units::count(u64::from(epoch.index) + 1);
    let number = match report.fits.len() {
        0 | 1 => number,
        _ => format!("fit {}, {number}", epoch.fit + 1),
    };
    let wait = epoch.stages.get("data_wait").copied();
    format!(
        "| {number} | {} | {} | {} | {} |\n",
        units::duration(epoch.wall_s),
        units::or_unknown(wait, units::duration),
        units::or_unknown(epoch.samples_per_s, units::per_second),
        units::or_unknown(epoch.loss, units::number),
    )
}

/// The stages that took longest; what no stage claims is always there.
fn stages(report: &Report) -> String {
    let mut rows: Vec<_> = report.ledger.iter().filter(|row| row.seconds > 0.0).collect();
    rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let is_shown = |at: usize, stage: &str| at < MOST_STAGES || stage == "unaccounted";
    let rows = rows.iter().enumerate().filter(|(at, row)| is_shown(*at, &row.stage));
    let rows = rows.map(|(_, row)| {
        let mean = row.mean_s.map_or(UNKNOWN.to_owned(), units::duration);
        let name = escaped(&stage_name(&row.stage));
        format!("| {name} | {} | {} | {mean} |\n", units::duration(row.seconds), units::percent(row.share))
    });
    let rows: String = rows.collect();
    if rows.is_empty() {
        rows
    } else {
        format!("| stage | time | share | mean |\n|---|---:|---:|---:|\n{rows}")
    }
}

/// A name as text: nothing in it is markup.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in shown(text).chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' => escaped.extend(['\\', letter]),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// A fence that nothing in the text ends.
fn fence(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn a_run_is_an_answer_two_tables_and_the_report_folded() {
        insta::assert_snapshot!(report_markdown(
            &sample::with_workers(),
            ".laptime/20260301T101500Z-3f9a2c71"
        ));
    }

    #[test]
    fn no_name_is_markup_and_nothing_ends_the_fence() {
        let mut report = sample::finished();
        report.run.name = "<img src=x>|**bold**\n# [a](b) ``` \u{202e}".to_owned();
        let text = report_markdown(&report, ".laptime/x");
        let title = text.lines().next().unwrap();
        assert!(title.starts_with("### laptime: &lt;img src=x>\\|\\*\\*bold\\*\\*"), "{title}");
        assert!(!title.contains('\u{202e}') && title.contains("\\[a\\](b)"), "{title}");
        assert_eq!(fence("a ```` b ``"), "`````");
    }
}
