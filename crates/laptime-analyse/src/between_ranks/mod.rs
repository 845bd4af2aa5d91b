//! Between ranks: what all ranks exchange, how much of it they stand still for, and whom they wait for.
//!
//! No clock of one machine is ever compared with that of another: each rank was folded alone, and only lengths of
//! time are laid side by side.

mod advantage;
mod blame;
mod cause;
mod clocks;
mod joined;
mod lateness;
mod one_off;
mod sentence;
mod straggler;
mod summary;
mod verdict;

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod trials;

pub(crate) use summary::{Beside, Between, between};
pub(crate) use verdict::put_between;
