//! The precision of the numbers that are computed with.

use std::fmt;
use std::str::FromStr;

use crate::unknown_name::UnknownName;

/// The type of the numbers a training computes with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// 32 bits, everywhere.
    #[default]
    F32,
    /// 64 bits, everywhere.
    F64,
    /// 16 bits of bfloat forward and backward; weights, loss and optimizer stay at 32 bits.
    Bf16,
}

impl Dtype {
    /// Every type, in the order they are listed to a user.
    pub const ALL: [Self; 3] = [Self::F32, Self::F64, Self::Bf16];

    /// The name a user types.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Bf16 => "bf16",
        }
    }

    /// How many times the memory of 32 bits it takes; what is converted to 16 bits takes no less.
    pub(crate) fn memory_factor(self) -> u64 {
        if self == Self::F64 { 2 } else { 1 }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Dtype {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        UnknownName::find("dtype", Self::ALL, Self::name, name)
    }
}
