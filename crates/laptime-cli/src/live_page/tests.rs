use laptime_analyse::Report;
use laptime_analyse::pulse::{Level, PulseReport, StepHistogram};
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use super::drawing::{Shown, draw};
use super::findings::Arrived;
use crate::text::{Style, sample};

fn pulse() -> PulseReport {
    let level = |name, now: f64, course: Vec<f64>| Level { name, now, course };
    let wave: Vec<f64> = (0..60).map(|at| f64::from(at % 8) + 1.0).collect();
    PulseReport {
        steps: Some(StepHistogram {
            edges_s: (0..=24).map(|at| 0.001 + f64::from(at) * 0.0001).collect(),
            counts: (0..24_u64).map(|at| 200 / (1 + at.abs_diff(7))).collect(),
        }),
        links: vec![level("storage_read", 12.3e6, wave.clone()), level("batches", 480.0e6, wave.clone())],
        busy_cpus: Some(level("busy_cpus", 1.87, wave.clone())),
        resident_bytes: Some(level("resident_bytes", 1.2e9, wave.clone())),
        device_busy: Some(level("device_busy", 0.42, wave)),
        device_bytes: None,
        device_watts: None,
    }
}

fn page(report: &Report, width: u16, height: u16, style: Style) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let (pulse, arrivals) = (pulse(), Arrived::default());
    let shown = Shown { report, pulse: &pulse, arrivals: &arrivals, style, keys: true };
    terminal.draw(|frame| draw(&shown, frame.buffer_mut())).unwrap();
    let lines: Vec<String> = (0..height)
        .map(|y| (0..width).map(|x| terminal.backend().buffer()[(x, y)].symbol()).collect::<String>())
        .collect();
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn a_running_training_on_an_ordinary_terminal() {
    insta::assert_snapshot!(page(&sample::running(), 80, 40, Style::default()));
}

#[test]
fn a_wide_terminal_has_two_columns() {
    insta::assert_snapshot!(page(&sample::running(), 120, 30, Style::default()));
}

#[test]
fn forty_columns_and_few_lines_show_what_matters_most_without_unicode() {
    insta::assert_snapshot!(page(&sample::running(), 40, 16, Style { unicode: false, ..Style::default() }));
}

#[test]
fn no_run_and_no_size_breaks_the_page() {
    for (_, report) in sample::all() {
        for (width, height) in [(1, 1), (10, 3), (40, 24), (79, 24), (96, 10), (300, 100)] {
            let text = page(&report, width, height, Style { color: true, ..Style::default() });
            assert!(!text.contains('\x1b'), "{text}");
        }
    }
}
