//! The page of a sweep: what was found, every chart, every point.

use laptime_analyse::sweep::Sweep;

use super::figure::figures;
use super::page::{Shell, page};
use super::section::{Section, head, sections, told};
use super::table::Table;
use crate::chart::{Figure, sweep_charts};
use crate::text::{sweep_heading, sweep_table};

/// Everything that is known of a sweep.
pub(crate) fn sweep_page(sweep: &Sweep, shell: &Shell<'_>) -> String {
    let title = sweep_heading(sweep);
    let (name, standing) = title.split_once(" · ").unwrap_or((&title, ""));
    let findings: Vec<String> = sweep.findings.iter().map(|finding| finding.text.clone()).collect();
    let charts = sweep_charts(sweep);
    let charts = charts.iter().enumerate();
    let charts = charts.map(|(at, named)| Figure::of_chart(&format!("sweep-{}", at + 1), &named.chart));
    let all = vec![
        Section::new("verdict", "What follows", told(&findings)),
        Section::new("charts", "Charts", figures(charts)),
        Section::new("points", "Points", points(sweep)),
        Section::new("troubles", "What failed", troubles(sweep)),
    ];
    let head = head(name, standing, &sweep.sweep.command.join(" "));
    page(name, &format!("{head}{}", sections(all)), shell)
}

fn points(sweep: &Sweep) -> String {
    let (heads, rows) = sweep_table(sweep, None).texts();
    Table { caption: "Every point, with the mean of its repeats", heads: &heads, rows: &rows, words: false }
        .drawn()
}

fn troubles(sweep: &Sweep) -> String {
    let failed = sweep.points.iter().filter_map(|point| {
        let values = point
            .values
            .iter()
            .map(|(axis, value)| format!("{axis}={}", laptime_analyse::sweep::value_text(value)));
        Some(vec![values.collect::<Vec<_>>().join(" "), point.reason.clone()?])
    });
    let rows: Vec<Vec<String>> = failed.collect();
    if rows.is_empty() {
        return String::new();
    }
    let heads = ["point", "because"].map(str::to_owned);
    Table { caption: "Points that failed", heads: &heads, rows: &rows, words: true }.drawn()
}
