//! Decimal numbers, exact: a tenth ten times is one.

use std::cmp::Ordering;
use std::fmt;

/// Digits behind the point that are kept; ranges with more are refused.
const MOST_DECIMALS: u32 = 18;

/// `digits` × 10^-`decimals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: i128,
    decimals: u32,
}

impl Decimal {
    /// Reads `16`, `0.1`, `-3`, `1e5`, `1e-4`, `100_000`; `None` of anything else and of too many digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().replace('_', "");
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
            None => (text.as_str(), 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let unsigned = whole.trim_start_matches(['-', '+']);
        let signs = whole.len() - unsigned.len();
        let digits_only = format!("{unsigned}{fraction}");
        if signs > 1 || digits_only.is_empty() || !digits_only.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let magnitude: i128 = digits_only.parse().ok()?;
        let digits = if whole.starts_with('-') { -magnitude } else { magnitude };
        let decimals = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        Self::normal(digits, decimals)
    }

    fn normal(digits: i128, decimals: i32) -> Option<Self> {
        if let Ok(decimals) = u32::try_from(decimals) {
            return (decimals <= MOST_DECIMALS).then_some(Self { digits, decimals });
        }
        let scale = 10_i128.checked_pow(decimals.unsigned_abs())?;
        Some(Self { digits: digits.checked_mul(scale)?, decimals: 0 })
    }

    /// The sum; `None` when it has too many digits.
    pub(super) fn plus(self, other: Self) -> Option<Self> {
        let decimals = self.decimals.max(other.decimals);
        let digits = self.scaled(decimals)?.checked_add(other.scaled(decimals)?)?;
        Some(Self { digits, decimals })
    }

    /// The product; `None` when it has too many digits.
    pub(super) fn times(self, other: Self) -> Option<Self> {
        let mut product =
            Self { digits: self.digits.checked_mul(other.digits)?, decimals: self.decimals + other.decimals };
        while product.decimals > 0 && product.digits % 10 == 0 {
            product = Self { digits: product.digits / 10, decimals: product.decimals - 1 };
        }
        (product.decimals <= MOST_DECIMALS).then_some(product)
    }

    fn scaled(self, decimals: u32) -> Option<i128> {
        self.digits.checked_mul(10_i128.checked_pow(decimals - self.decimals)?)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let decimals = self.decimals.max(other.decimals);
        match (self.scaled(decimals), other.scaled(decimals)) {
            (Some(own), Some(others)) => own.partial_cmp(&others),
            // What no longer fits is the larger by far.
            (own, others) => Some(own.is_none().cmp(&others.is_none())),
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.digits < 0 { "-" } else { "" };
        let places = self.decimals as usize;
        let digits = format!("{:0>width$}", self.digits.unsigned_abs(), width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        let point = if fraction.is_empty() { "" } else { "." };
        write!(out, "{sign}{whole}{point}{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        Decimal::parse(text).map(|decimal| decimal.to_string())
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let read = [
            ("16", "16"),
            ("0.10", "0.10"),
            (".5", "0.5"),
            ("-3", "-3"),
            ("-0.05", "-0.05"),
            ("1e5", "100000"),
            ("1.5e1", "15"),
            ("2.50e1", "25.0"),
            ("1e-4", "0.0001"),
            ("100_000", "100000"),
        ];
        for (text, expected) in read {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "-", ".", "1.2.3", "x", "1e", "--1", "1e999", "1e-99", "0x10", "inf"] {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    #[test]
    fn ten_tenths_are_one() {
        let tenth = Decimal::parse("0.1").unwrap();
        let sum = (0..9).try_fold(tenth, |sum, _| sum.plus(tenth)).unwrap();
        assert_eq!(sum.to_string(), "1.0");
        assert!(sum <= Decimal::parse("1").unwrap());
    }

    #[test]
    fn numbers_with_too_many_digits_are_refused_and_never_wrap() {
        let large = Decimal::parse("1e37").unwrap();
        assert_eq!(large.times(large), None);
        assert!(large > Decimal::parse("0.000000000000000001").unwrap());
    }
}
