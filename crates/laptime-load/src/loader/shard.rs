//! Which places of the order are a rank's batches.

/// How the order is divided among ranks and into batches.
///
/// Every rank has as many batches as every other, and batches of the same size. Without `drop_last` the order is
/// continued from its own beginning until it can be divided, as PyTorch's `DistributedSampler` does, so at most
/// `world - 1` samples are visited twice (more only where there are fewer samples than ranks); with `drop_last` what
/// does not fill a batch of every rank is left out, at most `world × batch_size - 1` samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    pub(super) length: u64,
    pub(super) batch_size: u64,
    pub(super) rank: u64,
    pub(super) world: u64,
    pub(super) drop_last: bool,
    /// Whether a rank's places follow each other, so that it reads as few blocks as possible. Else the batches of all
    /// ranks of one step follow each other: together they are the batch of one rank that has a batch as large.
    pub(super) contiguous: bool,
}

impl Shard {
    /// Samples of each rank in an epoch.
    const fn samples(&self) -> u64 {
        if self.drop_last {
            self.length / (self.world * self.batch_size) * self.batch_size
        } else {
            self.length.div_ceil(self.world)
        }
    }

    /// Batches of each rank in an epoch.
    pub(super) const fn batches(&self) -> u64 {
        self.samples().div_ceil(self.batch_size)
    }

    /// The first place of a batch and how many follow; places behind the end begin again at 0.
    pub(super) fn places(&self, batch: u64) -> (u64, usize) {
        let before = batch * self.batch_size;
        let count = self.batch_size.min(self.samples().saturating_sub(before));
        let start = if self.contiguous {
            self.rank * self.samples() + before
        } else {
            before * self.world + self.rank * count
        };
        (start, count as usize)
    }
}
