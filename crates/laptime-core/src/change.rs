//! Changes that laptime makes to a training without editing its script.

use std::fmt;

/// Every change by its name, with the values it takes.
pub const CHANGES: [(&str, &str); 22] = [
    ("autocast", "bf16"),
    ("batch_size", "N"),
    ("cache", "1"),
    ("channels_last", "1"),
    ("compile", "1"),
    ("cudnn_benchmark", "1"),
    ("foreach_optimizer", "1"),
    ("fused_optimizer", "1"),
    ("gc", "off"),
    ("jit_compile", "1"),
    ("mixed_precision", "bf16"),
    ("num_workers", "N"),
    ("parallel_map", "1"),
    ("persistent_workers", "1"),
    ("pin_memory", "1"),
    ("prefetch", "1"),
    ("prefetch_factor", "N"),
    ("repeat_batch", "1"),
    ("steps_per_execution", "N"),
    ("tf32", "1"),
    ("threads", "N"),
    ("validation_freq", "N"),
];

/// One change: what, and to which value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// One of [`CHANGES`].
    pub name: String,
    /// What it is set to; letters, digits, `.`, `_` and `-`.
    pub value: String,
}

impl Change {
    /// A change to this value.
    #[must_use]
    pub fn new(name: &str, value: impl fmt::Display) -> Self {
        Self { name: name.to_owned(), value: value.to_string() }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}={}", self.name, self.value)
    }
}
