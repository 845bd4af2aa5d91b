//! An amount of bytes as people write it.

/// Reads `64MB`, `1GiB`, `500k` or `1e8`.
pub(super) fn parse_bytes(text: &str) -> Result<u64, String> {
    let expected = || "expected an amount of bytes such as 64MB, 1GiB or 1e8".to_owned();
    let digits = text.len()
        - text.trim_start_matches(|letter: char| letter.is_ascii_digit() || "._".contains(letter)).len();
    let (number, unit) = text.split_at(digits);
    let (number, unit) = if text.parse::<f64>().is_ok() { (text, "") } else { (number, unit) };
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        _ => return Err(expected()),
    };
    let number: f64 = number.replace('_', "").parse().map_err(|_| expected())?;
    let bytes = number * factor;
    // Beyond, a number with a point is no longer exact.
    if (1.0..9e15).contains(&bytes) { Ok(bytes as u64) } else { Err(expected()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units_of_thousands_or_of_two_to_the_ten() {
        let pairs = [
            ("64MB", 64_000_000),
            ("1GiB", 1 << 30),
            ("500k", 500_000),
            ("1e8", 100_000_000),
            ("7", 7),
            ("1.5 KiB", 1536),
        ];
        for (text, bytes) in pairs {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "MB", "-1", "0", "1XB", "inf", "nan", "1e99"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
