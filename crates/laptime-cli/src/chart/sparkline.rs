//! A small curve without axes, for a row of a table.

use std::fmt::Write;

use crate::markup::escaped;

const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 24.0;
/// Room for the thickness of the line.
const EDGE: f64 = 2.0;

/// Values from the oldest to the newest, from zero up: lengths should not deceive. `said` is the same in words.
pub(crate) fn sparkline(values: &[f64], said: &str) -> String {
    let values: Vec<f64> =
        values.iter().copied().filter(|value| value.is_finite() && *value >= 0.0).collect();
    let most = values.iter().copied().fold(0.0, f64::max);
    if values.len() < 2 || most <= 0.0 {
        return String::new();
    }
    let step = (WIDTH - 2.0 * EDGE) / (values.len() - 1) as f64;
    let mut points = String::new();
    for (at, value) in values.iter().enumerate() {
        let (x, y) = (EDGE + step * at as f64, HEIGHT - EDGE - value / most * (HEIGHT - 2.0 * EDGE));
        let _ = write!(points, "{}{x:.1},{y:.1}", if at == 0 { "" } else { " " });
    }
    let said = escaped(said);
    format!(
        "<svg class=\"spark\" role=\"img\" aria-label=\"{said}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\">\
         <title>{said}</title><polyline points=\"{points}\"/></svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_goes_from_zero_to_its_most() {
        let drawn = sparkline(&[1.0, 2.0, f64::NAN, 0.0], "3 epochs");
        assert!(drawn.contains("points=\"2.0,12.0 60.0,2.0 118.0,22.0\""), "{drawn}");
        assert!(drawn.contains("aria-label=\"3 epochs\""));
    }

    #[test]
    fn one_value_is_no_curve() {
        for values in [&[][..], &[3.0], &[0.0, 0.0], &[f64::NAN, f64::INFINITY, 1.0]] {
            assert_eq!(sparkline(values, ""), "");
        }
    }
}
