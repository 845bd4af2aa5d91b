//! The numbers that are computed with.

use std::convert::identity;
use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::lanes::{Avx2F32, Avx2F64, Avx512F32, Avx512F64, Vectors};
use crate::Dtype;

/// A number that a training computes with.
pub(super) trait Float:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + Sum
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Vectors
    + 'static
{
    /// What a user calls it.
    const DTYPE: Dtype;
    /// Its bytes in a checkpoint.
    const BYTES: usize;
    /// Nothing.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Less than all others.
    const LEAST: Self;
    /// Whether [`stored`](Self::stored) changes numbers.
    const ROUNDED_IN_STORE: bool;

    /// How far from zero an exponential of it is computed.
    const EXP_RANGE: Self;
    /// Terms of the exponential's series that change its last digit.
    const EXP_TERMS: usize;
    /// So large that adding it rounds to a whole number, which lies in the lowest bits of the sum.
    const SHIFT: Self;

    /// Two to the power of a whole number to which [`SHIFT`](Self::SHIFT) was added.
    fn power_of_two(shifted: Self) -> Self;

    /// The nearest number.
    fn from_f64(value: f64) -> Self;

    /// The nearest number.
    fn from_f32(value: f32) -> Self;

    /// The number, exactly.
    fn to_f64(self) -> f64;

    /// The number as it is kept between the layers of a pass.
    fn stored(self) -> Self;

    /// `self * factor + addend`, rounded once. Slow where the CPU has no instruction for it, so kernels call
    /// [`Instructions::multiply_add`](super::isa::Instructions::multiply_add).
    fn fused(self, factor: Self, addend: Self) -> Self;

    /// The square root.
    fn sqrt(self) -> Self;

    /// The natural logarithm.
    fn ln(self) -> Self;

    /// Without its sign.
    fn abs(self) -> Self;

    /// The larger of both; `self` where `other` is no number.
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        if other > self { other } else { self }
    }

    /// Its bytes in a checkpoint, little end first.
    fn write(self, bytes: &mut Vec<u8>);

    /// The number that these bytes of a checkpoint are; there are [`BYTES`](Self::BYTES) of them.
    fn read(bytes: &[u8]) -> Self;
}

/// A number of 32 bits that is rounded to the 16 bits of bfloat wherever a pass keeps it; sums, weights and the
/// optimizer's state have 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
#[repr(transparent)]
pub(super) struct Bf16(f32);

macro_rules! float {
    ($type:ty, $inner:ty, $dtype:ident, $wrap:expr, $unwrap:expr, $stored:expr, $rounded:literal,
     $exp_range:literal, $exp_terms:literal) => {
        impl Float for $type {
            const DTYPE: Dtype = Dtype::$dtype;
            const BYTES: usize = size_of::<$inner>();
            const ZERO: Self = $wrap(0.0);
            const ONE: Self = $wrap(1.0);
            const LEAST: Self = $wrap(<$inner>::NEG_INFINITY);
            const ROUNDED_IN_STORE: bool = $rounded;

            const EXP_RANGE: Self = $wrap($exp_range);
            const EXP_TERMS: usize = $exp_terms;
            const SHIFT: Self = $wrap(1.5 * (1u64 << (<$inner>::MANTISSA_DIGITS - 1)) as $inner);

            #[inline(always)]
            fn power_of_two(shifted: Self) -> Self {
                let exponent = $unwrap(shifted).to_bits() << (<$inner>::MANTISSA_DIGITS - 1);
                $wrap(<$inner>::from_bits(exponent.wrapping_add((1.0 as $inner).to_bits())))
            }

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                $wrap(value as $inner)
            }

            #[inline(always)]
            fn from_f32(value: f32) -> Self {
                $wrap(<$inner>::from(value))
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from($unwrap(self))
            }

            #[inline(always)]
            fn stored(self) -> Self {
                $stored(self)
            }

            #[inline(always)]
            fn fused(self, factor: Self, addend: Self) -> Self {
                $wrap($unwrap(self).mul_add($unwrap(factor), $unwrap(addend)))
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                $wrap($unwrap(self).sqrt())
            }

            #[inline(always)]
            fn ln(self) -> Self {
                $wrap($unwrap(self).ln())
            }

            #[inline(always)]
            fn abs(self) -> Self {
                $wrap($unwrap(self).abs())
            }

            fn write(self, bytes: &mut Vec<u8>) {
                bytes.extend($unwrap(self).to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$inner>()];
                own.copy_from_slice(bytes);
                $wrap(<$inner>::from_le_bytes(own))
            }
        }
    };
}

float!(f32, f32, F32, identity, identity, identity, false, 87.0, 7);
float!(f64, f64, F64, identity, identity, identity, false, 708.0, 13);
float!(Bf16, f32, Bf16, Bf16, Bf16::exact, Bf16::rounded, true, 87.0, 7);

macro_rules! vectors {
    ($type:ty, $widest:ty, $wide:ty, $plain:ty) => {
        impl Vectors for $type {
            type Widest = $widest;
            type Wide = $wide;
            type Plain = $plain;
        }
    };
}

vectors!(f32, Avx512F32, Avx2F32, [f32; 4]);
vectors!(f64, Avx512F64, Avx2F64, [f64; 2]);
vectors!(Bf16, Avx512F32, Avx2F32, [f32; 4]);

impl Bf16 {
    /// All 32 bits.
    #[inline(always)]
    fn exact(self) -> f32 {
        self.0
    }

    /// The nearest number of 16 bits, of two equally near ones the even one.
    #[inline(always)]
    fn rounded(self) -> Self {
        let bits = self.0.to_bits();
        let up = 0x7fff + ((bits >> 16) & 1);
        let nearest = f32::from_bits(bits.wrapping_add(up) & 0xffff_0000);
        // What is no number stays none: its bits could overflow into those of another.
        if self.0.is_nan() { self } else { Self(nearest) }
    }
}

macro_rules! operators {
    ($($trait:ident, $method:ident, $assign:ident, $assigned:ident, $sign:tt;)*) => {$(
        impl $trait for Bf16 {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(self.0 $sign other.0)
            }
        }

        impl $assign for Bf16 {
            #[inline(always)]
            fn $assigned(&mut self, other: Self) {
                *self = *self $sign other;
            }
        }
    )*};
}

operators! {
    Add, add, AddAssign, add_assign, +;
    Sub, sub, SubAssign, sub_assign, -;
    Mul, mul, MulAssign, mul_assign, *;
    Div, div, DivAssign, div_assign, /;
}

impl Neg for Bf16 {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Sum for Bf16 {
    fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
        Self(values.map(|value| value.0).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_numbers_keep_eight_bits_and_round_to_the_nearest_even() {
        let stored = |value: f32| Bf16(value).stored().0;
        assert_eq!(stored(1.0), 1.0);
        // Between 1 and 1 + 2^-7, and between that and 1 + 2^-6.
        assert_eq!(stored(1.0 + 2f32.powi(-8)), 1.0);
        assert_eq!(stored(1.0 + 3.0 * 2f32.powi(-8)), 1.0 + 2f32.powi(-6));
        assert_eq!(stored(-1.003), -1.0);
        assert_eq!(stored(f32::MAX), f32::INFINITY);
        assert_eq!(stored(f32::INFINITY), f32::INFINITY);
        assert!(stored(f32::NAN).is_nan());
    }
}
