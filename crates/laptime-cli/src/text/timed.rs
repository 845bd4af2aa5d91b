//! A copy that was made, against its forecast.

use laptime_data::transfer::Timed;

use super::elsewhere::time;
use super::facts::labelled;
use super::shown;
use super::style::Style;
use super::units;

/// What the copy took, and how good the forecast was.
pub(crate) fn timed_text(timed: &Timed, target: &str, style: &Style) -> String {
    let rate = units::bytes((timed.bytes as f64 / timed.seconds.max(1e-9)) as u64);
    let took = format!("{} to {}, {rate}/s", units::duration(timed.seconds), shown(target));
    let within = if timed.within { "within the interval" } else { "outside of the interval" };
    let longer = if timed.error < 0.0 { "shorter" } else { "longer" };
    let off = units::percent(timed.error.abs());
    let grade = format!("{}: it took {off} {longer}, {within}", time(&timed.forecast));
    format!("\n{}{}", labelled("copied", &took, style), labelled("forecast", &grade, style))
}
