//! Prometheus: what runs come to, as metrics in its text format, for `serve`'s `/metrics` and for the node exporter's
//! textfile collector.

mod families;
mod page;

use laptime_analyse::Report;

use page::Page;

/// The metrics of runs. Every series has the run's id and name; what is unknown is left out.
pub(crate) fn prometheus_text(reports: &[Report]) -> String {
    let mut page = Page::default();
    for report in reports {
        families::run(report, &mut page);
        families::stages(report, &mut page);
        families::fits(report, &mut page);
        families::steps(report, &mut page);
        families::ranks(report, &mut page);
        families::resources(report, &mut page);
    }
    page.text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::sample;

    #[test]
    fn a_run_as_metrics() {
        insta::assert_snapshot!(prometheus_text(&[sample::running()]));
    }

    #[test]
    fn the_samples_of_a_metric_stand_together_also_of_several_runs() {
        let text = prometheus_text(&[sample::two_ranks(), sample::finished()]);
        let helps: Vec<&str> = text.lines().filter(|line| line.starts_with("# HELP")).collect();
        let mut names: Vec<&str> = helps.iter().filter_map(|line| line.split(' ').nth(2)).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert_eq!(text.matches("\nlaptime_wall_seconds{").count(), 2);
    }

    #[test]
    fn no_name_breaks_a_line() {
        let mut report = sample::finished();
        report.run.name = "a\"b\\c\nd\u{1b}[31m".to_owned();
        let text = prometheus_text(&[report]);
        assert!(text.contains(r#"name="a\"b\\c\nd"#), "{text}");
        assert!(text.lines().all(|line| line.starts_with("laptime_") || line.starts_with("# ")), "{text}");
    }
}
