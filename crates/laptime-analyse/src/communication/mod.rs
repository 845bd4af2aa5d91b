//! Communication: what ranks exchange, how much of it the training waits for, and whom it waits for.
//!
//! Each rank is folded alone while its log is read; what is kept of it is small and the same in all ranks, so that
//! they can be laid side by side afterwards. No clock of one machine is ever compared with that of another.

mod advantage;
mod blame;
mod cause;
mod clocks;
mod exposure;
mod fold;
mod group;
mod host;
mod interval;
mod joined;
mod lateness;
mod meeting;
mod one_off;
mod sentence;
mod straggler;
mod summary;
mod verdict;

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod trials;

pub(crate) use fold::Communication;
pub(crate) use summary::{Beside, Between, between};
pub(crate) use verdict::put_between;
