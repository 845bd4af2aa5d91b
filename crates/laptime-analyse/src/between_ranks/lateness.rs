//! Lateness: how often each rank was the one that the others waited for.

use super::joined::Joined;
use crate::statistics::binomial_at_least;

/// What chance alone would do once in a thousand runs, however many ranks there are.
const BY_CHANCE: f64 = 1e-3;
/// Parts of the run in most of which a rank must be late more often than by chance: a burst is no habit.
const PARTS: usize = 8;
const MOST_PARTS: f64 = 0.75;

/// The steps of a group, each with the rank that came last.
pub(super) struct Lateness {
    /// The member that came last in each step in which anybody waited, in time order.
    pub(super) last: Vec<usize>,
    /// How long each member waited for others, seconds.
    pub(super) waited: Vec<f64>,
    /// How long each member stood still, seconds.
    pub(super) still: Vec<f64>,
}

impl Lateness {
    pub(super) fn of(joined: &Joined<'_>) -> Self {
        let world = joined.members.len();
        let mut lateness = Self { last: Vec::new(), waited: vec![0.0; world], still: vec![0.0; world] };
        for step in joined.tiles.chunk_by(|a, b| a.step == b.step) {
            let mut waited = vec![0.0; world];
            for tile in step {
                let least = tile.still.iter().copied().fold(f64::INFINITY, f64::min);
                for (rank, still) in tile.still.iter().enumerate() {
                    waited[rank] += still - least;
                    lateness.still[rank] += still;
                }
            }
            lateness.waited.iter_mut().zip(&waited).for_each(|(sum, waited)| *sum += waited);
            if waited.iter().any(|waited| *waited > 0.0) {
                let last = (0..world).min_by(|a, b| waited[*a].total_cmp(&waited[*b]));
                lateness.last.extend(last);
            }
        }
        lateness
    }

    /// Steps in which some rank waited.
    pub(super) fn steps(&self) -> usize {
        self.last.len()
    }

    /// The share of those steps in which one of some members came last.
    pub(super) fn share(&self, members: &[usize]) -> f64 {
        self.times(members, &self.last) as f64 / self.steps().max(1) as f64
    }

    /// Members by how long they waited, those that waited least first.
    pub(super) fn by_lateness(&self) -> Vec<usize> {
        let mut members: Vec<usize> = (0..self.waited.len()).collect();
        members.sort_by(|a, b| self.waited[*a].total_cmp(&self.waited[*b]));
        members
    }

    /// Whether some members come last more often than chance explains, in most parts of the run.
    pub(super) fn is_no_chance(&self, members: &[usize]) -> bool {
        let (world, steps) = (self.waited.len(), self.steps());
        let chance = members.len() as f64 / world.max(1) as f64;
        let by_chance = binomial_at_least(self.times(members, &self.last), steps, chance);
        let parts = PARTS.min(steps);
        let often = (0..parts).filter(|part| {
            let part = &self.last[part * steps / parts..(part + 1) * steps / parts];
            self.times(members, part) as f64 > chance * part.len() as f64
        });
        by_chance * (world as f64) < BY_CHANCE && often.count() as f64 >= MOST_PARTS * parts as f64
    }

    fn times(&self, members: &[usize], last: &[usize]) -> usize {
        last.iter().filter(|last| members.contains(last)).count()
    }
}
