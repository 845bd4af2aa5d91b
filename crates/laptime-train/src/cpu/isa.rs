//! The instruction sets that kernels are compiled for; the best that the CPU has is chosen at run time.

#![expect(unsafe_code, reason = "vectors are read through pointers, with instructions a CPU may lack")]

use std::fmt;

use super::float::Float;
use super::lanes::Lanes;

/// An instruction set that this CPU has: only those that were detected can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Isa(Level);

/// What code is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// AVX-512: 16 numbers of 32 bits at once.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX2 and FMA: 8 numbers of 32 bits at once.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// What every CPU of this architecture has.
    Plain,
}

impl Isa {
    /// The best that this CPU has.
    pub(super) fn best() -> Self {
        Self::available()[0]
    }

    /// All that this CPU has, best first.
    pub(super) fn available() -> Vec<Self> {
        let mut found = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if avx2 && avx512 {
                found.push(Self(Level::Avx512));
            }
            if avx2 {
                found.push(Self(Level::Avx2));
            }
        }
        found.push(Self(Level::Plain));
        found
    }

    pub(super) fn level(self) -> Level {
        self.0
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.0 {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "AVX2",
            Level::Plain => std::env::consts::ARCH,
        })
    }
}

/// What a kernel may use, as a type, so that one source becomes the code of every instruction set.
///
/// Types that implement it are named by [`vectorised`] alone, and only in code that runs where the CPU has the
/// instructions: what is unsafe about vectors is safe within kernels.
pub(super) trait Instructions: Copy {
    /// A vector of numbers.
    type Vector<F: Float>: Lanes;

    /// Whether there are 32 registers for vectors rather than 16.
    const MANY_REGISTERS: bool;

    /// `factor * other + addend`, in one instruction where there is one.
    fn multiply_add<F: Float>(factor: F, other: F, addend: F) -> F;

    /// A number in all lanes.
    #[inline(always)]
    fn splat<F: Float>(value: F) -> Self::Vector<F> {
        // SAFETY: the CPU has the instructions, as said above; a vector's numbers are of the size of `F`.
        unsafe { Self::Vector::<F>::splat(&raw const value) }
    }

    /// The vector at the beginning of a slice.
    #[inline(always)]
    fn load<F: Float>(from: &[F]) -> Self::Vector<F> {
        assert!(from.len() >= Self::Vector::<F>::COUNT, "a vector is longer than its slice");
        // SAFETY: as above, and the slice is long enough.
        unsafe { Self::Vector::<F>::load(from.as_ptr()) }
    }

    /// Writes a vector to the beginning of a slice.
    #[inline(always)]
    fn store<F: Float>(vector: Self::Vector<F>, to: &mut [F]) {
        assert!(to.len() >= Self::Vector::<F>::COUNT, "a vector is longer than its slice");
        // SAFETY: as above, and the slice is long enough.
        unsafe { vector.store(to.as_mut_ptr()) }
    }

    /// `factor * other + addend`, lane by lane.
    #[inline(always)]
    fn multiply_add_lanes<V: Lanes>(factor: V, other: V, addend: V) -> V {
        // SAFETY: the CPU has the instructions, as said above.
        unsafe { factor.multiply_add(other, addend) }
    }

    /// The sum of all lanes, half by half.
    #[inline(always)]
    fn total<F: Float>(vector: Self::Vector<F>) -> F {
        let mut lanes = [F::ZERO; MOST_LANES];
        Self::store(vector, &mut lanes);
        let mut half = Self::Vector::<F>::COUNT / 2;
        while half > 0 {
            for lane in 0..half {
                lanes[lane] += lanes[lane + half];
            }
            half /= 2;
        }
        lanes[0]
    }
}

/// Lanes of the longest vector.
pub(super) const MOST_LANES: usize = 16;

/// AVX-512.
#[derive(Clone, Copy)]
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx512;

/// AVX2 and FMA.
#[derive(Clone, Copy)]
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx2;

/// What every CPU of the architecture has.
#[derive(Clone, Copy)]
pub(super) struct Plain;

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx512 {
    type Vector<F: Float> = F::Widest;
    const MANY_REGISTERS: bool = true;

    #[inline(always)]
    fn multiply_add<F: Float>(factor: F, other: F, addend: F) -> F {
        factor.fused(other, addend)
    }
}

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx2 {
    type Vector<F: Float> = F::Wide;
    const MANY_REGISTERS: bool = false;

    #[inline(always)]
    fn multiply_add<F: Float>(factor: F, other: F, addend: F) -> F {
        factor.fused(other, addend)
    }
}

impl Instructions for Plain {
    type Vector<F: Float> = F::Plain;
    const MANY_REGISTERS: bool = cfg!(target_arch = "aarch64");

    #[inline(always)]
    fn multiply_add<F: Float>(factor: F, other: F, addend: F) -> F {
        // On x86-64 only later CPUs do both at once, and elsewhere than here the C library would do it.
        if cfg!(target_arch = "aarch64") { factor.fused(other, addend) } else { factor * other + addend }
    }
}

impl Isa {
    /// Numbers in a vector.
    pub(super) fn lanes<F: Float>(self) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => F::Widest::COUNT,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => F::Wide::COUNT,
            Level::Plain => F::Plain::COUNT,
        }
    }
}

/// Compiles a function of numbers `F` for every instruction set `I`; its first argument becomes the [`Isa`].
///
/// All that it calls in a loop must be `#[inline(always)]`, else that part is code for any CPU.
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<$F:ident, $I:ident>(
        $($argument:ident: $type:ty),* $(,)?
    ) $(-> $output:ty)? $body:block) => {
        $(#[$meta])*
        #[expect(unsafe_code, reason = "code for an instruction set may only run where the CPU has it")]
        #[allow(clippy::too_many_arguments, reason = "the instruction set adds one")]
        $vis fn $name<$F: $crate::cpu::float::Float>(
            isa: $crate::cpu::isa::Isa,
            $($argument: $type),*
        ) $(-> $output)? {
            use $crate::cpu::isa::{Instructions, Level, Plain};

            #[inline(always)]
            #[allow(clippy::extra_unused_type_parameters, reason = "not every kernel multiplies and adds")]
            fn any<$F: $crate::cpu::float::Float, $I: Instructions>(
                $($argument: $type),*
            ) $(-> $output)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            fn avx512<$F: $crate::cpu::float::Float>($($argument: $type),*) $(-> $output)? {
                any::<$F, $crate::cpu::isa::Avx512>($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2<$F: $crate::cpu::float::Float>($($argument: $type),*) $(-> $output)? {
                any::<$F, $crate::cpu::isa::Avx2>($($argument),*)
            }

            match isa.level() {
                // SAFETY: an `Isa` is made only where the CPU was found to have it.
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => unsafe { avx512($($argument),*) },
                // SAFETY: an `Isa` is made only where the CPU was found to have it.
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => unsafe { avx2($($argument),*) },
                Level::Plain => any::<$F, Plain>($($argument),*),
            }
        }
    };
}

pub(super) use vectorised;
