//! The vector registers that the matrix product computes in.
//!
//! The compiler vectorises simple loops well, but a tile of sums that must stay in registers it spills or turns
//! by the wrong index, so the product names its vectors.

#![expect(
    unsafe_code,
    reason = "vectors are read and written through pointers, with instructions a CPU may lack"
)]

/// A vector of numbers. Which type they have is decided by the vector; pointers are to numbers of its size.
pub(super) trait Lanes: Copy {
    /// Numbers in the vector.
    const COUNT: usize;

    /// One number in all lanes.
    ///
    /// # Safety
    /// As of all that follow: the CPU has the vector's instructions, and as many numbers lie behind a pointer.
    unsafe fn splat<N>(from: *const N) -> Self;

    unsafe fn load<N>(from: *const N) -> Self;

    unsafe fn store<N>(self, to: *mut N);

    unsafe fn add(self, other: Self) -> Self;

    /// `self * factor + addend`.
    unsafe fn multiply_add(self, factor: Self, addend: Self) -> Self;
}

/// The vectors that numbers of a type are computed in, by what the CPU has.
pub(super) trait Vectors {
    /// With AVX-512.
    type Widest: Lanes;
    /// With AVX2.
    type Wide: Lanes;
    /// With what every CPU has.
    type Plain: Lanes;
}

/// A vector without instructions of its own: the compiler finds those that every CPU has.
macro_rules! array {
    ($number:ty, $count:literal) => {
        impl Lanes for [$number; $count] {
            const COUNT: usize = $count;

            #[inline(always)]
            unsafe fn splat<N>(from: *const N) -> Self {
                // SAFETY: the caller gives a number of this size.
                [unsafe { from.cast::<$number>().read() }; $count]
            }

            #[inline(always)]
            unsafe fn load<N>(from: *const N) -> Self {
                // SAFETY: the caller gives that many numbers of this size.
                unsafe { from.cast::<Self>().read() }
            }

            #[inline(always)]
            unsafe fn store<N>(self, to: *mut N) {
                // SAFETY: the caller has room for that many numbers of this size.
                unsafe { to.cast::<Self>().write(self) }
            }

            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                std::array::from_fn(|at| self[at] + other[at])
            }

            #[inline(always)]
            unsafe fn multiply_add(self, factor: Self, addend: Self) -> Self {
                std::array::from_fn(|at| {
                    if cfg!(target_arch = "aarch64") {
                        self[at].mul_add(factor[at], addend[at])
                    } else {
                        self[at] * factor[at] + addend[at]
                    }
                })
            }
        }
    };
}

array!(f32, 4);
array!(f64, 2);

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2F32, Avx2F64, Avx512F32, Avx512F64};

#[cfg(not(target_arch = "x86_64"))]
pub(super) use elsewhere::{Avx2F32, Avx2F64, Avx512F32, Avx512F64};

#[cfg(not(target_arch = "x86_64"))]
mod elsewhere {
    pub(in super::super) type Avx512F32 = [f32; 4];
    pub(in super::super) type Avx512F64 = [f64; 2];
    pub(in super::super) type Avx2F32 = [f32; 4];
    pub(in super::super) type Avx2F64 = [f64; 2];
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Lanes;

    pub(in super::super) type Avx512F32 = __m512;
    pub(in super::super) type Avx512F64 = __m512d;
    pub(in super::super) type Avx2F32 = __m256;
    pub(in super::super) type Avx2F64 = __m256d;

    macro_rules! register {
        ($vector:ty, $number:ty, $count:literal, $splat:ident, $load:ident, $store:ident, $add:ident,
         $multiply_add:ident) => {
            // SAFETY of all: the caller answers for the CPU and the pointers.
            #[allow(clippy::undocumented_unsafe_blocks, reason = "said above, for all of them")]
            impl Lanes for $vector {
                const COUNT: usize = $count;

                #[inline(always)]
                unsafe fn splat<N>(from: *const N) -> Self {
                    unsafe { $splat(from.cast::<$number>().read()) }
                }

                #[inline(always)]
                unsafe fn load<N>(from: *const N) -> Self {
                    unsafe { $load(from.cast()) }
                }

                #[inline(always)]
                unsafe fn store<N>(self, to: *mut N) {
                    unsafe { $store(to.cast(), self) }
                }

                #[inline(always)]
                unsafe fn add(self, other: Self) -> Self {
                    unsafe { $add(self, other) }
                }

                #[inline(always)]
                unsafe fn multiply_add(self, factor: Self, addend: Self) -> Self {
                    unsafe { $multiply_add(self, factor, addend) }
                }
            }
        };
    }

    register!(
        __m512,
        f32,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_fmadd_ps
    );
    register!(
        __m512d,
        f64,
        8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_add_pd,
        _mm512_fmadd_pd
    );
    register!(
        __m256,
        f32,
        8,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_add_ps,
        _mm256_fmadd_ps
    );
    register!(
        __m256d,
        f64,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_add_pd,
        _mm256_fmadd_pd
    );
}
