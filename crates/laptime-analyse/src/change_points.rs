//! Change points: where the level of a series moved and stayed.

use crate::steady::middle;

/// Levels on either side last at least so many values.
const SHORTEST: usize = 5;
/// A move that is smaller than this share of the level is not worth a word.
const LEAST: f64 = 0.05;
/// A split has to explain so many times the noise more than chance would.
const STRICTNESS: f64 = 4.0;
/// Moves of one series; more are no levels but a drift.
const MOST: usize = 8;

/// Where each new level begins, in order. Values are positive; single ones that stand out are no level.
pub(crate) fn change_points(values: &[f64]) -> Vec<usize> {
    let quiet = without_spikes(values);
    let Some(noise) = noise(values) else { return Vec::new() };
    let sums = Sums::of(&quiet);
    let mut found = Vec::new();
    split(&sums, (0, quiet.len()), noise, &mut found);
    found.sort_unstable();
    found
}

/// Each value as the middle of itself and its neighbours, as a logarithm: a move is a ratio.
fn without_spikes(values: &[f64]) -> Vec<f64> {
    let around = |at: usize| &values[at.saturating_sub(1)..values.len().min(at + 2)];
    (0..values.len()).filter_map(|at| middle(around(at))).map(|value| value.max(1e-12).ln()).collect()
}

/// The variance from one value to the next, which a few moves hardly change; `None` of too few values.
fn noise(values: &[f64]) -> Option<f64> {
    let step = |pair: &[f64]| (pair[1].max(1e-12) / pair[0].max(1e-12)).ln().abs();
    let steps: Vec<f64> = values.windows(2).map(step).collect();
    // 1.48 makes a standard deviation of a median of distances, for values that are normal.
    let deviation = 1.48 * middle(&steps)? / 2_f64.sqrt();
    (values.len() >= 2 * SHORTEST).then_some((deviation * deviation).max(1e-8))
}

/// Sums from the start, so that the mean of any stretch is two look-ups.
struct Sums(Vec<f64>);

impl Sums {
    fn of(values: &[f64]) -> Self {
        let mut sum = 0.0;
        let rest = values.iter().map(|value| {
            sum += value;
            sum
        });
        Self(std::iter::once(0.0).chain(rest).collect())
    }

    fn mean(&self, from: usize, until: usize) -> f64 {
        (self.0[until] - self.0[from]) / (until - from).max(1) as f64
    }
}

/// Splits a stretch where two levels explain it best, and then either part.
fn split(sums: &Sums, (from, until): (usize, usize), noise: f64, found: &mut Vec<usize>) {
    if until - from < 2 * SHORTEST || found.len() >= MOST {
        return;
    }
    let gain = |at: usize| {
        let move_by = sums.mean(at, until) - sums.mean(from, at);
        let (before, after) = ((at - from) as f64, (until - at) as f64);
        (move_by * move_by * before * after / (before + after), move_by)
    };
    let places = (from + SHORTEST..=until - SHORTEST).map(|at| (at, gain(at)));
    let Some((at, (explained, move_by))) = places.max_by(|a, b| a.1.0.total_cmp(&b.1.0)) else { return };
    let by_chance = STRICTNESS * noise * ((until - from) as f64).ln().max(1.0);
    if explained <= by_chance || move_by.abs() < LEAST {
        return;
    }
    found.push(at);
    split(sums, (from, at), noise, found);
    split(sums, (at, until), noise, found);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern instead of chance: ± 2 %.
    fn wobbly(level: f64, count: usize) -> impl Iterator<Item = f64> {
        let factors = [0.98, 1.013, 1.0, 0.991, 1.02, 0.987, 1.007];
        factors.into_iter().cycle().take(count).map(move |factor| factor * level)
    }

    #[test]
    fn a_level_that_moved_is_found_where_it_did() {
        let values: Vec<f64> = wobbly(10.0, 60).chain(wobbly(13.0, 80)).chain(wobbly(9.0, 60)).collect();
        let found = change_points(&values);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].abs_diff(60) <= 1 && found[1].abs_diff(140) <= 1, "{found:?}");
    }

    #[test]
    fn noise_and_single_stalls_are_no_change() {
        let mut values: Vec<f64> = wobbly(10.0, 150).collect();
        values[70] = 900.0;
        assert_eq!(change_points(&values), []);
        assert_eq!(change_points(&[5.0; 40]), []);
        assert_eq!(change_points(&[1.0, 9.0]), []);
    }

    #[test]
    fn a_small_move_is_not_worth_a_word() {
        let values: Vec<f64> = [10.0; 50].into_iter().chain([10.2; 50]).collect();
        assert_eq!(change_points(&values), []);
    }
}
