//! What charts look like, and what must hold for every one of them.

use proptest::prelude::*;

use super::sample::{axis, hinge, losses, odd, rows, throughput};
use super::*;

const SHEET: Sheet = Sheet { width: 80, height: 20, color: false, unicode: true };

fn drawn(chart: &Chart, sheet: &Sheet) -> String {
    terminal(chart, sheet).join("\n")
}

#[test]
fn svg_of_a_law_and_of_four_series() {
    insta::assert_snapshot!("svg_hinge", svg(&hinge()));
    insta::assert_snapshot!("svg_throughput", svg(&throughput()));
}

#[test]
fn terminal_of_a_law_and_of_four_series() {
    insta::assert_snapshot!("terminal_hinge", drawn(&hinge(), &SHEET));
    insta::assert_snapshot!("terminal_rows", drawn(&rows(), &SHEET));
    insta::assert_snapshot!("terminal_losses", drawn(&losses(), &SHEET));
    insta::assert_snapshot!("terminal_throughput", drawn(&throughput(), &SHEET));
}

#[test]
fn terminal_of_one_point_equal_values_and_huge_ranges() {
    let low = Sheet { height: 12, width: 60, ..SHEET };
    let one = odd(&[(32.0, 5e-3), (64.0, f64::NAN)], Scale::Linear);
    let equal = odd(&[(1.0, 5e-3), (2.0, 5e-3), (3.0, 5e-3)], Scale::Linear);
    let huge = odd(&[(1e-6, 1e-9), (1.0, 1.0), (1e9, 1e7)], Scale::Log);
    let all: Vec<String> = [one, equal, huge].iter().map(|chart| drawn(chart, &low)).collect();
    insta::assert_snapshot!("terminal_odd", all.join("\n\n"));
}

#[test]
fn terminal_without_unicode() {
    insta::assert_snapshot!("terminal_ascii", drawn(&hinge(), &Sheet { unicode: false, width: 60, ..SHEET }));
}

#[test]
fn what_is_not_a_number_is_left_out_and_one_point_is_enough() {
    let some = odd(&[(1.0, f64::NAN), (f64::INFINITY, 2.0), (4.0, 3e-3)], Scale::Log);
    let one = odd(&[(4.0, 3e-3)], Scale::Log);
    assert_eq!(svg(&some).matches("<circle").count(), svg(&one).matches("<circle").count());
    assert_eq!(drawn(&some, &SHEET), drawn(&one, &SHEET));
    assert_eq!(drawn(&one, &SHEET).matches('●').count(), 2, "one in the legend, one in the plot");
    let none = odd(&[], Scale::Linear);
    assert_eq!(drawn(&none, &SHEET).matches('●').count(), 1);
}

#[test]
fn text_from_outside_cannot_leave_its_place() {
    let mut chart = odd(&[(1.0, 2.0)], Scale::Linear);
    chart.title = "</title><script>alert(1)</script>\x1b[31m".to_owned();
    let picture = svg(&chart);
    assert!(!picture.contains("<script") && !picture.contains('\x1b'));
    assert!(!drawn(&chart, &SHEET).contains('\x1b'));
}

#[test]
fn colours_are_only_where_they_are_welcome() {
    let colored = drawn(&throughput(), &Sheet { color: true, ..SHEET });
    assert!(colored.contains("\x1b[38;5;208m■\x1b[0m mlp"));
    assert!(!drawn(&throughput(), &SHEET).contains('\x1b'));
}

/// Every number in places of the picture: attributes `x`, `y`, `cx`, `cy` and absolute commands of paths.
fn coordinates(picture: &str) -> Vec<f64> {
    let mut found = Vec::new();
    for name in [" x=\"", " y=\"", " cx=\"", " cy=\""] {
        let values = picture.split(name).skip(1).filter_map(|rest| rest.split('"').next());
        found.extend(values.filter_map(|value| value.parse::<f64>().ok()));
    }
    for path in picture.split(" d=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        // Small letters begin moves from where the pen is; all else is a place.
        for piece in path.split(|letter: char| letter.is_ascii_uppercase()) {
            let absolute = piece.split(|letter: char| letter.is_ascii_lowercase()).next().unwrap_or("");
            found.extend(absolute.split(' ').filter_map(|number| number.parse::<f64>().ok()));
        }
    }
    found
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => -1e3..1e6f64,
        1 => prop::num::f64::ANY,
        1 => Just(0.0),
        1 => Just(5.0),
        1 => (-300..300i32).prop_map(|power| 10f64.powi(power)),
    ]
}

fn any_interval() -> impl Strategy<Value = Option<(f64, f64)>> {
    prop::option::of((any_number(), any_number()))
}

fn any_series() -> impl Strategy<Value = Series> {
    let mark = (any_number(), any_number(), any_interval());
    let place = (any_number(), any_number(), any_interval(), any::<bool>());
    let marks = prop::collection::vec(mark.prop_map(|(x, y, interval)| Mark { x, y, interval }), 0..8);
    let curve = prop::collection::vec(
        place.prop_map(|(x, y, interval, extrapolated)| Place { x, y, interval, extrapolated }),
        0..6,
    );
    (".{0,60}", marks, any::<bool>(), curve).prop_map(|(name, marks, joined, curve)| Series {
        name,
        marks,
        joined,
        curve,
    })
}

fn any_chart() -> impl Strategy<Value = Chart> {
    let scale = || prop_oneof![Just(Scale::Linear), Just(Scale::Log)];
    let unit = || prop_oneof![Just(Unit::Seconds), Just(Unit::Number), ".{0,30}".prop_map(Unit::Of)];
    let series = prop::collection::vec(any_series(), 0..12);
    (".{0,120}", unit(), scale(), unit(), scale(), series).prop_map(
        |(title, x_unit, x_scale, y_unit, y_scale, series)| Chart {
            x: axis(&title, x_unit, x_scale),
            y: axis(&title, y_unit, y_scale),
            title,
            series,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_chart_stays_inside_its_picture(chart in any_chart()) {
        let picture = svg(&chart);
        for coordinate in coordinates(&picture) {
            prop_assert!((0.0..=720.0).contains(&coordinate), "{} in {}", coordinate, picture);
        }
        prop_assert!(!picture.contains("NaN") && !picture.contains("inf"));
    }

    #[test]
    fn every_chart_stays_inside_its_sheet(
        chart in any_chart(), width in 0..120usize, height in 0..40usize, unicode: bool
    ) {
        let lines = terminal(&chart, &Sheet { width, height, unicode, color: false });
        prop_assert!(lines.len() <= height.max(8));
        for line in &lines {
            prop_assert!(line.chars().count() <= width.max(24), "{}", line);
            prop_assert!(unicode || line.is_ascii(), "{}", line);
        }
    }
}
