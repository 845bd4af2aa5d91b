//! A law of time as a series: what was measured, the law, and how far it is trusted.

use laptime_analyse::scaling::ScalingLaw;

use super::{Mark, Place, Series};

/// Places a curve is drawn through.
const PLACES: usize = 120;

/// The measured times with their law, drawn up to `end` where that lies beyond the last of them.
#[must_use]
pub fn scaling_series(name: &str, law: &ScalingLaw, end: Option<f64>) -> Series {
    let mark = |(x, time): (f64, laptime_analyse::Estimate)| Mark {
        x,
        y: time.mean,
        interval: Some((time.low, time.high)),
    };
    let (low, high) = law.range;
    let mut xs = between(low, high);
    if let Some(end) = end.filter(|end| end.is_finite() && *end > high) {
        xs.extend(between(high, end).into_iter().skip(1));
    }
    // A bend is sharp: the curve must go through it.
    xs.extend(law.knee().map(|knee| knee.mean).filter(|knee| (low..high).contains(knee)));
    xs.sort_by(f64::total_cmp);
    let place = |x: f64| {
        let predicted = law.mean_at(x)?;
        let interval = Some((predicted.time.low, predicted.time.high));
        Some(Place { x, y: predicted.time.mean, interval, extrapolated: predicted.extrapolated })
    };
    Series {
        name: name.to_owned(),
        marks: law.measured().into_iter().map(mark).collect(),
        joined: false,
        curve: xs.into_iter().filter_map(place).collect(),
    }
}

/// Values from `low` to `high`, in equal ratios where that is possible, as axes of sweeps mostly are.
fn between(low: f64, high: f64) -> Vec<f64> {
    let at = |place: usize| match place as f64 / (PLACES - 1) as f64 {
        0.0 => low,
        1.0 => high,
        share if low > 0.0 => low * (high / low).powf(share),
        share => low + (high - low) * share,
    };
    (0..PLACES).map(at).collect()
}
