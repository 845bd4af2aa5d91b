//! The rules, one file each.

mod checkpoint;
mod evaluation;

use super::rule::Rule;

/// All of them.
pub(super) const RULES: &[&Rule] = &[&evaluation::RULE, &checkpoint::RULE];
