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

/// A length of time in the unit that keeps it readable.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 3_600.0 => format!("{:.1} h", s / 3_600.0),
        s if s >= 60.0 => format!("{:.1} min", s / 60.0),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.2} µs", s * 1e6),
    }
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
        assert_eq!(seconds(0.0123), "12.30 ms");
        assert_eq!(seconds(90.0), "1.5 min");
    }
}
