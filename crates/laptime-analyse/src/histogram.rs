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

/// Lengths of time between two ends, and how many of them were counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bin {
    /// The shortest that falls into it, ticks.
    pub(crate) low: f64,
    /// Where the next one begins, ticks.
    pub(crate) high: f64,
    /// How many.
    pub(crate) count: u64,
}

impl Histogram {
    /// Everything that was counted in at most so many bins of neighbouring buckets, the empty ones between them too.
    pub(crate) fn bins(&self, most: usize) -> Vec<Bin> {
        let Some(first) = self.buckets.iter().position(|count| *count > 0) else { return Vec::new() };
        let counted = &self.buckets[first..];
        let wide = counted.len().div_ceil(most.max(1)).max(1);
        let bin = |(at, chunk): (usize, &[u64])| Bin {
            low: begin(first + at * wide),
            high: begin(first + at * wide + wide),
            count: chunk.iter().sum(),
        };
        counted.chunks(wide).enumerate().map(bin).collect()
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

/// The shortest length that falls into a bucket, and how many do.
fn reach(bucket: usize) -> (f64, f64) {
    let bucket = bucket as u64;
    if bucket < 2 * FINE {
        return (bucket as f64, 1.0);
    }
    let power = (bucket / FINE - 1) as i32;
    let wide = 2_f64.powi(power);
    ((bucket - power as u64 * FINE) as f64 * wide, wide)
}

fn begin(bucket: usize) -> f64 {
    reach(bucket).0
}

fn middle(bucket: usize) -> f64 {
    let (low, wide) = reach(bucket);
    low + (wide - 1.0) / 2.0
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
    fn bins_hold_everything_without_gaps() {
        let mut histogram = Histogram::default();
        [100, 5_000, 5_100, 1_000_000].into_iter().for_each(|ticks| histogram.record(ticks));
        let bins = histogram.bins(20);
        assert!(bins.len() <= 20 && bins[0].low <= 100.0 && bins[bins.len() - 1].high > 1e6);
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), 4);
        assert!(bins.windows(2).all(|pair| pair[0].high == pair[1].low));
        assert!(Histogram::default().bins(20).is_empty());
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
