//! What analysis found, as it arises.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use laptime_analyse::{Finding, Report};
use ratatui_core::text::Line;

use super::drawing::Shown;
use super::section::{Section, painted};
use crate::text::{Emphasis, shown, wrapped};

/// How long a finding is new.
const NEW: Duration = Duration::from_secs(30);
/// Findings worth showing.
const MOST: usize = 6;

/// When each finding was first seen.
#[derive(Default)]
pub(super) struct Arrivals {
    first: HashMap<&'static str, Instant>,
    began: Option<Instant>,
}

/// The findings that are new.
#[derive(Default)]
pub(super) struct Arrived(Vec<&'static str>);

impl Arrivals {
    /// Takes the findings of a report. What was there when the page began is not new.
    pub(super) fn seen(&mut self, report: &Report, now: Instant) -> Arrived {
        let began = *self.began.get_or_insert(now);
        for finding in &report.findings {
            self.first.entry(finding.id).or_insert(now);
        }
        let is_new = |first: &Instant| *first > began && now.duration_since(*first) < NEW;
        Arrived(self.first.iter().filter(|(_, first)| is_new(first)).map(|(id, _)| *id).collect())
    }
}

pub(super) fn section(page: &Shown<'_>, width: usize) -> Option<Section> {
    let lines = page.report.findings.iter().take(MOST).flat_map(|finding| lines(page, finding, width));
    Section::new(9, "findings", lines.collect(), page.style)
}

fn lines(page: &Shown<'_>, finding: &Finding, width: usize) -> Vec<Line<'static>> {
    let (mark, emphasis) = match (page.arrivals.0.contains(&finding.id), finding.verdict) {
        (true, _) => ("new: ", Emphasis::Notice),
        (false, true) => ("", Emphasis::Bold),
        (false, false) => ("", Emphasis::Plain),
    };
    let text = wrapped(&format!("{mark}{}", shown(&finding.text)), width, "", "  ");
    text.into_iter().map(|line| Line::from(painted(&line, emphasis, page.style))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::sample;

    #[test]
    fn a_finding_is_new_for_a_while_unless_the_page_began_with_it() {
        let (mut arrivals, began) = (Arrivals::default(), Instant::now());
        let mut report = sample::running();
        report.findings = vec![Finding::new("first", "one")];
        assert!(arrivals.seen(&report, began).0.is_empty());
        report.findings.push(Finding::new("second", "two"));
        let later = began + Duration::from_secs(5);
        assert_eq!(arrivals.seen(&report, later).0, ["second"]);
        assert!(arrivals.seen(&report, later + NEW).0.is_empty());
    }
}
