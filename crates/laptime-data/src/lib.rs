//! Datasets where they lie: [`source`] is the places, [`survey`] finds out what one amounts to, by reading as little of it as possible;
//! [`pack`](mod@pack) reads all of one, for a pack.

pub mod comparison;
pub mod elsewhere;
pub mod link;
pub mod pack;
pub mod remote;
pub mod source;
pub mod survey;
mod tar_header;
pub mod transfer;

// What `laptime-load` tests its readers with; the same files damage these.
#[cfg(test)]
#[path = "../../laptime-load/src/allocation.rs"]
mod allocation;
#[cfg(test)]
#[path = "../../laptime-load/src/mutation.rs"]
mod mutation;
