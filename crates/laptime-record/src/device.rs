//! Stand-in until the real one is merged.

use laptime_core::StageId;

/// How a loss is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// 4 bytes.
    F32,
    /// 8 bytes.
    F64,
    /// 2 bytes.
    F16,
    /// 2 bytes, the upper half of an `f32`.
    BF16,
}

/// Whether times of a device are taken.
#[must_use]
pub fn is_on() -> bool {
    false
}

/// Begins.
pub fn begin(_device: u32) {}

/// A boundary.
pub fn boundary(_stream: usize, _stage: StageId) {}

/// The device that the calling thread uses.
#[must_use]
pub fn current() -> Option<u32> {
    None
}

/// A loss.
pub fn loss(_stream: usize, _address: u64, _kind: LossKind) {}
