//! Step series: the steps of one fit in time order, in bounded memory.

use crate::histogram::Histogram;
use crate::tally::Step;

/// Blocks kept before neighbours are merged: a few thousand steps keep full detail in 230 kB.
const MOST_BLOCKS: usize = 4_096;

/// Neighbouring steps added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Block {
    /// Steps in it.
    pub(crate) steps: u64,
    /// Their time, ticks.
    pub(crate) ticks: u64,
    /// Exclusive time they waited for data or made it ready, ticks.
    pub(crate) wait: u64,
    /// Samples they trained on.
    pub(crate) samples: u64,
    /// Tokens they trained on.
    pub(crate) tokens: u64,
    /// The losses of those that have one, added up.
    pub(crate) loss_sum: f64,
    /// How many have one.
    pub(crate) losses: u64,
}

impl Block {
    /// Mean time of a step in ticks.
    pub(crate) fn mean_ticks(&self) -> f64 {
        self.ticks as f64 / self.steps.max(1) as f64
    }

    fn add(&mut self, other: &Self) {
        self.steps = self.steps.saturating_add(other.steps);
        self.ticks = self.ticks.saturating_add(other.ticks);
        self.wait = self.wait.saturating_add(other.wait);
        self.samples = self.samples.saturating_add(other.samples);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.loss_sum += other.loss_sum;
        self.losses = self.losses.saturating_add(other.losses);
    }
}

/// All steps of a fit as blocks of equal length, with their sum and histogram.
#[derive(Clone, Debug)]
pub(crate) struct StepSeries {
    block_len: u64,
    blocks: Vec<Block>,
    growing: Block,
    /// The sum of all steps.
    pub(crate) sum: Block,
    /// How the times of single steps are spread.
    pub(crate) histogram: Histogram,
}

impl Default for StepSeries {
    fn default() -> Self {
        let (growing, sum) = (Block::default(), Block::default());
        Self { block_len: 1, blocks: Vec::new(), growing, sum, histogram: Histogram::default() }
    }
}

impl StepSeries {
    /// Adds the next step.
    pub(crate) fn push(&mut self, step: &Step) {
        let (ticks, wait) = (step.time.0, step.wait.0.min(step.time.0));
        let (samples, tokens) = (u64::from(step.samples), step.tokens);
        let (loss_sum, losses) = step.loss.map_or((0.0, 0), |loss| (loss, 1));
        let step = Block { steps: 1, ticks, wait, samples, tokens, loss_sum, losses };
        self.sum.add(&step);
        self.histogram.record(ticks);
        self.growing.add(&step);
        if self.growing.steps >= self.block_len {
            self.blocks.push(std::mem::take(&mut self.growing));
        }
        if self.blocks.len() >= MOST_BLOCKS {
            self.merge_neighbours();
        }
    }

    /// Steps in a full block.
    pub(crate) fn block_len(&self) -> u64 {
        self.block_len
    }

    /// Full blocks in time order.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Full blocks after the first `steps` steps.
    pub(crate) fn blocks_after(&self, steps: u64) -> &[Block] {
        let skipped = steps.div_ceil(self.block_len).min(self.blocks.len() as u64);
        &self.blocks[skipped as usize..]
    }

    /// Keeps less detail than so many blocks need.
    pub(crate) fn coarsen(&mut self, most: usize) {
        while self.blocks.len() > most.max(1) {
            self.merge_neighbours();
        }
        self.blocks.shrink_to_fit();
    }

    fn merge_neighbours(&mut self) {
        let pairs = self.blocks.chunks(2).map(|pair| {
            let mut sum = pair[0];
            pair[1..].iter().for_each(|block| sum.add(block));
            sum
        });
        self.blocks = pairs.collect();
        self.block_len = self.block_len.saturating_mul(2);
    }
}

/// The blocks joined into at most `groups` stretches of nearly equal length, in time order.
pub(crate) fn joined(blocks: &[Block], groups: usize) -> Vec<Block> {
    let groups = groups.min(blocks.len());
    let stretch = |group: usize| {
        let mut sum = Block::default();
        let range = group * blocks.len() / groups..(group + 1) * blocks.len() / groups;
        blocks[range].iter().for_each(|block| sum.add(block));
        sum
    };
    (0..groups).map(stretch).collect()
}

#[cfg(test)]
mod tests {
    use laptime_core::Ticks;

    use super::*;

    #[test]
    fn a_long_series_stays_small_and_loses_no_time() {
        let mut series = StepSeries::default();
        let step = |time| Step { time: Ticks(time), samples: 2, ..Step::default() };
        (0..100_000).for_each(|time| series.push(&step(time)));
        assert!(series.blocks().len() <= MOST_BLOCKS);
        assert_eq!(series.sum.ticks, 99_999 * 100_000 / 2);
        let kept: u64 = series.blocks().iter().map(|block| block.steps).sum();
        assert!(100_000 - kept < series.block_len());
        assert!(series.blocks().iter().all(|block| block.steps == series.block_len()));
    }

    #[test]
    fn joined_blocks_keep_every_step() {
        let blocks: Vec<Block> =
            (0..10).map(|at| Block { steps: 1, ticks: at, ..Block::default() }).collect();
        let groups = joined(&blocks, 3);
        assert_eq!(groups.iter().map(|group| group.steps).collect::<Vec<_>>(), [3, 3, 4]);
        assert_eq!(groups.iter().map(|group| group.ticks).sum::<u64>(), 45);
        assert!(joined(&[], 3).is_empty());
    }
}
