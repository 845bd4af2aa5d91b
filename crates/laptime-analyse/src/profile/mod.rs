//! Hot functions: what the samples of a run's stacks say of its stages.

mod fold;
mod stacks;
mod summary;

pub(crate) use fold::ProfileFold;
pub(crate) use stacks::stacks;
pub use stacks::{ProfileStack, ProfileStacks};
pub(crate) use summary::summary;

#[cfg(test)]
mod tests;
