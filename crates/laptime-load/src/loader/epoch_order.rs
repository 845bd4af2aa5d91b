//! In which order an epoch visits its samples.

use super::permutation::Permutation;

/// How samples are shuffled, anew in every epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shuffle {
    /// Not at all: as they are stored.
    None,
    /// All samples with all others: every order is about equally likely. The set should fit into memory.
    #[default]
    Exact,
    /// For sets larger than memory: blocks of about 1 MiB are put into a random order and read ahead, and samples are
    /// shuffled among those of `blocks` blocks that follow each other in it.
    ///
    /// Its quality: which blocks meet in a window is random in every epoch, and within a window the shuffle is exact.
    /// But samples that were stored in the same block stay within the same window, so of two neighbours in the source
    /// the second follows the first within `blocks` × samples of a block, never further off. With a source that is
    /// itself in random order this makes no difference. With one that is sorted by class, a batch has samples of
    /// about `blocks` different stretches of the source; 64 and more make batches that are hard to tell from exact
    /// ones.
    Window {
        /// Blocks that are shuffled together.
        blocks: usize,
    },
}

/// The order of one epoch: any stretch of it at once, without an array.
#[derive(Debug)]
pub(super) enum EpochOrder {
    AsStored,
    Exact(Permutation),
    Window(WindowOrder),
}

/// Seed and epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EpochKey {
    pub(super) seed: u64,
    pub(super) epoch: u64,
}

impl EpochOrder {
    /// The order of `length` samples, of which `block_rows` make a block.
    pub(super) fn new(shuffle: Shuffle, length: u64, block_rows: u64, key: EpochKey) -> Self {
        match shuffle {
            Shuffle::None => Self::AsStored,
            Shuffle::Exact => Self::Exact(Permutation::new(length, [key.seed, key.epoch, 0])),
            Shuffle::Window { blocks } => {
                Self::Window(WindowOrder::new(length, block_rows, blocks.max(1) as u64, key))
            }
        }
    }

    /// The samples at `start..start + out.len()` of the order.
    pub(super) fn fill(&self, start: u64, out: &mut [u64]) {
        match self {
            Self::AsStored => {
                for (place, out) in (start..).zip(out) {
                    *out = place;
                }
            }
            Self::Exact(permutation) => permutation.fill(start, out),
            Self::Window(order) => order.fill(start, out),
        }
    }

    /// The number of the window of a place, if there are windows.
    pub(super) fn window_at(&self, place: u64) -> Option<u64> {
        match self {
            Self::Window(order) => Some(order.slot_at(place) / order.width),
            Self::AsStored | Self::Exact(_) => None,
        }
    }

    /// The blocks that meet in a window; none behind the last.
    pub(super) fn blocks_of(&self, window: u64) -> Vec<u64> {
        match self {
            Self::Window(order) => order.slots_of(window).map(|slot| order.blocks.at(slot)).collect(),
            Self::AsStored | Self::Exact(_) => Vec::new(),
        }
    }
}

/// Blocks in random order, and samples in random order within windows of them.
///
/// A *slot* is a block's place in the random order. All blocks have the same number of samples but the last one, which
/// may be shorter wherever it has come to lie.
#[derive(Debug)]
pub(super) struct WindowOrder {
    length: u64,
    block_rows: u64,
    blocks: Permutation,
    count: u64,
    /// Blocks of a window.
    width: u64,
    short_slot: u64,
    /// Samples that the short block lacks.
    lacking: u64,
    key: EpochKey,
}

impl WindowOrder {
    fn new(length: u64, block_rows: u64, width: u64, key: EpochKey) -> Self {
        let block_rows = block_rows.max(1);
        let count = length.div_ceil(block_rows);
        let blocks = Permutation::new(count, [key.seed, key.epoch, 1]);
        let short_slot = if count == 0 { 0 } else { blocks.place_of(count - 1) };
        let lacking = count * block_rows - length;
        Self { length, block_rows, blocks, count, width, short_slot, lacking, key }
    }

    /// The first place of a slot.
    fn begin(&self, slot: u64) -> u64 {
        let begin = slot * self.block_rows;
        if slot > self.short_slot { begin - self.lacking } else { begin }
    }

    fn slot_at(&self, place: u64) -> u64 {
        let slot = place / self.block_rows;
        if place >= self.begin(self.short_slot + 1) { (place + self.lacking) / self.block_rows } else { slot }
    }

    fn slots_of(&self, window: u64) -> std::ops::Range<u64> {
        let begin = window.saturating_mul(self.width).min(self.count);
        begin..begin.saturating_add(self.width).min(self.count)
    }

    fn fill(&self, start: u64, out: &mut [u64]) {
        let mut filled = 0;
        while filled < out.len() {
            let place = start + filled as u64;
            let window = self.slot_at(place) / self.width;
            let slots = self.slots_of(window);
            let (begin, end) = (self.begin(slots.start), self.begin(slots.end).min(self.length));
            let within = Permutation::new(end - begin, [self.key.seed, self.key.epoch, 2 + window]);
            let until = out.len().min(filled + (end - place) as usize);
            let stretch = &mut out[filled..until];
            within.fill(place - begin, stretch);
            for item in stretch {
                let slot = self.slot_at(begin + *item);
                *item = self.blocks.at(slot) * self.block_rows + (begin + *item - self.begin(slot));
            }
            filled = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_order_visits_each_sample_once(
            length in 0_u64..3000, block_rows in 1_u64..200, blocks in 1_usize..20, seed: u64, way in 0..3,
        ) {
            let shuffle = [Shuffle::None, Shuffle::Exact, Shuffle::Window { blocks }][way as usize];
            let order = EpochOrder::new(shuffle, length, block_rows, EpochKey { seed, epoch: 3 });
            let mut whole = vec![0; length as usize];
            order.fill(0, &mut whole);
            let mut pieces = Vec::new();
            while (pieces.len() as u64) < length {
                let mut piece = vec![0; 37.min(length as usize - pieces.len())];
                order.fill(pieces.len() as u64, &mut piece);
                pieces.extend(piece);
            }
            prop_assert_eq!(&whole, &pieces);
            whole.sort_unstable();
            prop_assert!(whole.into_iter().eq(0..length));
        }

        #[test]
        fn a_window_has_the_samples_of_its_blocks(
            length in 1_u64..3000, block_rows in 1_u64..200, blocks in 1_usize..20, seed: u64,
        ) {
            let key = EpochKey { seed, epoch: 0 };
            let order = EpochOrder::new(Shuffle::Window { blocks }, length, block_rows, key);
            let mut whole = vec![0; length as usize];
            order.fill(0, &mut whole);
            for (place, sample) in (0..).zip(whole) {
                let window = order.window_at(place).unwrap();
                prop_assert!(order.blocks_of(window).contains(&(sample / block_rows)));
            }
        }
    }

    #[test]
    fn a_window_of_all_blocks_is_as_even_as_an_exact_shuffle() {
        let mut counts = vec![0_u32; 100 * 100];
        for seed in 0..20_000 {
            let order = EpochOrder::new(Shuffle::Window { blocks: 10 }, 100, 10, EpochKey { seed, epoch: 0 });
            let mut whole = [0; 100];
            order.fill(0, &mut whole);
            for (place, sample) in whole.into_iter().enumerate() {
                counts[place * 100 + sample as usize] += 1;
            }
        }
        let chi: f64 = counts.iter().map(|count| (f64::from(*count) - 200.0).powi(2) / 200.0).sum();
        // 9,999 degrees of freedom: a standard deviation of 141.
        assert!((chi - 9_999.0).abs() < 707.0, "{chi}");
    }
}
