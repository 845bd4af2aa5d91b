//! A batch as it is handed out.

use std::sync::Arc;

use super::memory::AlignedMemory;
use crate::pack::Element;

/// The samples of a batch: an array for every [`ColumnLayout`](super::ColumnLayout) of the loader.
#[derive(Clone, Debug)]
pub struct LoadedBatch {
    /// The arrays, in the order of the layouts.
    pub arrays: Vec<BatchArray>,
}

/// An array of a batch, C-contiguous; its first dimension counts the samples.
#[derive(Clone, Debug)]
pub struct BatchArray {
    /// The type of one number.
    pub element: Element,
    /// Its dimensions.
    pub shape: Vec<usize>,
    memory: Arc<AlignedMemory>,
}

impl BatchArray {
    pub(super) fn new(element: Element, shape: Vec<usize>, memory: AlignedMemory) -> Self {
        Self { element, shape, memory: Arc::new(memory) }
    }

    /// The memory, which stays as it is as long as it is referenced.
    pub const fn memory(&self) -> &Arc<AlignedMemory> {
        &self.memory
    }

    /// The first byte, aligned to 64 bytes.
    pub fn pointer(&self) -> *mut u8 {
        self.memory.pointer()
    }

    /// How many bytes.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// The bytes themselves.
    pub fn as_slice(&self) -> &[u8] {
        self.memory.as_slice()
    }
}
