//! Exports: a run in the formats of other tools, one file a format.

pub(crate) mod tensorboard;
