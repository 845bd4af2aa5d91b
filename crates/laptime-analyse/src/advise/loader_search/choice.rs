//! The choice among the settings that were measured, and why no more would help.

use serde::Serialize;

use super::point::Point;
use super::{BUSY, GAIN, MARGIN, Search, Seen, TOLERANCE, Trial};

/// What is limited when more workers bring nothing, from what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Limit {
    /// The model would not wait.
    NeedMet,
    /// The CPUs are busy.
    Cpus {
        /// CPUs that the loader used.
        used: f64,
        /// CPUs that other programs used.
        others: f64,
        /// CPUs there are for it.
        cpus: u32,
    },
    /// The process that receives the batches is busy.
    MainProcess {
        /// The share of a CPU that it used.
        cpus: f64,
    },
    /// The workers wait for something that they share, such as a disk.
    Waiting {
        /// The share of a CPU that each worker used.
        each: f64,
    },
    /// To hand batches over costs more than the workers bring.
    HandingOver {
        /// Workers of the best setting with any.
        workers: u32,
        /// Its samples a second.
        samples_per_s: f64,
    },
    /// No more were tried.
    Bound {
        /// The most.
        most: u32,
        /// What bounds them.
        by: Bound,
    },
    /// More failed.
    Failed {
        /// With so many workers.
        workers: u32,
        /// Why.
        reason: String,
    },
    /// The search was ended before it came to more.
    TimeOver,
}

/// What bounds the number of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// CPUs, shared by the processes that train.
    Cpus,
    /// Free memory.
    Memory,
    /// Batches of a pass.
    Pass,
}

/// What the next larger number of workers that was tried brought.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct More {
    /// So many workers.
    pub workers: u32,
    /// The gain over the choice, as a share of it; below 0 for a loss.
    pub gain: f64,
    /// What the two rates may be off by together, as a share.
    pub noise: Option<f64>,
}

/// The setting to use, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The setting with its measurements.
    pub point: Point,
    /// `pin_memory`; absent where there is no GPU to tell by.
    pub pin: Option<bool>,
    /// How many times as fast as without workers.
    pub over_no_workers: Option<f64>,
    /// Whether the model would not wait; absent where its need is unknown.
    pub meets_need: Option<bool>,
    /// Why more would not help.
    pub limit: Limit,
    /// What more workers brought, where that was tried.
    pub more: Option<More>,
    /// What starting the workers takes of a pass, as a share; absent where the length of a pass is unknown.
    pub start_share: Option<f64>,
}

/// Samples a second that a training would get of a loader, where its need is known; else what the loader gives.
///
/// Without workers, batches are loaded between the steps; with workers, meanwhile.
pub(super) fn score(point: &Point, needs: Option<f64>) -> f64 {
    let rate = point.samples_per_s;
    match needs {
        None => rate,
        Some(_) if rate <= 0.0 => 0.0,
        Some(needs) if point.setting.workers == 0 => 1.0 / (1.0 / rate + 1.0 / needs),
        Some(needs) => (rate / MARGIN).min(needs),
    }
}

impl Search {
    /// The setting to use; `None` where nothing could be measured.
    #[must_use]
    pub fn choice(&self, trials: &[Trial]) -> Option<Choice> {
        let seen = Seen::of(self, trials);
        let chosen = seen.chosen()?.clone();
        let bare = seen
            .compared()
            .find(|point| point.setting.workers == 0 && point.setting.batch == chosen.setting.batch);
        let over_no_workers = bare.map(|bare| chosen.samples_per_s / bare.samples_per_s);
        let more = seen.more_than(&chosen);
        let limit = seen.limit(&chosen);
        let pass_s = self.batches_per_pass.map(|batches| batches as f64 * chosen.batch_s);
        Some(Choice {
            pin: seen.pin(&chosen),
            over_no_workers: over_no_workers.filter(|_| chosen.setting.workers > 0),
            meets_need: self.needs.map(|needs| score(&chosen, Some(needs)) >= needs * (1.0 - TOLERANCE)),
            limit,
            more,
            start_share: pass_s.map(|pass| chosen.first_batch_s / (pass + chosen.first_batch_s)),
            point: chosen,
        })
    }
}

impl Seen<'_> {
    /// Why more workers than the highest tried so far are of no use; `None` where they may be.
    pub(super) fn halt(&self) -> Option<Limit> {
        let ladder = self.ladder();
        let top = ladder.last()?;
        if let Some(reason) = &top.failed {
            return Some(Limit::Failed { workers: top.setting.workers, reason: reason.clone() });
        }
        if self.is_met() {
            return Some(Limit::NeedMet);
        }
        if top.setting.workers > 0 && (top.own_cpus() >= self.busy_cpus() || top.main_cpus >= BUSY) {
            return Some(self.occupied(top));
        }
        if let [.., below, top] = ladder.as_slice()
            && top.setting.workers > 1
            && top.samples_per_s <= below.samples_per_s * (1.0 + GAIN)
        {
            return Some(self.occupied(top));
        }
        let (most, by) = self.search.most_workers(self.trials);
        let is_last = self.search.rungs(self.trials).len() <= ladder.len();
        is_last.then_some(Limit::Bound { most: top.setting.workers.min(most), by })
    }

    /// What is busy while a setting runs, or that nothing is.
    fn occupied(&self, point: &Point) -> Limit {
        let cpus = self.search.host.share();
        let all = point.own_cpus() + point.other_cpus;
        if point.main_cpus >= BUSY && point.main_cpus >= point.worker_cpus {
            Limit::MainProcess { cpus: point.main_cpus }
        } else if all >= BUSY * f64::from(cpus) {
            Limit::Cpus { used: point.own_cpus(), others: point.other_cpus, cpus }
        } else {
            Limit::Waiting { each: point.worker_cpus / f64::from(point.setting.workers.max(1)) }
        }
    }

    fn limit(&self, chosen: &Point) -> Limit {
        let halt = self.halt().unwrap_or(Limit::TimeOver);
        let with_workers = self.compared().filter(|point| point.setting.workers > 0);
        let fewest_last = |a: &Point, b: &Point| b.setting.workers.cmp(&a.setting.workers);
        let best = with_workers
            .max_by(|a, b| a.samples_per_s.total_cmp(&b.samples_per_s).then_with(|| fewest_last(a, b)));
        match (halt, best) {
            (Limit::NeedMet, _) => Limit::NeedMet,
            (_, Some(best)) if chosen.setting.workers == 0 => self.why_none(best),
            // The highest was no better than fewer: what kept it from being so.
            (Limit::Bound { .. }, _) if self.more_than(chosen).is_some() => {
                self.occupied(self.ladder().last().copied().unwrap_or(chosen))
            }
            (halt, _) => halt,
        }
    }

    /// Why even the best setting with workers is worse than none: others have the CPUs, or they cost too much.
    fn why_none(&self, best: &Point) -> Limit {
        match self.occupied(best) {
            Limit::Cpus { used, others, cpus } if others >= (1.0 - BUSY) * f64::from(cpus) => {
                Limit::Cpus { used, others, cpus }
            }
            _ => Limit::HandingOver { workers: best.setting.workers, samples_per_s: best.samples_per_s },
        }
    }

    /// The next larger number of workers, beside the choice.
    fn more_than(&self, chosen: &Point) -> Option<More> {
        let alike = |point: &&Point| {
            point.setting.workers > chosen.setting.workers.max(1)
                && point.setting.batch == chosen.setting.batch
        };
        let next = self.compared().filter(alike).min_by_key(|point| point.setting.workers)?;
        let noise = next.error.zip(chosen.error).map(|(a, b)| a.hypot(b));
        Some(More {
            workers: next.setting.workers,
            gain: next.samples_per_s / chosen.samples_per_s - 1.0,
            noise,
        })
    }

    /// Whether pinned memory makes the copy to the GPU faster.
    fn pin(&self, chosen: &Point) -> Option<bool> {
        let with = |pin| {
            let setting = super::Setting { pin, copied: true, ..chosen.setting };
            self.at(setting).filter(|point| point.failed.is_none())
        };
        Some(with(true)?.samples_per_s > with(false)?.samples_per_s * (1.0 + TOLERANCE))
    }
}
