//! The rules, one file each.

mod batch;
mod callbacks;
mod checkpoint;
mod collate;
mod discarded;
mod drift;
mod evaluation;
mod garbage;
mod loading_part;
mod memory;
mod persistent;
mod prefetch;
mod threads;
mod transform;
mod workers;

use super::rule::Rule;

/// All of them.
pub(super) const RULES: &[&Rule] = &[
    &workers::RULE,
    &prefetch::RULE,
    &persistent::RULE,
    &transform::RULE,
    &collate::RULE,
    &threads::RULE,
    &garbage::RULE,
    &evaluation::RULE,
    &checkpoint::RULE,
    &callbacks::RULE,
    &drift::RULE,
    &memory::RULE,
    &discarded::RULE,
    &batch::RULE,
];
