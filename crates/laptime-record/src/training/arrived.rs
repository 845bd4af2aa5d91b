//! The batches of a pass that have come, until a step has used them.
//!
//! Some loaders request the next batch before they hand out the one they have, so that a pass is exhausted
//! while its last batch is still to be trained on.

use std::collections::VecDeque;

/// Batches kept separately; loaders are a few ahead, and the micro-batches of one step are rarely more.
const MOST_WAITING: usize = 256;

/// Batches that have come and that no step has used, by their samples.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    waiting: VecDeque<u32>,
    /// Batches that were there beyond the one in use, when the first was used; `None` before.
    ahead: Option<usize>,
}

impl Arrived {
    /// A batch has come.
    pub(super) fn take(&mut self, samples: u32) {
        // A pass that trains nothing uses nothing up.
        if self.waiting.len() == MOST_WAITING
            && let Some(oldest) = self.waiting.pop_front()
            && let Some(next) = self.waiting.front_mut()
        {
            *next = next.saturating_add(oldest);
        }
        self.waiting.push_back(samples);
    }

    /// The newest batch has this many samples.
    pub(super) fn count_newest(&mut self, samples: u32) {
        if let Some(newest) = self.waiting.back_mut() {
            *newest = newest.saturating_add(samples);
        }
    }

    /// A model is called or gradients are computed.
    #[inline]
    pub(super) fn record_use(&mut self) {
        if self.ahead.is_none() && !self.waiting.is_empty() {
            self.ahead = Some(self.waiting.len() - 1);
        }
    }

    /// Whether the loader is ahead of the steps, as far as that is known.
    pub(super) fn is_ahead(&self) -> bool {
        self.ahead.map_or(!self.waiting.is_empty(), |ahead| ahead > 0)
    }

    /// Whether a batch was used.
    pub(super) fn is_used(&self) -> bool {
        self.ahead.is_some()
    }

    /// Samples of the step that ends, which computed gradients so many times; a loader that is ahead keeps a
    /// batch for the next step, unless this is the last one.
    pub(super) fn end_step(&mut self, backwards: u64, is_last: bool) -> u32 {
        let there = self.waiting.len();
        let used = match self.ahead {
            Some(ahead) if ahead > 0 && !is_last => {
                usize::try_from(backwards).unwrap_or(there).clamp(1, there.max(2) - 1).min(there)
            }
            _ => there,
        };
        self.waiting.drain(..used).fold(0, u32::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(samples: &[u32]) -> Arrived {
        let mut arrived = Arrived::default();
        samples.iter().for_each(|samples| arrived.take(*samples));
        arrived
    }

    #[test]
    fn a_step_has_all_batches_that_came_unless_the_loader_is_ahead() {
        let mut arrived = with(&[4]);
        arrived.record_use();
        arrived.take(5);
        assert_eq!((arrived.is_ahead(), arrived.end_step(2, false)), (false, 9));
    }

    #[test]
    fn a_loader_that_is_ahead_keeps_its_batch_for_the_next_step() {
        let mut arrived = with(&[4, 5]);
        arrived.record_use();
        assert!(arrived.is_ahead());
        assert_eq!(arrived.end_step(1, false), 4);
        arrived.take(6);
        // Two backward passes on one batch, as a GAN makes them.
        assert_eq!(arrived.end_step(2, false), 5);
        assert_eq!(arrived.end_step(1, true), 6);
    }

    #[test]
    fn micro_batches_fetched_together_belong_to_one_step() {
        let mut arrived = with(&[1, 2, 3, 4, 9]);
        arrived.record_use();
        assert_eq!(arrived.end_step(4, false), 10);
        assert_eq!(arrived.end_step(1, false), 9);
        assert_eq!(arrived.end_step(1, false), 0);
    }
}
