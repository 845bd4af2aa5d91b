//! From records to findings. Pure: no file, no clock, no thread.

mod report;

pub use report::*;
