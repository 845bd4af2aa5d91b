//! Ticks: where an axis is labelled, and how.

use laptime_core::units;

use super::Scale;

/// What an axis is counted in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds, shown in what fits: `12 us`, `3 min`.
    Seconds,
    /// A number, shown in thousands and millions: `3.1 k`.
    Number,
    /// A number with a unit of its own, said once beside the label, such as `samples/s`.
    Of(String),
}

impl Unit {
    /// The unit as it stands beside the axis' label.
    pub(super) fn beside_label(&self) -> Option<&str> {
        match self {
            Self::Seconds | Self::Number => None,
            Self::Of(unit) => Some(unit),
        }
    }

    /// A value as a label: as few digits as distinguish it from its neighbours.
    pub(super) fn shown(&self, value: f64) -> String {
        match self {
            Self::Seconds => seconds(value),
            Self::Number | Self::Of(_) => number(value),
        }
    }
}

fn seconds(value: f64) -> String {
    let size = value.abs();
    if size >= 120.0 {
        return units::duration(value);
    }
    let parts = [("ns", 1e-9, 1e-6), ("us", 1e-6, 1e-3), ("ms", 1e-3, 1.0), ("s", 1.0, f64::INFINITY)];
    // The bound leaves room for rounding: 999.9999 us is 1 ms.
    let found = parts.iter().find(|(_, _, bound)| size < bound * 0.999_999 && size > 0.0);
    let (unit, scale, _) = found.unwrap_or(&parts[3]);
    format!("{} {unit}", digits(value / scale))
}

fn number(value: f64) -> String {
    let size = value.abs();
    // Powers of two and the like are known by all their digits.
    if (1e3..1e4).contains(&size) && size % 1.0 == 0.0 && size % 100.0 != 0.0 {
        return units::number(value);
    }
    if size != 0.0 && !(1e-4..1e15).contains(&size) {
        return format!("{value:.1e}").replace(".0e", "e");
    }
    let parts = [("", 1.0, 1e3), (" k", 1e3, 1e6), (" M", 1e6, 1e9), (" G", 1e9, 1e12), (" T", 1e12, 1e15)];
    let found = parts.iter().find(|(_, _, bound)| size < bound * 0.999_999);
    let (unit, scale, _) = found.unwrap_or(&parts[4]);
    format!("{}{unit}", digits(value / scale))
}

/// Four significant digits at most, without zeros at the end.
fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let before = value.abs().log10().floor() as i32;
    let decimals = usize::try_from(3 - before).unwrap_or(0).min(9);
    let shown = format!("{value:.decimals$}");
    if !shown.contains('.') {
        return shown;
    }
    shown.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Round values from `low` to `high`, about as many as asked for.
pub(super) fn ticks(unit: &Unit, scale: Scale, (low, high): (f64, f64), wanted: usize) -> Vec<f64> {
    let step = match unit {
        Unit::Seconds => round_time,
        Unit::Number | Unit::Of(_) => round_number,
    };
    let even = || even_ticks(low, high, step((high - low) / wanted.max(1) as f64));
    match scale {
        Scale::Linear => even(),
        // Within less than a decade there may be no round power at all.
        Scale::Log => Some(log_ticks(low, high, wanted)).filter(|ticks| ticks.len() > 1).unwrap_or_else(even),
    }
}

/// The step of 1, 2 or 5 times a power of ten that is closest to the one wanted.
fn round_number(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= 0.7 * rough);
    factor.unwrap_or(10.0) * power
}

/// As [`round_number`], in the parts that clocks have.
fn round_time(rough: f64) -> f64 {
    const PARTS: [f64; 13] = [
        15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 10_800.0, 21_600.0, 43_200.0,
    ];
    if rough < 10.0 {
        return round_number(rough);
    }
    let part = PARTS.into_iter().find(|part| *part >= 0.7 * rough);
    part.unwrap_or_else(|| 86_400.0 * round_number(rough / 86_400.0).max(1.0))
}

fn even_ticks(low: f64, high: f64, step: f64) -> Vec<f64> {
    if !(step > 0.0 && step.is_finite()) {
        return vec![low, high];
    }
    let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
    let count = (last - first).clamp(0.0, 100.0) as u32;
    let values = (0..=count).map(|at| (first + f64::from(at)) * step).map(|value| value + 0.0);
    values.filter(|value| *value >= low - 1e-9 * step && *value <= high + 1e-9 * step).collect()
}

/// Powers of ten, with 2 and 5 between them where there are few, or only every so many.
fn log_ticks(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let decades = (last - first).max(1);
    // One tick more than wanted, since the first power lies below the axis.
    let stride = decades as usize / (wanted + 1) + 1;
    let few = (high / low).log10() < 3.0_f64.min(0.6 * wanted as f64);
    let factors: &[f64] = if few { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let powers = (first..=last).step_by(stride);
    let values = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
    values.filter(|value| (low * 0.999_999..=high * 1.000_001).contains(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_units_and_no_needless_zeros() {
        let seconds = [(0.0, "0 s"), (12e-6, "12 us"), (1.5e-3, "1.5 ms"), (0.25, "250 ms"), (90.0, "90 s")];
        for (value, text) in seconds {
            assert_eq!(Unit::Seconds.shown(value), text);
        }
        assert_eq!(Unit::Seconds.shown(600.0), "10m00s");
        assert_eq!(Unit::Seconds.shown(0.001 * 0.999_999_99), "1 ms");
        let numbers = [
            (3_100.0, "3.1 k"),
            (100_000.0, "100 k"),
            (0.25, "0.25"),
            (512.0, "512"),
            (1e-7, "1e-7"),
            (2_048.0, "2,048"),
        ];
        for (value, text) in numbers {
            assert_eq!(Unit::Number.shown(value), text);
        }
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let number = |scale, low, high, wanted| ticks(&Unit::Number, scale, (low, high), wanted);
        assert_eq!(number(Scale::Linear, 0.0, 10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(number(Scale::Linear, 0.0, 1.3, 6).len(), 7);
        assert_eq!(number(Scale::Log, 1.0, 1000.0, 4), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(number(Scale::Log, 1.0, 100.0, 6), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(number(Scale::Log, 55.0, 95.0, 4), [60.0, 70.0, 80.0, 90.0]);
        assert!(number(Scale::Log, 1e-190, 1e190, 6).len() <= 10);
    }

    #[test]
    fn long_times_are_labelled_in_minutes_and_hours() {
        let shown = |high| -> Vec<String> {
            let values = ticks(&Unit::Seconds, Scale::Linear, (0.0, high), 4);
            values.iter().map(|value| Unit::Seconds.shown(*value)).collect()
        };
        assert_eq!(shown(1_300.0), ["0 s", "5m00s", "10m00s", "15m00s", "20m00s"]);
        assert_eq!(shown(90_000.0), ["0 s", "6h00m", "12h00m", "18h00m", "1d00h"]);
    }
}
