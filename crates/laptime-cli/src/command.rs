//! The commands: file name = command.

pub(crate) mod advise;
mod cluster;
pub(crate) mod compare;
pub(crate) mod data;
pub(crate) mod demo;
pub(crate) mod pack;
pub(crate) mod predict;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod sweep;
pub(crate) mod train;
mod trial;
