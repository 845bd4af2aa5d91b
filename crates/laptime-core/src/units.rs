//! Numbers as people read them: three significant digits, the unit that fits, "–" for unknown values.

/// What stands for an unknown value.
pub const UNKNOWN: &str = "–";

/// The value as `show` writes it, or "–".
#[must_use]
pub fn or_unknown<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), show)
}

/// A length of time: `812 ns`, `41.2 us`, `3.42 ms`, `12.3 s`, `4m12s`, `2h05m`, `3d04h`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return UNKNOWN.to_owned();
    }
    let sign = if seconds < 0.0 { "-" } else { "" };
    format!("{sign}{}", positive_duration(seconds.abs()))
}

fn positive_duration(seconds: f64) -> String {
    if seconds == 0.0 {
        return "0 s".to_owned();
    }
    // The bound of the last unit is where three digits would round up to a full minute.
    for (unit, size, bound) in
        [("ns", 1e-9, 999.5), ("us", 1e-6, 999.5), ("ms", 1e-3, 999.5), ("s", 1.0, 59.95)]
    {
        if seconds / size < bound {
            return format!("{} {unit}", three_digits(seconds / size));
        }
    }
    clock_duration(seconds)
}

fn clock_duration(seconds: f64) -> String {
    let (whole, minutes, hours) =
        (seconds.round() as u64, (seconds / 60.0).round() as u64, (seconds / 3600.0).round() as u64);
    if whole < 3600 {
        format!("{}m{:02}s", whole / 60, whole % 60)
    } else if minutes < 24 * 60 {
        format!("{}h{:02}m", minutes / 60, minutes % 60)
    } else {
        format!("{}d{:02}h", count(hours / 24), hours % 24)
    }
}

/// A length of time still to come: whole seconds are all a person waits by.
#[must_use]
pub fn waiting(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => UNKNOWN.to_owned(),
        s if s < 1.0 => "<1 s".to_owned(),
        s if s < 59.5 => format!("{} s", s.round()),
        s => clock_duration(s),
    }
}

/// Two ends of an interval of time, the unit said once where both have the same: `12.2–12.6 us`.
#[must_use]
pub fn interval(low: f64, high: f64) -> String {
    joined_ends(&duration(low), &duration(high))
}

/// As [`interval`], for a time still to come.
#[must_use]
pub fn waiting_interval(low: f64, high: f64) -> String {
    joined_ends(&waiting(low), &waiting(high))
}

fn joined_ends(low: &str, high: &str) -> String {
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, low_unit)), Some((_, high_unit))) if low_unit == high_unit => {
            format!("{number}–{high}")
        }
        _ => format!("{low}–{high}"),
    }
}

/// Bytes: `512 B`, `1.5 KiB`, `7.8 MiB`, `128 GiB`.
#[must_use]
pub fn bytes(amount: u64) -> String {
    if amount < 1024 {
        return format!("{amount} B");
    }
    let mut scaled = amount as f64 / 1024.0;
    let mut units = ["KiB", "MiB", "GiB", "TiB", "PiB"].into_iter();
    let mut unit = units.next_back().unwrap_or("PiB");
    for smaller in units {
        if scaled < 1023.5 {
            unit = smaller;
            break;
        }
        scaled /= 1024.0;
    }
    let decimals = usize::from(scaled < 99.95);
    format!("{scaled:.decimals$} {unit}")
}

/// A whole number with thousands separators: `12,345`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A count and what is counted: `1 epoch`, `3 epochs`.
#[must_use]
pub fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// How many a second, without the unit: `12,345`, `12.3`.
#[must_use]
pub fn per_second(rate: f64) -> String {
    match rate {
        r if !r.is_finite() || r < 0.0 => UNKNOWN.to_owned(),
        r if r >= 1e9 => number(r),
        r if r >= 99.95 => count(r.round() as u64),
        r => three_digits(r),
    }
}

/// A rate with its unit: `12,345 samples/s`.
#[must_use]
pub fn rate(samples_per_s: f64) -> String {
    format!("{} samples/s", per_second(samples_per_s))
}

/// Floating-point operations: `640 FLOP`, `2.23 MFLOP`, `1.50 GFLOP`.
#[must_use]
pub fn flops(amount: f64) -> String {
    let prefixes = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match prefixes.into_iter().find(|(size, _)| amount >= size * 0.9995) {
        _ if !amount.is_finite() => UNKNOWN.to_owned(),
        Some((size, prefix)) => format!("{} {prefix}FLOP", three_digits(amount / size)),
        None => format!("{amount:.0} FLOP"),
    }
}

/// A share as a percentage in a sentence: `61 %`, `4.2 %`, `0.03 %`, `<0.01 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value.abs() {
        v if !v.is_finite() => UNKNOWN.to_owned(),
        0.0 => "0 %".to_owned(),
        v if v < 0.005 => "<0.01 %".to_owned(),
        v if v < 0.995 => format!("{value:.2} %"),
        v if v < 9.95 => format!("{value:.1} %"),
        _ => format!("{value:.0} %"),
    }
}

/// A number with so many decimals; what rounds to nothing has no sign.
#[must_use]
pub fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(size) if size.bytes().all(|byte| matches!(byte, b'0' | b'.')) => size.to_owned(),
        _ => text,
    }
}

/// A share in a column of shares, where all have one decimal so that the points align: ` 4.2 %`, `<0.1 %`.
#[must_use]
pub fn percent_in_column(share: f64) -> String {
    let value = share * 100.0;
    match value.abs() {
        v if !v.is_finite() => UNKNOWN.to_owned(),
        v if v > 0.0 && v < 0.05 => "<0.1 %".to_owned(),
        _ => format!("{} %", fixed(value, 1)),
    }
}

/// A plain number such as a loss: `0.0123`, `1.23`, `1,234`, `1.23e-7`.
#[must_use]
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(0.000_999_5..999_999.5).contains(&size) {
        return format!("{value:.2e}");
    }
    let sign = if value < 0.0 { "-" } else { "" };
    if size >= 999.5 {
        return format!("{sign}{}", count(size.round() as u64));
    }
    format!("{sign}{}", three_digits(size))
}

/// Three significant digits of a number between 0.001 and 1000; smaller ones keep five decimals.
#[must_use]
pub fn three_digits(value: f64) -> String {
    let decimals = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 || v == 0.0 => 2,
        v if v >= 0.099_95 => 3,
        v if v >= 0.009_995 => 4,
        _ => 5,
    };
    fixed(value, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn operations_keep_three_digits_with_a_prefix() {
        let shown = [6.0, 999.0, 999.9, 4_224.0, 2_227_200.0, 1.5e9, 2e12, 3e15].map(flops);
        let expected = [
            "6 FLOP",
            "999 FLOP",
            "1.00 kFLOP",
            "4.22 kFLOP",
            "2.23 MFLOP",
            "1.50 GFLOP",
            "2.00 TFLOP",
            "3.00 PFLOP",
        ];
        assert_eq!(shown, expected);
        assert_eq!(flops(f64::NAN), UNKNOWN);
    }

    #[test]
    fn durations_take_the_unit_that_fits() {
        let shown = [
            (812e-9, "812 ns"),
            (19.2e-9, "19.2 ns"),
            (41.2e-6, "41.2 us"),
            (3.42e-3, "3.42 ms"),
            (12.3, "12.3 s"),
            (252.0, "4m12s"),
            (7_500.0, "2h05m"),
            (273_600.0, "3d04h"),
            (0.0, "0 s"),
            (-0.5, "-500 ms"),
            (f64::NAN, "–"),
        ];
        for (seconds, text) in shown {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn durations_roll_over_to_the_next_unit_instead_of_showing_a_thousand() {
        assert_eq!(duration(0.999_6), "1.00 s");
        assert_eq!(duration(999.6e-9), "1.00 us");
        assert_eq!(duration(59.96), "1m00s");
        assert_eq!(duration(3_599.7), "1h00m");
        assert_eq!(duration(86_399.0), "1d00h");
    }

    #[test]
    fn bytes_and_counts_and_rates() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(8_178_893), "7.8 MiB");
        assert_eq!(bytes(1024 * 1024 - 1), "1.0 MiB");
        assert_eq!(bytes(u64::MAX), "16384 PiB");
        assert_eq!(count(12_345), "12,345");
        assert_eq!(count(999), "999");
        assert_eq!(counted(1, "epoch"), "1 epoch");
        assert_eq!(rate(12_345.2), "12,345 samples/s");
        assert_eq!(rate(12.34), "12.3 samples/s");
    }

    #[test]
    fn shares_keep_two_digits_and_never_claim_zero_for_something() {
        let shown =
            [(0.614, "61 %"), (0.042, "4.2 %"), (0.0003, "0.03 %"), (0.000_01, "<0.01 %"), (0.0, "0 %")];
        for (share, text) in shown {
            assert_eq!(percent(share), text);
        }
        assert_eq!(percent_in_column(0.000_1), "<0.1 %");
        assert_eq!(percent_in_column(0.614), "61.4 %");
    }

    #[test]
    fn nothing_is_never_below_zero() {
        assert_eq!((percent(-0.0), percent_in_column(-0.0)), ("0 %".to_owned(), "0.0 %".to_owned()));
        assert_eq!(
            (fixed(-0.0, 0), fixed(-0.004, 2), fixed(-0.4, 1)),
            ("0".into(), "0.00".into(), "-0.4".into())
        );
        assert_eq!(
            (three_digits(-0.0), number(-0.0), duration(-0.0)),
            ("0.00".into(), "0".into(), "0 s".into())
        );
    }

    #[test]
    fn losses_keep_three_digits_from_tiny_to_huge() {
        let shown = [
            (0.0123, "0.0123"),
            (0.001_234, "0.00123"),
            (1.234, "1.23"),
            (1234.0, "1,234"),
            (1.23e-7, "1.23e-7"),
            (4.5e9, "4.50e9"),
            (f64::INFINITY, "–"),
        ];
        for (value, text) in shown {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn an_interval_says_a_shared_unit_once() {
        assert_eq!(interval(12.2e-6, 12.6e-6), "12.2–12.6 us");
        assert_eq!(interval(900e-6, 1.1e-3), "900 us–1.10 ms");
        assert_eq!(waiting_interval(11.2, 13.9), "11–14 s");
        assert_eq!(waiting_interval(50.0, 75.0), "50 s–1m15s");
    }

    proptest! {
        #[test]
        fn no_duration_shows_a_thousand_or_not_a_number(exponent in -9.0..6.0f64, digits in 1.0..10.0f64) {
            let shown = duration(digits * 10f64.powf(exponent));
            prop_assert!(!shown.starts_with("1000") && !shown.contains("NaN"), "{}", shown);
            prop_assert!(shown.chars().count() <= 9, "{}", shown);
        }
    }
}
