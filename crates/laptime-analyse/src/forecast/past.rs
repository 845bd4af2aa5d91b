//! Past: what a run showed of its training.

use laptime_core::Status;

use super::document::CannotForecast;
use crate::compare::ComparedRun;
use crate::outlook::settled_costs;
use crate::recurring::{Recurring, SEEN_ONCE};
use crate::report::{EpochSummary, FitSummary, LapKind, Report};
use crate::step_pace::StepPace;
use crate::surroundings::Surroundings;

/// What tearing down takes of what importing took: 0.31 to 0.48 in 20 runs of PyTorch and Keras.
const TEAR_DOWN_OF_IMPORTS: f64 = 0.4;
/// How far one tear-down is from another of the same command, as a share.
const TEAR_DOWN_DIFFERS: f64 = 0.25;
/// Fewer steps than this have no variance between moments.
const FEWEST_STEPS: u64 = 3;

/// What a run showed of the training that is forecast.
#[derive(Clone, Debug)]
pub(super) struct Past<'a> {
    /// The run.
    pub(super) run: &'a ComparedRun,
    /// Its report.
    pub(super) report: &'a Report,
    /// The training: the one that is open or was ended early, else the one that took the most time.
    pub(super) fit: &'a FitSummary,
    /// What its steps take.
    pub(super) pace: StepPace,
    /// What it does outside its steps.
    pub(super) surroundings: &'a Surroundings,
}

/// What follows an epoch, or comes between steps where there are no epochs; seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Around {
    /// What one takes.
    pub(super) cost: Recurring,
    /// The share of it that is evaluation, and that is checkpoints.
    pub(super) evaluation: f64,
    pub(super) checkpoint: f64,
}

impl<'a> Past<'a> {
    /// Of a run.
    pub(super) fn of(run: &'a ComparedRun) -> Result<Self, CannotForecast> {
        let report = &run.report;
        let trained = || report.fits.iter().filter(|fit| fit.steps > 0);
        let fit = match report.run.status {
            Status::Finished => trained().max_by(|a, b| a.wall_s.total_cmp(&b.wall_s)),
            _ => trained().next_back(),
        };
        let fit = fit.ok_or(CannotForecast::NeverStepped)?;
        let few = CannotForecast::TooFewSteps { steps: fit.steps, needed: FEWEST_STEPS };
        let (pace, surroundings) =
            run.step_pace(fit.index).zip(run.surroundings(fit.index)).ok_or(few.clone())?;
        if fit.steps < FEWEST_STEPS { Err(few) } else { Ok(Self { run, report, fit, pace, surroundings }) }
    }

    /// Whether a training is the same as this one, as far as both say: another start of it, with more or fewer epochs.
    pub(super) fn is_same_training(&self, other: &FitSummary) -> bool {
        let same =
            |one: Option<u64>, other: Option<u64>| one.zip(other).is_none_or(|(one, other)| one == other);
        same(self.fit.parameters, other.parameters)
            && same(self.fit.batch, other.batch)
            && same(self.fit.rows, other.rows)
            && same(self.fit.steps_per_epoch, other.steps_per_epoch)
    }

    /// Its laps in time order.
    pub(super) fn laps(&self) -> impl DoubleEndedIterator<Item = &'a EpochSummary> {
        let index = self.fit.index;
        self.report.epochs.iter().filter(move |lap| lap.fit == index)
    }

    /// Whether it has epochs.
    pub(super) fn has_epochs(&self) -> bool {
        self.laps().any(|lap| lap.kind != LapKind::Window)
    }

    /// Whether the training came to its end.
    pub(super) fn is_finished(&self) -> bool {
        self.report.run.status == Status::Finished
    }

    /// Whether it goes on.
    pub(super) fn is_running(&self) -> bool {
        self.report.run.status == Status::Running
    }

    /// Seconds of a stage within the fit.
    pub(super) fn stage_s(&self, stage: &str) -> f64 {
        self.fit.stages.get(stage).copied().unwrap_or(0.0).max(0.0)
    }

    /// What follows an epoch; `None` before one has ended.
    pub(super) fn after_epoch(&self) -> Option<Around> {
        Recurring::of(settled_costs(&self.surroundings.costs)).map(|cost| self.around(cost))
    }

    /// What comes between the steps of a training without epochs, for each of its steps.
    pub(super) fn pauses(&self) -> Option<Around> {
        let pauses = Recurring::of_spread(&self.surroundings.pauses)?;
        let apart = self.fit.steps as f64 / self.surroundings.pauses.count as f64;
        Some(self.around(pauses.spread_over(apart)))
    }

    /// What is done within epochs but in no step, per step, before an epoch has ended.
    pub(super) fn inside(&self) -> Around {
        let each_s = self.surroundings.inside_s / self.fit.steps.max(1) as f64;
        self.around(Recurring::supposed(each_s, SEEN_ONCE))
    }

    fn around(&self, cost: Recurring) -> Around {
        let (evaluation, checkpoint) = (self.stage_s("evaluate"), self.stage_s("checkpoint"));
        let outside =
            (self.fit.wall_s - self.surroundings.before_s - self.pace.seen_s).max(evaluation + checkpoint);
        let share = |seconds: f64| if outside > 0.0 { (seconds / outside).min(1.0) } else { 0.0 };
        Around { cost, evaluation: share(evaluation), checkpoint: share(checkpoint) }
    }

    /// From the start of the command to the first epoch, without other trainings; seconds.
    pub(super) fn start_up_s(&self) -> f64 {
        self.report.start_up.as_ref().map_or(0.0, |start_up| start_up.seconds) + self.surroundings.before_s
    }

    /// Other trainings of the run, seconds.
    pub(super) fn others_s(&self) -> f64 {
        self.report.fits.iter().filter(|fit| fit.index != self.fit.index).map(|fit| fit.wall_s).sum()
    }

    /// What comes after the training: as it was seen, in this run or in an earlier one of the same training, else by what
    /// it imported, all of which is taken down again.
    pub(super) fn tear_down(&self, earlier: &[Self]) -> Recurring {
        let seen = |past: &Self| {
            let rows = past.report.ledger.iter().filter(|row| row.stage == "tear_down");
            past.is_finished().then(|| rows.map(|row| row.seconds).sum::<f64>())
        };
        let same = || earlier.iter().rev().filter(|past| past.is_same_training(self.fit));
        let imports = || self.report.start_up.as_ref().map_or(0.0, |start_up| start_up.imports_s);
        match seen(self).or_else(|| same().find_map(seen)) {
            Some(seconds) => Recurring::supposed(seconds, TEAR_DOWN_DIFFERS),
            None => Recurring::supposed(TEAR_DOWN_OF_IMPORTS * imports(), SEEN_ONCE),
        }
    }
}
