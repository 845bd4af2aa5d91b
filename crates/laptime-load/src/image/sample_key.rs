//! Random numbers of a sample: a function of seed, epoch and index alone.

/// What the random crop and flip of a sample depend on, and nothing else: neither threads nor order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleKey {
    /// The run's seed.
    pub seed: u64,
    /// The epoch, so that every epoch crops differently.
    pub epoch: u64,
    /// The sample's place in the pack.
    pub index: u64,
}

impl SampleKey {
    /// The sample's random numbers, always from the first on.
    pub(super) fn draws(self) -> Draws {
        let key = [self.seed, self.epoch, self.index].into_iter().fold(0, |key, part| mix(key ^ mix(part)));
        Draws { key, count: 0 }
    }
}

/// A stream of random numbers: the hash of a key and a counter (SplitMix64).
pub(super) struct Draws {
    key: u64,
    count: u64,
}

/// 2^64 divided by the golden ratio, SplitMix64's step.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(GOLDEN);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl Draws {
    fn next(&mut self) -> u64 {
        self.count += 1;
        mix(self.key.wrapping_add(self.count.wrapping_mul(GOLDEN)))
    }

    /// A number from `low` up to `high`.
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        // The upper 53 bits, as many as a double holds.
        let unit = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        low + (high - low) * unit
    }

    /// A whole number below `end`, each as likely as the others to within `end` / 2^64.
    pub(super) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// True half of the time.
    pub(super) fn coin(&mut self) -> bool {
        self.next() >> 63 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(seed: u64, epoch: u64, index: u64) -> u64 {
        SampleKey { seed, epoch, index }.draws().next()
    }

    #[test]
    fn every_part_of_the_key_changes_the_numbers() {
        let numbers = [first(0, 0, 0), first(1, 0, 0), first(0, 1, 0), first(0, 0, 1), first(1, 1, 0)];
        for (place, number) in numbers.iter().enumerate() {
            assert!(!numbers[..place].contains(number));
        }
    }

    #[test]
    fn the_numbers_of_neighbouring_samples_are_spread_evenly() {
        let mut counts = [0_u32; 10];
        for index in 0..100_000 {
            counts[SampleKey { seed: 3, epoch: 1, index }.draws().below(10)] += 1;
        }
        // Each count has a standard deviation of 95.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 500), "{counts:?}");
        let heads =
            (0..100_000).filter(|&index| SampleKey { seed: 3, epoch: 1, index }.draws().coin()).count();
        assert!(heads.abs_diff(50_000) < 800, "{heads}");
    }

    #[test]
    fn the_numbers_stay_the_same_for_ever() {
        let mut draws = SampleKey { seed: 1, epoch: 2, index: 3 }.draws();
        let numbers = [draws.next(), draws.next()];
        assert_eq!(numbers, PINNED, "a change here changes every training that is resumed");
    }

    const PINNED: [u64; 2] = [6_569_752_362_846_564_481, 14_742_976_013_115_527_151];
}
