//! Wording: how numbers stand in the sentences of findings.

use laptime_core::units::{count, percent};

/// A ratio such as `2.4×`.
pub(crate) fn times(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1}×") } else { format!("{ratio:.0}×") }
}

/// A ratio such as `1.57×`, with as many digits as a gain of a few percent needs.
pub(crate) fn times_exactly(ratio: f64) -> String {
    if ratio < 9.995 { format!("{ratio:.2}×") } else { times(ratio) }
}

/// Two ratios as an interval such as `2.2–2.6×`, with as many digits as tell them apart.
pub(crate) fn times_between(low: f64, high: f64) -> String {
    let ends = |digits: usize| (format!("{low:.digits$}"), format!("{high:.digits$}"));
    let (low, high) = (1..4).map(ends).find(|(low, high)| low != high).unwrap_or_else(|| ends(3));
    format!("{low}–{high}×")
}

/// The smallest and the largest of some shares, such as `43–52 %`; one number where they read the same.
pub(crate) fn percent_among(shares: impl Iterator<Item = f64> + Clone) -> String {
    let (low, high) = (shares.clone().fold(f64::INFINITY, f64::min), shares.fold(0.0, f64::max));
    let (low, high) = (percent(low), percent(high));
    if low == high { high } else { format!("{}–{high}", low.trim_end_matches(" %")) }
}

/// How often: `once`, `3 times`.
pub(crate) fn how_often(number: u64) -> String {
    if number == 1 { "once".to_owned() } else { format!("{} times", count(number)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_naturally() {
        assert_eq!(times(2.44), "2.4×");
        assert_eq!(times(12.4), "12×");
        assert_eq!(times_between(2.21, 2.58), "2.2–2.6×");
        assert_eq!(times_between(2.41, 2.43), "2.41–2.43×");
        assert_eq!(percent_among([0.43, 0.52, 0.5].into_iter()), "43–52 %");
        assert_eq!(percent_among([0.431, 0.432].into_iter()), "43 %");
        assert_eq!((how_often(1), how_often(1_203)), ("once".to_owned(), "1,203 times".to_owned()));
    }
}
