//! Getting data from where it lies to where it is trained on: how long, how often, and which tool does it best.

mod local_disk;
mod plan;
mod tool;

pub use local_disk::LocalDisk;
pub use plan::{Advice, Dataset, TransferPlan, WhatIf, plan};
pub use tool::{Copy, Move, Tool, installed_tools, moving};
