//! A fair sample of any number of files in bounded memory, the same in whatever order they are found.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Keeps what falls under a threshold by its hash, and halves the threshold when there is too much of it.
///
/// What is kept depends only on which files there are, so threads may each have their own and merge them.
#[derive(Clone, Debug)]
pub(crate) struct Sample<T> {
    kept: Vec<(u64, T)>,
    halvings: u32,
    most: usize,
}

impl<T> Sample<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { kept: Vec::new(), halvings: 0, most }
    }

    /// Offers a file; `made` is asked only if it is kept.
    pub(crate) fn offer(&mut self, hash: u64, made: impl FnOnce() -> T) {
        if self.keeps(hash) {
            self.kept.push((hash, made()));
            self.thin();
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.halvings = self.halvings.max(other.halvings);
        self.kept.extend(other.kept);
        let halvings = self.halvings;
        self.kept.retain(|(hash, _)| under(*hash, halvings));
        self.thin();
    }

    fn keeps(&self, hash: u64) -> bool {
        under(hash, self.halvings)
    }

    fn thin(&mut self) {
        // Equal hashes cannot be thinned out; 2^63 is where to stop trying.
        while self.kept.len() > self.most && self.halvings < 63 {
            self.halvings += 1;
            let halvings = self.halvings;
            self.kept.retain(|(hash, _)| under(*hash, halvings));
        }
    }

    /// Whether everything that was offered was kept.
    pub(crate) fn is_all(&self) -> bool {
        self.halvings == 0
    }

    /// What was kept, in the order of the hashes: any first few of them are a fair sample too.
    pub(crate) fn into_kept(mut self) -> Vec<T> {
        self.kept.sort_by_key(|(hash, _)| *hash);
        self.kept.into_iter().map(|(_, value)| value).collect()
    }
}

fn under(hash: u64, halvings: u32) -> bool {
    hash <= u64::MAX >> halvings
}

/// The hash of a file or folder by that of the folder it is in and its name.
pub(crate) fn name_hash(folder: u64, name: &std::ffi::OsStr) -> u64 {
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    name.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn sample(names: impl Iterator<Item = u64>, most: usize) -> Sample<u64> {
        let mut sample = Sample::new(most);
        for name in names {
            sample.offer(name_hash(1, &OsString::from(name.to_string())), || name);
        }
        sample
    }

    fn kept(sample: Sample<u64>) -> Vec<u64> {
        let mut kept = sample.into_kept();
        kept.sort_unstable();
        kept
    }

    #[test]
    fn order_and_threads_do_not_change_what_is_kept() {
        let forwards = sample(0..20_000, 100);
        let backwards = sample((0..20_000).rev(), 100);
        let mut merged = sample(0..50, 100);
        merged.merge(sample(50..20_000, 100));
        assert!(!forwards.is_all());
        let expected = kept(forwards);
        assert!((40..=100).contains(&expected.len()), "{}", expected.len());
        assert_eq!(kept(backwards), expected);
        assert_eq!(kept(merged), expected);
    }

    #[test]
    fn few_are_all_kept() {
        let few = sample(0..100, 100);
        assert!(few.is_all());
        assert_eq!(few.into_kept().len(), 100);
    }
}
