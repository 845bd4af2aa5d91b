//! Hot functions: what the samples of a run's stacks say of its stages.

mod fold;
mod report;
mod stacks;
mod summary;

pub(crate) use fold::ProfileFold;
pub use report::{ProfileFunction, ProfilePart, ProfileReport, ProfileStage, SampledPart, SamplingCost};
pub(crate) use stacks::stacks;
pub use stacks::{ProfileStack, ProfileStacks};
pub(crate) use summary::summary;

#[cfg(test)]
mod tests;
