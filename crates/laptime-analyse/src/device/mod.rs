//! Devices: what the boundaries of their streams say, and what of the host has to wait until they are known.
//!
//! The host runs ahead of a device and learns late when its work was done. So the events of the host's lanes stand
//! at a gate until it is known when the device had done what it was given until then.

mod fold;
mod gate;
mod painted;

pub(crate) use fold::{DeviceFold, Passed};
pub(crate) use gate::{Gate, Released};
