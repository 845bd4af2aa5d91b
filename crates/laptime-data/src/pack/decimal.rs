//! Decimal numbers, read as fast as a CSV file can be and rounded once to 32 bits.

/// Powers of ten that 64 bits hold exactly; with all digits before them no number is too large for 32 bits.
const POWERS: [f64; 20] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19,
];

/// Their inverses and more, rounded: to multiply takes a third of the time that to divide does. None is so small that
/// 32 bits would hold it less exactly.
const INVERSES: [f64; 23] = [
    1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15,
    1e-16, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21, 1e-22,
];

/// Digits whose value always fits 63 bits, of which to make a float takes one instruction.
const MOST_DIGITS: usize = 18;

/// The bits of a 64-bit number that one of 32 bits does not have, and half of what they can hold.
const DROPPED_BITS: u64 = (1 << 29) - 1;
const HALF: u64 = 1 << 28;

/// The digits, the power of ten and their product are each rounded to 53 bits: together less than 4 units.
const MOST_ERROR: u64 = 8;

/// The number at the start of a text, and the bytes it takes. `None` leaves it to a slower way: no number, or one
/// that cannot be told from its neighbour by 64-bit arithmetic alone.
#[inline(always)]
pub(super) fn leading_number(text: &[u8]) -> Option<(f32, usize)> {
    let negative = text.first() == Some(&b'-');
    let mut at = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let mut digits = 0;
    let whole = take_few_digits(&text[at..], &mut digits);
    at += whole;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        fraction = take_digits(&text[at + 1..], &mut digits);
        at += 1 + fraction;
    }
    if whole + fraction == 0 || whole + fraction > MOST_DIGITS {
        return None;
    }
    let mut power = -(fraction as i64);
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let (exponent, bytes) = exponent(&text[at + 1..])?;
        power += exponent;
        at += 1 + bytes;
    }
    let size = rounded(digits, power)?;
    Some((if negative { -size } else { size }, at))
}

/// Powers of ten by which a number grows when up to eight digits follow.
const GROWTH: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Adds leading digits to a number and says how many there were; more than [`MOST_DIGITS`] give nonsense.
#[inline(always)]
fn take_digits(text: &[u8], number: &mut u64) -> usize {
    let Some([first @ .., _, _, _, _, _, _, _, _]) = text.first_chunk::<16>() else {
        return take_few_digits(text, number);
    };
    let Some(&second) = text[8..].first_chunk::<8>() else { return take_few_digits(text, number) };
    let (high, taken) = up_to_eight(*first);
    // Looked at in any case: whether a number has more than eight digits is hard to predict.
    let (low, more) = up_to_eight(second);
    let (low, more) = if taken == 8 { (low, more) } else { (0, 0) };
    let sixteen = high.wrapping_mul(GROWTH[more]).wrapping_add(low);
    *number = number.wrapping_mul(GROWTH[taken]).wrapping_mul(GROWTH[more]).wrapping_add(sixteen);
    if taken + more < 16 { taken + more } else { 16 + take_few_digits(&text[16..], number) }
}

/// The same one by one, which is faster where there are few.
#[inline(always)]
fn take_few_digits(text: &[u8], number: &mut u64) -> usize {
    let mut taken = 0;
    while let Some(digit) = text.get(taken).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        *number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        taken += 1;
    }
    taken
}

/// The value of the digits that eight bytes begin with, and how many they are; all bytes at once, because a loop over
/// digits takes most of the time of a CSV file and its end is hard to predict.
#[inline(always)]
fn up_to_eight(bytes: [u8; 8]) -> (u64, usize) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let values = u64::from_le_bytes(bytes) ^ (EACH * 0x30);
    // The high bit of a byte that is no digit. A carry reaches only bytes after the first of them.
    let others = (values.wrapping_add(EACH * 0x76) | values) & (EACH * 0x80);
    let digits = (others.trailing_zeros() / 8) as usize;
    // The digits move to the end, zeros before them; in two steps, because none leaves nothing.
    let half = 32 - 4 * digits;
    let aligned = values << half << half;
    // Pairs, then fours, then all eight.
    let pairs = aligned.wrapping_mul(10).wrapping_add(aligned >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff, digits)
}

/// A small power of ten and the bytes it takes.
fn exponent(text: &[u8]) -> Option<(i64, usize)> {
    let sign = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let mut size = 0;
    let digits = take_digits(&text[sign..], &mut size);
    let size = i64::try_from(size).ok().filter(|_| (1..=3).contains(&digits))?;
    Some((if text[0] == b'-' { -size } else { size }, sign + digits))
}

fn rounded(digits: u64, power: i64) -> Option<f32> {
    let scales: &[f64] = if power < 0 { &INVERSES } else { &POWERS };
    let number = digits.cast_signed() as f64 * scales.get(power.unsigned_abs() as usize)?;
    // Near the middle of two 32-bit numbers, which of them is nearer is not known.
    let dropped = number.to_bits() & DROPPED_BITS;
    let certain = dropped.wrapping_sub(HALF - MOST_ERROR) > 2 * MOST_ERROR;
    certain.then_some(number as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fast(text: &str) -> Option<f32> {
        leading_number(text.as_bytes()).map(|(number, bytes)| {
            assert_eq!(bytes, text.len());
            number
        })
    }

    #[test]
    fn the_forms_of_numbers_are_known_and_nothing_else_is() {
        for (text, number) in [
            ("0", 0.0),
            ("-2.5", -2.5),
            ("+3", 3.0),
            ("1e3", 1000.0),
            (".5", 0.5),
            ("6.", 6.0),
            ("1E-2", 0.01),
        ] {
            assert_eq!(fast(text), Some(number), "{text}");
        }
        for text in ["", "-", ".", "e5", "1e", "1e+", "nan", "1234567890123456789", "1e-40", "1e39", "1e9999"]
        {
            assert_eq!(leading_number(text.as_bytes()), None, "{text}");
        }
        assert_eq!(leading_number(b"12,3"), Some((12.0, 2)));
        assert!(fast("-0").unwrap().is_sign_negative());
    }

    #[test]
    fn a_number_in_the_middle_of_two_is_left_to_the_slower_way() {
        // 2^24 + 1 is as far from 2^24 as from 2^24 + 2.
        assert_eq!(fast("16777217"), None);
        assert_eq!(fast("16777217.000000001"), None);
        assert_eq!(fast("16777217.5"), Some(16_777_218.0));
    }

    proptest! {
        #[test]
        fn eight_bytes_at_once_are_as_one_by_one(text in any::<[u8; 8]>(), plain in "[0-9]{0,8}[ -~]{8}") {
            for bytes in [text, *plain.as_bytes().first_chunk().unwrap()] {
                let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let value = bytes[..digits].iter().fold(0, |value, byte| value * 10 + u64::from(byte - b'0'));
                prop_assert_eq!(up_to_eight(bytes), (value, digits));
            }
        }

        #[test]
        fn what_is_read_fast_is_what_the_standard_library_reads(
            text in "[-+]?[0-9]{0,12}(\\.[0-9]{0,12})?([eE][-+]?[0-9]{1,2})?"
        ) {
            if let Some(number) = fast(&text) {
                prop_assert_eq!(number.to_bits(), text.parse::<f32>().unwrap().to_bits());
            }
        }

        #[test]
        fn any_number_that_was_printed_is_read_as_it_was(bits in any::<u64>()) {
            for text in [f64::from_bits(bits).to_string(), f32::from_bits(bits as u32).to_string()] {
                if let Some((number, bytes)) = leading_number(text.as_bytes()) {
                    prop_assert_eq!(bytes, text.len());
                    prop_assert_eq!(number.to_bits(), text.parse::<f32>().unwrap().to_bits());
                }
            }
        }

        #[test]
        fn numbers_near_the_middle_of_two_are_never_wrong(bits in 0x0080_0000_u32..0x7f00_0000, off in -40_i64..40) {
            let middle = (f64::from(f32::from_bits(bits)) + f64::from(f32::from_bits(bits + 1))) / 2.0;
            let near = f64::from_bits(middle.to_bits().wrapping_add_signed(off));
            let text = format!("{near:e}");
            if let Some((number, _)) = leading_number(text.as_bytes()) {
                prop_assert_eq!(number.to_bits(), text.parse::<f32>().unwrap().to_bits());
            }
        }
    }
}
