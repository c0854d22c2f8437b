//! Parses decimal numbers, with the same results as `str::parse::<f64>` to the last bit.
//!
//! [`parse_all`] takes any number. The functions on `[u8; 8]` are for callers that know the place of a
//! number of the usual form: at most 15 digits, so that the mantissa and the power of ten are exact doubles
//! and one division is correctly rounded. Eight digits are read at once, and no branch depends on their
//! number.

/// The number that is all of `text`, in the grammar of the standard library:
/// `[+-]? (digits [. digits?] | . digits) ([eE] [+-]? digits)?`, or `inf`, `infinity`, `nan` in any case,
/// with a sign or without.
pub fn parse_all(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// `0` in each of eight bytes; a text xor this has a digit's value in the byte of each digit.
const ZEROS: u64 = 0x3030_3030_3030_3030;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte that is no digit; `digits` is the text xor `ZEROS`.
const fn others(digits: u64) -> u64 {
    (((digits & !HIGH_BITS) + 0x7676_7676_7676_7676) | digits) & HIGH_BITS
}

/// The number that eight bytes of digit values spell, the first byte being the lowest.
const fn eight(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff
}

/// The number that the last `length` of eight bytes spell, if they are 1 to 8 digits.
#[inline]
pub(crate) fn integer(text: [u8; 8], length: usize) -> Option<u32> {
    let digits = last_values(u64::from_le_bytes(text) ^ ZEROS, length);
    (length.wrapping_sub(1) < 8 && others(digits) == 0).then(|| eight(digits) as u32)
}

/// The number that the last `length` of eight bytes spell, if they are 1 to 8 bytes, digits and at
/// most one point.
///
/// The bytes before the number become 0; those after the point move onto it, which leaves a 0 at the
/// end. So the power of ten is the length from the point on, or 0 without a point.
/// ```text
/// "3 17:0.25" -> 00000.25 -> 00000250 = 250, a tenth of a thousandth of it: 0.25
/// ```
#[inline]
pub(crate) fn decimal_8(text: [u8; 8], length: usize) -> Option<f64> {
    parts_8(text, length).map(|(mantissa, power)| scaled(mantissa, power))
}

/// As [`decimal_8`], for 9 to 15 bytes of sixteen.
#[inline]
pub(crate) fn decimal_16(text: [u8; 16], length: usize) -> Option<f64> {
    parts_16(text, length).map(|(mantissa, power)| scaled(mantissa, power))
}

/// The number that the last `length` of sixteen bytes spell, if [`decimal_8`] or [`decimal_16`] takes
/// them, over ten to a power.
#[inline]
pub(crate) fn decimal_over(text: [u8; 16], length: usize, power: u32) -> Option<f64> {
    let (mantissa, point) =
        if length > 8 { parts_16(text, length)? } else { parts_8(*text.last_chunk()?, length)? };
    let power = point + power;
    (power <= 15).then(|| scaled(mantissa, power))
}

/// A number as an integer and the power of ten that it is to be divided by.
#[inline]
fn parts_8(text: [u8; 8], length: usize) -> Option<(u64, u32)> {
    let digits = last_values(u64::from_le_bytes(text) ^ ZEROS, length);
    let others = others(digits);
    let whole = (others >> 7).wrapping_sub(1);
    let joined = (digits & whole) | ((digits >> 8) & !whole);
    let at = others.trailing_zeros() & !7;
    let point = (digits >> (at & 63)) as u8 == POINT;
    // Only digits, or one other byte, the point, and a digit.
    let one_other = others & others.wrapping_sub(1) == 0;
    if length.wrapping_sub(1) > 7 || !one_other || point == (others == 0) || (point && length == 1)
    {
        return None;
    }
    Some((eight(joined), 8 - at / 8))
}

#[inline]
fn parts_16(text: [u8; 16], length: usize) -> Option<(u64, u32)> {
    let [low, high] = {
        let text = u128::from_le_bytes(text);
        [text as u64 ^ ZEROS, (text >> 64) as u64 ^ ZEROS]
    };
    if !(9..=15).contains(&length) {
        return None;
    }
    let low = last_values(low, length - 8);
    let both = |low: u64, high: u64| u128::from(low) | (u128::from(high) << 64);
    let digits = both(low, high);
    let others = both(others(low), others(high));
    let whole = (others >> 7).wrapping_sub(1);
    let joined = (digits & whole) | ((digits >> 8) & !whole);
    let at = others.trailing_zeros() & !7;
    let point = (digits >> (at & 127)) as u8 == POINT;
    if others & others.wrapping_sub(1) != 0 || point == (others == 0) {
        return None;
    }
    let mantissa =
        eight(joined as u64).wrapping_mul(100_000_000).wrapping_add(eight((joined >> 64) as u64));
    Some((mantissa, 16 - at / 8))
}

/// `mantissa / 10^power`, below 10^15 and at most 15, so that both are exact.
#[inline]
fn scaled(mantissa: u64, power: u32) -> f64 {
    const POWERS: [f64; 16] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    mantissa.cast_signed() as f64 / POWERS[(power & 15) as usize]
}

/// A point, xor `0`.
const POINT: u8 = b'.' ^ b'0';

/// Makes all but the last `length` of eight bytes 0; 1 to 8.
#[inline]
fn last_values(digits: u64, length: usize) -> u64 {
    digits & (u64::MAX << (length.wrapping_mul(8).wrapping_neg() & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn standard(text: &str) -> Option<u64> {
        text.parse::<f64>().ok().map(same_nan)
    }

    fn same_nan(value: f64) -> u64 {
        if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
    }

    #[test]
    fn odd_forms_are_as_in_the_standard_library() {
        let refused = [
            "", "+", "-", ".", "+.", "e5", ".e5", "1.2.3", "0x10", "1_000", "1e", "1e+", "1 ", " 1",
        ];
        for text in refused {
            assert_eq!(parse_all(text.as_bytes()), None, "{text}");
            assert!(text.parse::<f64>().is_err());
        }
        let taken = [
            ".5",
            "5.",
            "-0",
            "+7",
            "1e5",
            "1E-5",
            "inf",
            "-Infinity",
            "NaN",
            "+nan",
            "1e400",
            "1e-400",
            "9007199254740993",
            "0.1",
            "123456789012345678901234567890",
            "1e99999999999999999999",
            "0.000000000000000000000000000000000001",
            "8.98846567431158e307",
            "4.9e-324",
            "1e22",
            "1e23",
        ];
        for text in taken {
            assert_eq!(parse_all(text.as_bytes()).map(same_nan), standard(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn decimals_over_powers_are_as_in_the_standard_library(
            before in "[ -~]{16}", text in "[0-9]{0,8}\\.?[0-9]{0,8}", power in 0u32..12
        ) {
            let bytes = [before.as_bytes(), text.as_bytes()].concat();
            let found = decimal_over(*bytes.last_chunk().unwrap(), text.len(), power);
            if let Some(found) = found {
                prop_assert_eq!(Some(found.to_bits()), standard(&format!("{text}e-{power}")));
            } else {
                let point = text.find('.').map_or(0, |at| text.len() - at);
                let usual = (1..16).contains(&text.len()) && text != "." && point as u32 + power <= 15;
                prop_assert!(!usual, "{}", text);
            }
        }

        #[test]
        fn doubles_read_back(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            for text in [format!("{value}"), format!("{value:e}"), format!("{value:.4}")] {
                prop_assert_eq!(parse_all(text.as_bytes()).map(same_nan), standard(&text));
            }
        }

        #[test]
        fn decimals_are_as_in_the_standard_library(
            text in "[+-]?[0-9]{0,24}(\\.[0-9]{0,24})?([eE][+-]?[0-9]{0,3})?"
        ) {
            prop_assert_eq!(parse_all(text.as_bytes()).map(same_nan), standard(&text));
        }

        #[test]
        fn whatever_is_no_number_is_none(text in "[-+.0-9eEinfaNx_ ]{0,12}") {
            prop_assert_eq!(parse_all(text.as_bytes()).map(same_nan), standard(&text));
        }
    }
}
