//! Watches a probe: how many steps were seen, and whether that is enough.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use laptime_analyse::compare::ComparedRun;
use laptime_analyse::forecast::{CannotForecast, Known, Plan, Score, WhatIf, forecast};
use laptime_core::Status;

use super::progress::Progress;
use crate::args::PredictArgs;
use crate::outlook::scores;
use crate::study::Study;

/// How long steps are watched, at least and at most, from the end of the first one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Length {
    least: Duration,
    most: Duration,
}

impl Length {
    /// Of the probe that a forecast is made from.
    pub(super) const FIRST: Self = Self { least: Duration::from_secs(20), most: Duration::from_secs(60) };
    /// Of one with another batch beside it.
    pub(super) const SECOND: Self = Self { least: Duration::from_secs(10), most: Duration::from_secs(10) };
}

/// How long the first step may take to come: large models are loaded and compiled first.
const START_UP: Duration = Duration::from_secs(120);
/// Between two looks at the growing run.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Between two forecasts: a simulation is not free.
const FORECAST_INTERVAL: Duration = Duration::from_secs(5);
/// A look takes the CPU from what is measured, so this many times as long it is left alone.
const REST: u32 = 50;
/// Half the interval as a share of the total that is narrow enough.
const NARROW: f64 = 0.03;

/// A probe that is watched.
pub(super) struct Watch<'a> {
    study: Option<Study>,
    path: Option<PathBuf>,
    limit: Option<Duration>,
    length: Length,
    plan: Plan,
    what_if: WhatIf,
    earlier: &'a [ComparedRun],
    scores: Vec<Score>,
    progress: Progress,
    began: Instant,
    /// When the first step was seen.
    stepped: Option<Instant>,
    steps: u64,
    next_look: Instant,
    next_forecast: Instant,
    /// The run when it was enough, and how long the probe had taken by then.
    enough: Option<(Duration, Option<ComparedRun>)>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        path: Option<PathBuf>,
        (args, length): (&PredictArgs, Length),
        earlier: &'a [ComparedRun],
        progress: Progress,
    ) -> Self {
        let now = Instant::now();
        Self {
            study: None,
            path,
            limit: args.seconds,
            length,
            plan: args.plan(),
            what_if: args.what_if(),
            earlier,
            scores: scores(),
            progress,
            began: now,
            stepped: None,
            steps: 0,
            next_look: now + LOOK_INTERVAL,
            next_forecast: now,
            enough: None,
        }
    }

    /// Whether enough was seen; to be asked a few times a second.
    pub(super) fn is_enough(&mut self) -> bool {
        let now = Instant::now();
        if self.enough.is_none() {
            let over = self.is_over();
            if over || now >= self.next_look {
                let narrow = self.look(over);
                if over || narrow {
                    self.stop();
                }
            }
        }
        self.progress.beat(self.began.elapsed(), self.steps, self.enough.is_some());
        self.enough.is_some()
    }

    /// How long the command was probed, where it was ended.
    pub(super) fn stopped_after(&self) -> Option<Duration> {
        self.enough.as_ref().map(|(after, _)| *after)
    }

    /// The run as it was then.
    pub(super) fn seen(self) -> Option<ComparedRun> {
        self.enough.and_then(|(_, run)| run)
    }

    /// Takes the progress off the screen.
    pub(super) fn clear(&self) {
        self.progress.clear();
    }

    /// Whether its time is over, whatever was seen.
    fn is_over(&self) -> bool {
        match (self.limit, self.stepped) {
            (Some(limit), _) => self.began.elapsed() >= limit,
            (None, Some(stepped)) => stepped.elapsed() >= self.length.most,
            (None, None) => self.began.elapsed() >= START_UP,
        }
    }

    /// Looks at what is new; `last` is all there will be. Says whether the forecast is as good as it will get.
    fn look(&mut self, last: bool) -> bool {
        let began = Instant::now();
        let mut narrow = false;
        if self.study.is_none() {
            let opened = self.path.as_deref().and_then(|path| Study::open(path).ok());
            self.study = opened.map(Study::without_profile);
        }
        if let Some(report) = self.study.as_mut().and_then(|study| study.report().ok()) {
            self.steps = report.fits.iter().map(|fit| fit.steps).sum();
            if self.steps > 0 && self.stepped.is_none() {
                self.stepped = Some(began);
            }
        }
        let settled = self.stepped.is_some_and(|stepped| stepped.elapsed() >= self.length.least);
        if self.limit.is_none() && !last && settled && began >= self.next_forecast {
            narrow = self.is_narrow();
            self.next_forecast = Instant::now() + FORECAST_INTERVAL.max(began.elapsed() * REST);
        }
        self.next_look = Instant::now() + LOOK_INTERVAL.max(began.elapsed() * REST);
        narrow
    }

    /// Whether looking on would not narrow the interval by much, or never help.
    fn is_narrow(&mut self) -> bool {
        let Some(run) = self.probed() else { return false };
        let known = Known { run: &run, earlier: self.earlier, scores: &self.scores };
        match forecast(&known, &self.plan, &self.what_if) {
            Ok(found) => {
                let total = found.total_s;
                (total.high - total.low) / 2.0 <= NARROW * total.mean
            }
            Err(CannotForecast::NoPlan | CannotForecast::CannotChange { .. }) => true,
            Err(_) => false,
        }
    }

    fn stop(&mut self) {
        let after = self.began.elapsed();
        let run = self.probed();
        self.enough = Some((after, run));
    }

    /// The run as one that was ended: of a probe nothing is left to wait for, a training begins anew.
    fn probed(&mut self) -> Option<ComparedRun> {
        let mut run = self.study.as_mut()?.compared_run().ok()?;
        if run.report.run.status == Status::Running {
            (run.report.run.status, run.report.time_left) = (Status::Killed, None);
        }
        Some(run)
    }
}
