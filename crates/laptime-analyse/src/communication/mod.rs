//! Communication: what one process exchanges with other ranks, folded while its log is read.
//!
//! What is kept is small and the same in all ranks, so that they can be laid side by side afterwards.

mod exposure;
mod fold;
mod group;
mod host;
mod interval;
mod meeting;

pub(crate) use fold::Communication;
pub(crate) use group::Group;
pub(crate) use meeting::{Meeting, Sample};
