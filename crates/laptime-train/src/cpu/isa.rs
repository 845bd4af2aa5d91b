//! The instruction sets that kernels are compiled for; the best that the CPU has is chosen at run time.

use std::fmt;

use super::float::Float;

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
pub(super) trait Instructions: Copy {
    /// `factor * other + addend`, in one instruction where there is one.
    fn multiply_add<F: Float>(factor: F, other: F, addend: F) -> F;
}

/// The CPU multiplies and adds in one instruction.
#[derive(Clone, Copy)]
pub(super) struct Fused;

/// The CPU multiplies, then adds.
#[derive(Clone, Copy)]
pub(super) struct Unfused;

impl Instructions for Fused {
    #[inline(always)]
    fn multiply_add<F: Float>(factor: F, other: F, addend: F) -> F {
        factor.fused(other, addend)
    }
}

impl Instructions for Unfused {
    #[inline(always)]
    fn multiply_add<F: Float>(factor: F, other: F, addend: F) -> F {
        factor * other + addend
    }
}

/// What [`vectorised`] compiles for an architecture whose instructions are all known when it is built.
#[cfg(target_arch = "aarch64")]
pub(super) type Native = Fused;

/// What [`vectorised`] compiles for an architecture whose instructions are all known when it is built.
#[cfg(not(target_arch = "aarch64"))]
pub(super) type Native = Unfused;

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
            use $crate::cpu::isa::{Instructions, Level, Native};

            #[inline(always)]
            #[allow(clippy::extra_unused_type_parameters, reason = "not every kernel multiplies and adds")]
            fn any<$F: $crate::cpu::float::Float, $I: Instructions>(
                $($argument: $type),*
            ) $(-> $output)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            fn avx512<$F: $crate::cpu::float::Float>($($argument: $type),*) $(-> $output)? {
                any::<$F, $crate::cpu::isa::Fused>($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2<$F: $crate::cpu::float::Float>($($argument: $type),*) $(-> $output)? {
                any::<$F, $crate::cpu::isa::Fused>($($argument),*)
            }

            match isa.level() {
                // SAFETY: an `Isa` is made only where the CPU was found to have it.
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => unsafe { avx512($($argument),*) },
                // SAFETY: an `Isa` is made only where the CPU was found to have it.
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => unsafe { avx2($($argument),*) },
                Level::Plain => any::<$F, Native>($($argument),*),
            }
        }
    };
}

pub(super) use vectorised;
