//! Histogram: percentiles of lengths of time in bounded memory.

/// Buckets in each power of two: the middle of a bucket is at most 1/128 from anything in it.
const FINE: u64 = 64;
const FINE_BITS: u32 = FINE.trailing_zeros();

/// Counts of lengths of time in log-linear buckets; percentiles are right to 0.8 %.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    buckets: Vec<u64>,
    count: u64,
}

impl Histogram {
    /// Counts one length of time.
    pub(crate) fn record(&mut self, ticks: u64) {
        let at = bucket(ticks);
        if at >= self.buckets.len() {
            self.buckets.resize(at + 1, 0);
        }
        self.buckets[at] += 1;
        self.count += 1;
    }

    /// Adds everything another histogram counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
    }

    /// Gives every length that was counted, right to 0.8 %, and how often.
    pub(crate) fn for_each(&self, sink: &mut dyn FnMut(f64, u64)) {
        let counted = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.for_each(|(at, count)| sink(middle(at), *count));
    }

    /// The length that a share `q` of all lengths does not exceed; `None` when nothing was counted.
    pub(crate) fn quantile(&self, q: f64) -> Option<f64> {
        let rank = ((self.count as f64 * q).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        let at = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(middle(at))
    }
}

/// Small values have a bucket each; from there every power of two has [`FINE`] buckets.
fn bucket(ticks: u64) -> usize {
    if ticks < 2 * FINE {
        return ticks as usize;
    }
    let power = u64::from(ticks.ilog2() - FINE_BITS);
    (power * FINE + (ticks >> power)) as usize
}

fn middle(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    if bucket < 2 * FINE {
        return bucket as f64;
    }
    let power = bucket / FINE - 1;
    let low = ((bucket - power * FINE) << power) as f64;
    low + ((1_u64 << power) - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_found_again_within_one_percent() {
        for power in 0..64 {
            for offset in [0, 1, 7, 1_000_003] {
                let ticks = (1_u64 << power).saturating_add(offset << (power / 2)).max(1);
                let mut histogram = Histogram::default();
                histogram.record(ticks);
                let found = histogram.quantile(0.5).unwrap();
                assert!((found / ticks as f64 - 1.0).abs() < 0.01, "{ticks} came back as {found}");
            }
        }
    }

    #[test]
    fn percentiles_of_a_known_ladder_are_its_rungs() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|ticks| histogram.record(ticks));
        assert_eq!(histogram.quantile(0.5), Some(50.0));
        assert_eq!(histogram.quantile(0.95), Some(95.0));
        assert_eq!(histogram.quantile(1.0), Some(100.0));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn merged_histograms_count_both() {
        let (mut small, mut large) = (Histogram::default(), Histogram::default());
        small.record(10);
        large.record(1_000_000);
        large.record(1_000_000);
        small.merge(&large);
        assert!(small.quantile(0.5).unwrap() > 990_000.0);
        assert_eq!(small.quantile(0.1), Some(10.0));
    }

    #[test]
    fn the_longest_length_has_a_bucket() {
        let mut histogram = Histogram::default();
        histogram.record(u64::MAX);
        histogram.record(0);
        assert_eq!(histogram.quantile(0.1), Some(0.0));
    }
}
