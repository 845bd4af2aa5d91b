//! Step pace: what the steps to come take, from those that were seen; warm-up, rare and regular stalls apart.

use crate::statistics::{mean, variance};
use crate::steady::{Settling, middle};
use crate::step_series::{Block, joined};
use crate::time_left::{Pace, pace};

/// Blocks the past is looked at in: enough to see correlation, few enough to outlast most bursts.
const MOST_BLOCKS: usize = 24;
/// Steps that a block should have, so that it says something about a moment.
const STEPS_PER_BLOCK: usize = 4;
/// A warm-up longer than this fraction of the steps so far is not left out: a slow stretch may come back.
const LONGEST_WARM_UP: u64 = 3;
/// An epoch whose steps take this much longer than the later ones had cold caches.
const COLD: f64 = 1.2;
/// Blocks on either side that show it.
const FEWEST_COLD: usize = 8;
/// A step that takes so many times as long as the others is a stall.
const STALL: f64 = 8.0;
/// More stalls than this say how often they come; they are part of the mean.
const MOST_RARE: usize = 3;
/// Fewer steps than this for each stall make it no rare one.
const FEWEST_STEPS: usize = 20;
/// Stalls that take less than this share of the time are not worth the words.
const SMALL: f64 = 0.005;
/// Stalls whose distances differ by less than this share come regularly.
const REGULAR: f64 = 0.1;
/// Relative error of a cost that was seen only once.
const SEEN_ONCE: f64 = 0.5;
/// Of stalls that show only because they happened, so much less than their number is expected again.
const BY_CHANCE: f64 = 0.5;

/// The steps of a fit, in time order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps<'a> {
    /// Full blocks of equal length.
    pub(crate) blocks: &'a [Block],
    /// Whether and where they settle.
    pub(crate) settling: Settling,
    /// Steps of the first epoch, where that is over.
    pub(crate) first_epoch: Option<u64>,
    /// Seconds of a tick.
    pub(crate) tick_s: f64,
}

/// What the steps of a fit take.
#[derive(Clone, Debug)]
pub(crate) struct StepPace {
    /// Steps of warm-up or of an epoch with cold caches, at the start.
    pub(crate) warm_up: u64,
    /// How long those took.
    pub(crate) warm_up_s: f64,
    /// How long all steps took, with their stalls.
    pub(crate) seen_s: f64,
    /// Steps behind the pace.
    pub(crate) steps: u64,
    /// Mean of those without stalls that are apart, seconds.
    pub(crate) mean_s: f64,
    /// Means of stretches of them in time order, seconds.
    pub(crate) means: Vec<f64>,
    /// Stalls that are too rare to be in the mean, or regular.
    pub(crate) stalls: Option<Stalls>,
}

/// Stalls that are no part of the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stalls {
    count: f64,
    /// Steps from one to the next.
    apart: f64,
    /// What one takes beyond a step, seconds, and its standard deviation.
    each: (f64, f64),
    /// Whether they come regularly, so that their rate is known; else they are too rare for that.
    pub(crate) regular: bool,
}

impl Stalls {
    /// What those among so many steps take, and the standard error of that; seconds.
    pub(crate) fn within(&self, steps: f64) -> (f64, f64) {
        let (each, deviation) = self.each;
        if self.regular {
            let expected = steps / self.apart;
            return (expected * each, each.hypot(expected * deviation / self.count.sqrt()));
        }
        let times = steps / (self.apart * self.count);
        let expected = (self.count - BY_CHANCE) * times;
        // The rate is known from so many events, and their number varies by itself.
        let count_error = (self.count * times * times + self.count * times).sqrt();
        (expected * each, (each * count_error).hypot(expected * deviation))
    }
}

impl StepPace {
    /// Of the steps of a fit; `None` of fewer than three blocks.
    pub(crate) fn of(steps: &Steps<'_>) -> Option<Self> {
        let (early, steady) = steps.blocks.split_at(steps.warm_up_blocks());
        let apart = stalls(steady, steps.tick_s);
        let stalls = apart.as_ref().map(|(stalls, _)| *stalls);
        let usual: &[Block] = apart.as_ref().map_or(steady, |(_, usual)| usual);
        let blocks = joined(usual, (usual.len() / STEPS_PER_BLOCK).clamp(3, MOST_BLOCKS));
        let ticks = |blocks: &[Block]| blocks.iter().map(|block| block.ticks as f64).sum::<f64>();
        let count = |blocks: &[Block]| blocks.iter().map(|block| block.steps).sum::<u64>();
        (blocks.len() >= 3).then(|| Self {
            warm_up: count(early),
            warm_up_s: ticks(early) * steps.tick_s,
            seen_s: ticks(steps.blocks) * steps.tick_s,
            steps: count(steady),
            mean_s: ticks(usual) / count(usual).max(1) as f64 * steps.tick_s,
            means: blocks.iter().map(|block| block.mean_ticks() * steps.tick_s).collect(),
            stalls,
        })
    }

    /// The pace of the next `steps` steps but for stalls; seconds.
    pub(crate) fn usual(&self, steps: f64) -> Option<Pace> {
        let steps_per_block = (self.steps as f64 / self.means.len().max(1) as f64).max(1.0);
        let pace = pace(&self.means, steps / steps_per_block)?;
        // Stretches are only nearly of the same length.
        Some(Pace { mean: self.mean_s, ..pace })
    }

    /// The pace of the next `steps` steps with all that happens in them; seconds.
    pub(crate) fn ahead(&self, steps: f64) -> Option<Pace> {
        let usual = self.usual(steps)?;
        let Some(stalls) = self.stalls.filter(|_| steps > 0.0) else { return Some(usual) };
        let (seconds, error) = stalls.within(steps);
        Some(Pace { mean: usual.mean + seconds / steps, error: usual.error.hypot(error / steps), ..usual })
    }
}

impl<'a> Steps<'a> {
    /// Blocks at the start that say nothing of the steps to come.
    fn warm_up_blocks(&self) -> usize {
        let Some(length) = self.blocks.first().map(|block| block.steps.max(1)) else { return 0 };
        let total = self.blocks.len() as u64 * length;
        let settled = self.settling.warm_up_steps().filter(|steps| *steps <= total / LONGEST_WARM_UP);
        let skipped = self.cold_epoch().unwrap_or(0).max(settled.unwrap_or(0)).div_ceil(length);
        usize::try_from(skipped).map_or(self.blocks.len(), |skipped| skipped.min(self.blocks.len()))
    }

    /// Steps of the first epoch, where even its second half was slower than what came after it.
    fn cold_epoch(&self) -> Option<u64> {
        let steps = self.first_epoch?;
        let blocks = usize::try_from(steps / self.blocks.first()?.steps.max(1)).ok()?;
        let (first, later) = self.blocks.split_at_checked(blocks)?;
        let middle_of = |blocks: &[Block]| middle(&blocks.iter().map(Block::mean_ticks).collect::<Vec<_>>());
        let second_half = &first[first.len() / 2..];
        let enough = second_half.len() >= FEWEST_COLD && later.len() >= FEWEST_COLD;
        let slower = middle_of(second_half)? > COLD * middle_of(later)?;
        (enough && slower).then_some(steps)
    }
}

/// The stalls among single steps that are too rare for the mean or come regularly, and the steps without them.
fn stalls(blocks: &[Block], tick_s: f64) -> Option<(Stalls, Vec<Block>)> {
    if blocks.iter().any(|block| block.steps != 1) {
        return None;
    }
    let times: Vec<f64> = blocks.iter().map(|block| block.ticks as f64).collect();
    let usual = middle(&times)?;
    let places: Vec<usize> = (0..times.len()).filter(|at| times[*at] > STALL * usual).collect();
    let rare = (1..=MOST_RARE).contains(&places.len()) && times.len() >= FEWEST_STEPS * places.len();
    let regular = regular_distance(&places);
    if !rare && regular.is_none() {
        return None;
    }
    let costs: Vec<f64> = places.iter().map(|at| (times[*at] - usual) * tick_s).collect();
    let each = mean(&costs)?;
    let total: f64 = times.iter().sum::<f64>() * tick_s;
    let deviation = variance(&costs).map_or(SEEN_ONCE * each, f64::sqrt);
    let count = places.len() as f64;
    let apart = regular.unwrap_or(times.len() as f64 / count);
    let stalls = Stalls { count, apart, each: (each, deviation), regular: regular.is_some() };
    let mut without = blocks.to_vec();
    places.iter().for_each(|at| without[*at].ticks = usual as u64);
    (costs.iter().sum::<f64>() >= SMALL * total).then_some((stalls, without))
}

/// The distance of what came at equal distances, at least three times; `None` of anything else.
fn regular_distance(places: &[usize]) -> Option<f64> {
    let distances: Vec<f64> = places.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let usual = mean(&distances).filter(|_| distances.len() > 1)?;
    distances.iter().all(|distance| (distance / usual - 1.0).abs() <= REGULAR).then_some(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_S: f64 = 1e-3;

    fn blocks(times: &[u64]) -> Vec<Block> {
        times.iter().map(|ticks| Block { steps: 1, ticks: *ticks, ..Block::default() }).collect()
    }

    fn of(times: &[u64], settling: Settling, first_epoch: Option<u64>) -> StepPace {
        StepPace::of(&Steps { blocks: &blocks(times), settling, first_epoch, tick_s: TICK_S }).unwrap()
    }

    fn settled(times: &[u64]) -> StepPace {
        of(times, Settling::After(0), None)
    }

    #[test]
    fn one_rare_stall_is_an_event_of_unknown_rate_and_not_part_of_the_mean() {
        let mut times = vec![100; 200];
        times[77] = 5_000;
        let pace = settled(&times);
        assert!((pace.usual(1e4).unwrap().mean - 0.1).abs() < 1e-9);
        let (seconds, error) = pace.stalls.unwrap().within(10_000.0);
        assert!((seconds - 25.0 * 4.9).abs() < 1e-6, "{seconds}");
        assert!(error > seconds, "{error}: one event says little of its rate");
        assert!(pace.ahead(1e4).unwrap().error > 10.0 * pace.usual(1e4).unwrap().error);
    }

    #[test]
    fn stalls_that_come_often_stay_in_the_mean_and_regular_ones_are_paid_for_by_their_distance() {
        let mut often = vec![100; 200];
        [3, 50, 61, 120].iter().for_each(|at| often[*at] = 2_000);
        assert!(settled(&often).stalls.is_none());
        let mut regular = vec![100; 200];
        [40, 90, 140].iter().for_each(|at| regular[*at] = 2_000);
        let pace = settled(&regular);
        let ahead = pace.ahead(1e4).unwrap();
        assert!((ahead.mean - (0.1 + 1.9 / 50.0)).abs() < 1e-9, "{ahead:?}");
        assert!(ahead.error < 0.01 * ahead.mean, "{ahead:?}");
    }

    #[test]
    fn a_stall_that_hardly_counts_is_left_where_it_is() {
        let mut times = vec![100; 2_000];
        times[900] = 900;
        assert!(settled(&times).stalls.is_none());
    }

    #[test]
    fn the_first_epoch_is_left_out_where_the_later_steps_are_quicker() {
        let times: Vec<u64> = [vec![300; 40], vec![100; 12]].concat();
        let pace = of(&times, Settling::Never, Some(40));
        assert_eq!((pace.warm_up, pace.steps), (40, 12));
        assert!((pace.warm_up_s - 12.0).abs() < 1e-9 && (pace.means[0] - 0.1).abs() < 1e-9);
        assert_eq!(of(&times, Settling::Never, None).warm_up, 0);
        // Too few later steps to say so.
        assert_eq!(of(&times[..44], Settling::Never, Some(40)).warm_up, 0);
    }

    #[test]
    fn a_warm_up_of_half_the_steps_may_come_back_and_stays() {
        let times = [vec![300; 20], vec![100; 20]].concat();
        assert_eq!(of(&times, Settling::After(20), None).warm_up, 0);
        assert_eq!(of(&times, Settling::After(10), None).warm_up, 10);
    }
}
