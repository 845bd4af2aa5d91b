//! Getting data from where it lies to where it is trained on: how long, how often, and which tool does it best.

mod local_disk;
mod plan;
mod timed;
mod tool;

pub use local_disk::LocalDisk;
pub use plan::{Advice, Dataset, StreamCopy, TransferPlan, WhatIf, plan};
pub use timed::{Timed, TimedError, timed};
pub use tool::{Copy, Move, Tool, installed_tools, moving};
