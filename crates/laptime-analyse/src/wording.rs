//! Wording: how numbers stand in the sentences of findings.

/// A share as whole percent, with one decimal below ten.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || percent >= 9.95 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// A ratio such as `2.4×`.
pub(crate) fn times(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1}×") } else { format!("{ratio:.0}×") }
}

/// Two ratios as an interval such as `2.2–2.6×`, with as many digits as tell them apart.
pub(crate) fn times_between(low: f64, high: f64) -> String {
    let ends = |digits: usize| (format!("{low:.digits$}"), format!("{high:.digits$}"));
    let (low, high) = (1..4).map(ends).find(|(low, high)| low != high).unwrap_or_else(|| ends(3));
    format!("{low}–{high}×")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_naturally() {
        assert_eq!(percent(0.612), "61 %");
        assert_eq!(percent(0.021), "2.1 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(times(2.44), "2.4×");
        assert_eq!(times(12.4), "12×");
        assert_eq!(times_between(2.21, 2.58), "2.2–2.6×");
        assert_eq!(times_between(2.41, 2.43), "2.41–2.43×");
    }
}
