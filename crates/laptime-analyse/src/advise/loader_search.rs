//! Which setting of a loader to measure next, and which to choose.
//!
//! The answer follows from the trials made so far alone. Workers are tried by doubling until more of them bring
//! nothing, then what else may help around the best, and the best two are measured again in turns.

mod choice;
mod document;
mod pace;
mod point;
#[cfg(test)]
mod tests;

use serde::Serialize;

use choice::score;
pub use choice::{Bound, Choice, Limit, More};
pub use document::{LOADER_SCHEMA, LoaderReport, Need, needed_rate};
pub use pace::{Aim, Enough, Pace};
pub use point::Point;
use point::{points, same};

/// What a loader has by default.
const PREFETCH: u32 = 2;
/// The values of `prefetch_factor` that are tried.
const PREFETCHES: [u32; 3] = [PREFETCH, 4, 8];
/// Workers that only wait may be so many on a CPU.
const WAITING_PER_CPU: u32 = 4;
/// A gain below this is none: what trials of 3 % can tell apart.
const GAIN: f64 = 0.03;
/// Of settings that differ by less than this the cheapest is chosen.
const TOLERANCE: f64 = 0.02;
/// Settings that come this near to the best are measured again.
const CONTENDER: f64 = 0.9;
/// How much faster than the model a loader should be, so that its own noise does not make the model wait.
const MARGIN: f64 = 1.1;
/// Times of rounds that vary by more may gain by prefetching.
const UNEVEN: f64 = 0.25;
/// CPUs that are used to this share are busy.
const BUSY: f64 = 0.9;
/// The share of the free memory that workers may take.
const MEMORY_SHARE: f64 = 0.8;
/// More workers apart than this, and one between them is worth a trial.
const WIDE_RUNG: u32 = 4;

/// One setting of a loader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// `num_workers`.
    pub workers: u32,
    /// `prefetch_factor`; `None` without workers.
    pub prefetch: Option<u32>,
    /// `pin_memory`.
    pub pin: bool,
    /// `batch_size`; `None` for the loader's own.
    pub batch: Option<u64>,
    /// Whether each batch is copied to the GPU, which is where pinned memory shows.
    pub copied: bool,
}

impl Setting {
    fn of_workers(workers: u32, batch: Option<u64>) -> Self {
        let prefetch = (workers > 0).then_some(PREFETCH);
        Self { workers, prefetch, batch, ..Self::default() }
    }
}

/// What the loader may use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Host {
    /// CPUs this process may use, by affinity and quota.
    pub cpus: u32,
    /// Processes that train on this machine, each with a loader of its own.
    pub ranks: u32,
    /// Memory that is free.
    pub memory_bytes: Option<u64>,
    /// Whether there is a GPU to copy to.
    pub cuda: bool,
}

impl Host {
    /// CPUs for one of the processes that train.
    fn share(&self) -> u32 {
        (self.cpus / self.ranks.max(1)).max(1)
    }
}

/// What one trial of a setting measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trial {
    /// What was tried.
    pub setting: Setting,
    /// Samples a second after the first batches; 0 where it failed.
    pub samples_per_s: f64,
    /// Half the width of its 95 % interval, as a share of it; absent where batches were too few.
    pub error: Option<f64>,
    /// Seconds that this rests on.
    pub seconds: f64,
    /// Mean time between batches, seconds.
    pub batch_s: f64,
    /// From the begin of a pass to its first batch, workers started; seconds.
    pub first_batch_s: f64,
    /// CPUs that the process of the training used, 1 for one that was always busy.
    pub main_cpus: f64,
    /// CPUs that all workers together used.
    pub worker_cpus: f64,
    /// CPUs that other programs used.
    pub other_cpus: f64,
    /// Bytes that came from disk and not from memory.
    pub disk_bytes: u64,
    /// Memory that the largest worker shares with nobody.
    pub worker_bytes: Option<u64>,
    /// How much the times of rounds vary.
    pub unevenness: Option<f64>,
    /// Why it ended.
    pub ended: Option<Enough>,
    /// Why nothing was measured.
    pub failed: Option<String>,
}

impl Trial {
    /// Whether so much came from disk that the next pass over the same data will be faster.
    fn is_cold(&self) -> bool {
        self.disk_bytes >= 1 << 20
    }
}

/// A search: what is asked, and within which limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// What the loader may use.
    pub host: Host,
    /// Samples a second that the model takes when it never waits.
    pub needs: Option<f64>,
    /// Batch sizes to try, the loader's own first; empty where only that is.
    pub batches: Vec<u64>,
    /// Batches of a pass, where known.
    pub batches_per_pass: Option<u64>,
}

impl Search {
    /// The next setting to measure, and what for; `None` when the choice can be made.
    #[must_use]
    pub fn next(&self, trials: &[Trial]) -> Option<(Setting, Aim)> {
        let seen = Seen::of(self, trials);
        let best = seen.best().map(|point| point.samples_per_s);
        let on_the_way = |setting: Setting| {
            let goes_on = self.rungs(trials).last().is_some_and(|last| setting.workers < *last);
            (setting, Aim { best, goes_on, in_full: false })
        };
        let around = |setting| (setting, Aim { best, goes_on: false, in_full: false });
        let again = |setting| (setting, Aim { best, goes_on: false, in_full: true });
        seen.rung()
            .map(on_the_way)
            .or_else(|| seen.between().map(around))
            .or_else(|| seen.fewest().map(around))
            .or_else(|| seen.prefetch().map(around))
            .or_else(|| seen.batch().map(around))
            .or_else(|| seen.contender().map(again))
            .or_else(|| seen.cold_first().map(again))
            .or_else(|| seen.pinned().map(again))
    }

    /// Settings of the whole grid that the search chooses from: every number of workers, as far as they go.
    #[must_use]
    pub fn grid(&self, trials: &[Trial]) -> usize {
        let (with_workers, _) = self.most_workers(trials);
        let pins = if self.host.cuda { 2 } else { 1 };
        (1 + with_workers as usize * PREFETCHES.len()) * pins * self.batches.len().max(1)
    }

    /// Numbers of workers to try, from 0: doubled, with the number of CPUs among them.
    #[must_use]
    pub fn rungs(&self, trials: &[Trial]) -> Vec<u32> {
        let (most, _) = self.most_workers(trials);
        let share = self.host.share();
        let mut rungs = vec![0];
        let mut workers = 1;
        while workers <= most {
            rungs.push(workers);
            workers = if workers < share && share < workers * 2 { share } else { workers * 2 };
        }
        rungs
    }

    /// The most workers to try, and what bounds them.
    fn most_workers(&self, trials: &[Trial]) -> (u32, Bound) {
        let worker_bytes = trials.iter().filter_map(|trial| trial.worker_bytes).max();
        let by_memory = self.host.memory_bytes.zip(worker_bytes).map(|(free, each)| {
            let all = free as f64 * MEMORY_SHARE / f64::from(self.host.ranks.max(1));
            (all / each.max(1) as f64) as u32
        });
        let by_pass = self.batches_per_pass.map(|batches| u32::try_from(batches).unwrap_or(u32::MAX));
        let by_cpus = self.host.share().saturating_mul(WAITING_PER_CPU).max(2);
        let bounds = [(Some(by_cpus), Bound::Cpus), (by_memory, Bound::Memory), (by_pass, Bound::Pass)];
        let known = bounds.into_iter().filter_map(|(most, by)| Some((most?.max(1), by)));
        known.min_by_key(|(most, _)| *most).unwrap_or((1, Bound::Cpus))
    }
}

/// The trials of a search so far, as points.
struct Seen<'a> {
    search: &'a Search,
    trials: &'a [Trial],
    points: Vec<Point>,
}

impl<'a> Seen<'a> {
    fn of(search: &'a Search, trials: &'a [Trial]) -> Self {
        Self { search, trials, points: points(trials) }
    }

    fn at(&self, setting: Setting) -> Option<&Point> {
        self.points.iter().find(|point| point.setting == setting)
    }

    fn unless_seen(&self, setting: Setting) -> Option<Setting> {
        self.at(setting).is_none().then_some(setting)
    }

    fn score(&self, point: &Point) -> f64 {
        score(point, self.search.needs)
    }

    /// Points whose rates can be compared: those with a copy to the GPU are a matter of their own.
    fn compared(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|point| point.failed.is_none() && !point.setting.copied)
    }

    fn best(&self) -> Option<&Point> {
        self.compared().max_by(|a, b| self.score(a).total_cmp(&self.score(b)))
    }

    /// The cheapest of those that are as good as the best.
    fn chosen(&self) -> Option<&Point> {
        let enough = self.score(self.best()?) * (1.0 - TOLERANCE);
        let good = self.compared().filter(|point| self.score(point) >= enough);
        good.min_by_key(|point| point.cost())
    }

    /// Points of the workers alone, from none upwards, without those between the rungs.
    fn ladder(&self) -> Vec<&Point> {
        let batch = self.search.batches.first().copied();
        let rungs = self.search.rungs(self.trials);
        rungs.into_iter().map_while(|workers| self.at(Setting::of_workers(workers, batch))).collect()
    }

    /// The next number of workers, unless more are of no use.
    fn rung(&self) -> Option<Setting> {
        let climbed = self.ladder();
        if self.halt().is_some() {
            return None;
        }
        let next = self.search.rungs(self.trials).get(climbed.len()).copied()?;
        Some(Setting::of_workers(next, self.search.batches.first().copied()))
    }

    /// Between two far rungs of which the upper is a little worse: the best may lie between them.
    fn between(&self) -> Option<Setting> {
        let ladder = self.ladder();
        let [.., lower, upper] = ladder.as_slice() else { return None };
        let apart = upper.setting.workers - lower.setting.workers;
        let change = upper.samples_per_s / lower.samples_per_s - 1.0;
        let close = (-5.0 * GAIN..-GAIN).contains(&change);
        let open = apart >= WIDE_RUNG && close && !self.is_met() && upper.own_cpus() < self.busy_cpus();
        let middle = Setting { workers: lower.setting.workers + apart / 2, ..lower.setting };
        if open && lower.setting.workers > 0 { self.unless_seen(middle) } else { None }
    }

    /// The fewest workers that should be as good as the best, if each brings what the best of them brought.
    fn fewest(&self) -> Option<Setting> {
        let chosen = self.chosen().filter(|point| point.setting.workers > 1)?;
        let with_workers = self.compared().filter(|point| point.setting.workers > 0);
        let each = with_workers.map(|point| point.samples_per_s / f64::from(point.setting.workers));
        let each = each.fold(0.0, f64::max);
        let wanted = self.search.needs.map(|needs| needs * MARGIN).filter(|_| self.is_met());
        let wanted = wanted.unwrap_or(chosen.samples_per_s * (1.0 - TOLERANCE));
        let workers = (wanted / each - 1e-6).ceil() as u32;
        let known =
            self.compared().any(|point| (workers..chosen.setting.workers).contains(&point.setting.workers));
        let setting = Setting { workers, ..chosen.setting };
        if (1..chosen.setting.workers).contains(&workers) && !known {
            self.unless_seen(setting)
        } else {
            None
        }
    }

    /// More prefetching where batches differ in cost, for as long as it helps.
    fn prefetch(&self) -> Option<Setting> {
        let chosen = self.chosen().filter(|point| point.setting.workers > 0 && !self.is_met())?;
        let uneven = chosen.unevenness.is_some_and(|unevenness| unevenness > UNEVEN);
        let with = |prefetch| Setting { prefetch: Some(prefetch), ..chosen.setting };
        let [first, second, third] = PREFETCHES;
        let gained = || {
            Some(self.at(with(second))?.samples_per_s > self.at(with(first))?.samples_per_s * (1.0 + GAIN))
        };
        self.unless_seen(with(second))
            .filter(|_| uneven)
            .or_else(|| self.unless_seen(with(third)).filter(|_| gained() == Some(true)))
    }

    fn batch(&self) -> Option<Setting> {
        let ladder = self.ladder();
        // The others are measured with what is best for the first.
        let best = ladder.iter().copied().chain(self.compared());
        let own = best.filter(|point| point.setting.batch == self.search.batches.first().copied());
        let own = own.max_by(|a, b| self.score(a).total_cmp(&self.score(b)))?;
        let others = self.search.batches.iter().skip(1);
        others
            .map(|batch| Setting { batch: Some(*batch), ..own.setting })
            .find_map(|with| self.unless_seen(with))
    }

    /// One of the best two again, in turns; a single best only where it is not known well.
    fn contender(&self) -> Option<Setting> {
        let best = self.best()?;
        let near = |point: &&Point| self.score(point) >= self.score(best) * CONTENDER;
        let mut near: Vec<&Point> = self.compared().filter(near).collect();
        near.sort_by(|a, b| self.score(b).total_cmp(&self.score(a)));
        near.truncate(2);
        let is_settled = self.is_met() || (near.len() == 1 && best.ended == Some(Enough::Precise));
        let wanting = near.into_iter().filter(|point| point.trials < 2 && !is_settled);
        // The one whose trial is longer ago: so both are spread over the same time.
        let last = |point: &&Point| self.trials.iter().rposition(|trial| same(trial, point));
        wanting.min_by_key(last).map(|point| point.setting)
    }

    /// The first setting again where its data came from disk and that of the choice did not.
    fn cold_first(&self) -> Option<Setting> {
        let first = self.trials.first().filter(|trial| trial.is_cold())?;
        let chosen = self.chosen()?;
        let differs = chosen.setting != first.setting && !chosen.cold;
        let again = self.trials.iter().skip(1).any(|trial| trial.setting == first.setting);
        (differs && !again).then_some(first.setting)
    }

    /// The choice with each batch copied to the GPU, from usual and from pinned memory.
    fn pinned(&self) -> Option<Setting> {
        let chosen = self.chosen().filter(|_| self.search.host.cuda)?;
        let with = |pin| Setting { pin, copied: true, ..chosen.setting };
        self.unless_seen(with(false)).or_else(|| self.unless_seen(with(true)))
    }

    fn busy_cpus(&self) -> f64 {
        BUSY * f64::from(self.search.host.share())
    }

    /// Whether the model would not wait.
    fn is_met(&self) -> bool {
        let needs = self.search.needs;
        needs.is_some_and(|needs| {
            self.best().is_some_and(|best| self.score(best) >= needs * (1.0 - TOLERANCE))
        })
    }
}
