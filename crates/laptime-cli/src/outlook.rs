//! The outlook of a command that runs: whether it makes its deadline, and forecasts that are graded at its end.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use laptime_analyse::compare::ComparedRun;
use laptime_analyse::forecast::{Forecast, Known, Plan, Score, WhatIf, forecast};
use laptime_analyse::{FitSummary, Report};
use laptime_core::{Estimate, RunMeta, Status, units};
use laptime_launch::{clock_time, data_folder, now_s};
use laptime_store::{Catalogue, ForecastRecord, Grade};

use crate::due::Due;
use crate::earlier_runs::earlier_runs;
use crate::screen::{Screen, note};
use crate::study::Study;
use crate::text::{Style, WITH_CLOCK_S, done_text, wrapped};

/// The points of a run at which a forecast is kept.
const MARKS: [f64; 4] = [0.01, 0.05, 0.2, 0.5];
/// Looks in a row at which the deadline must be out of reach: one interval of several may miss by chance.
const LATE_LOOKS: u32 = 2;
/// A shorter run says nothing about forecasts, seconds.
const SHORTEST_GRADED_S: f64 = 10.0;
/// Before this there is nothing to see.
const FIRST_LOOK: Duration = Duration::from_secs(3);
/// Looks get rarer as the run grows: a fiftieth of its time is as near as a mark needs to be met.
const LOOKS: u32 = 50;
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// What is watched of a command while it runs.
pub(crate) struct Outlook {
    due: Option<Due>,
    style: Style,
    /// Whether the time left is said on the terminal.
    speaks: bool,
    scores: Vec<Score>,
    /// Where earlier runs are, until they are read.
    unread: Option<PathBuf>,
    /// What the training that is resumed says before this run does.
    earlier: Vec<ComparedRun>,
    kept: Vec<Kept>,
    late_looks: u32,
    warned: bool,
}

/// A forecast to be graded.
struct Kept {
    mark: f64,
    seen_s: f64,
    total_s: Estimate,
    width: f64,
    calibrated: bool,
}

impl Outlook {
    /// Begins to watch a run among those of a folder; `quiet` says nothing but warnings.
    pub(crate) fn new(runs: &Path, due: Option<Due>, quiet: bool, screen: &Screen) -> Self {
        Self {
            due,
            style: *screen.error_style(),
            speaks: !quiet && io::stderr().is_terminal(),
            scores: scores(),
            unread: Some(runs.to_owned()),
            earlier: Vec::new(),
            kept: Vec::new(),
            late_looks: 0,
            warned: false,
        }
    }

    /// When to look next, so long after the begin.
    pub(crate) fn interval(elapsed: Duration) -> Duration {
        if elapsed < FIRST_LOOK {
            return FIRST_LOOK - elapsed;
        }
        LOOK_INTERVAL.max(elapsed / LOOKS)
    }

    /// Looks at the run, of which this is the newest report.
    pub(crate) fn look(&mut self, report: &Report, study: &mut Study) {
        self.read_earlier(report);
        // Before a run says anything of its own, the one that it resumes does.
        if report.time_left.is_none() && self.earlier.is_empty() {
            return;
        }
        let minds = self.due.is_some() && !self.warned;
        let is_due = |share| minds || self.due_mark(share).is_some();
        let share = |left: f64| report.wall_s / (report.wall_s + left);
        if report.time_left.is_some_and(|left| !is_due(share(left.mean))) {
            return;
        }
        let Some((found, left)) =
            self.forecast(study).and_then(|found| found.left_s.map(|left| (found, left)))
        else {
            return;
        };
        self.mind_the_deadline(report, left);
        if let Some(mark) = self.due_mark(share(left.mean)) {
            let (total_s, width, calibrated) = (found.total_s, found.width, found.calibrated);
            self.kept.push(Kept { mark, seen_s: report.wall_s, total_s, width, calibrated });
            self.say(&found);
        }
    }

    /// Reads earlier runs of the script, once there is a training to hold them against.
    fn read_earlier(&mut self, report: &Report) {
        if report.fits.is_empty() {
            return;
        }
        let Some(runs) = self.unread.take() else { return };
        let (id, command) = (report.run.id.clone(), report.run.command.clone());
        self.earlier = earlier_runs(&Catalogue::at(runs), &RunMeta { id, command, ..RunMeta::default() });
    }

    /// The newest mark that was passed and has no forecast yet.
    fn due_mark(&self, share: f64) -> Option<f64> {
        let passed = MARKS.into_iter().rfind(|mark| share >= *mark)?;
        self.kept.last().is_none_or(|kept| kept.mark < passed).then_some(passed)
    }

    fn forecast(&self, study: &mut Study) -> Option<Forecast> {
        let run = study.compared_run().ok()?;
        let known = Known { run: &run, earlier: &self.earlier, scores: &self.scores };
        forecast(&known, &Plan::default(), &WhatIf::default()).ok()
    }

    /// Says the time left, clock time first. A line of the command may be open, which it does not continue.
    fn say(&self, found: &Forecast) {
        let Some(left) = found.left_s.filter(|_| self.speaks && found.total_s.mean >= WITH_CLOCK_S) else {
            return;
        };
        note(&format!("\n{}", self.lines(&format!("laptime: {}", done_text(left, now_s())))));
    }

    /// Warns once, as soon as it is clear that the deadline will be missed.
    fn mind_the_deadline(&mut self, report: &Report, left: Estimate) {
        // One that may end early may well be in time.
        let is_bound = report.fits.last().is_some_and(FitSummary::may_end_early);
        let Some(due) = self.due.filter(|_| !self.warned && !is_bound) else { return };
        let now = now_s();
        let until = due.left_s(now);
        self.late_looks = if left.low > until { self.late_looks + 1 } else { 0 };
        if self.late_looks >= LATE_LOOKS || until <= 0.0 {
            self.warned = true;
            let fit = report.fits.last();
            let fits = fit.and_then(|fit| epochs_by(fit, report.wall_s, left.mean, until));
            let fits = fits.map(|fits| format!("; {fits}")).unwrap_or_default();
            let (by, done) = (due.words(now), done_text(left, now));
            let text = format!("laptime: warning: this will not be done by {by}: {done}{fits}");
            note(&self.lines(&text));
        }
    }

    fn lines(&self, text: &str) -> String {
        self.style.fitted(&wrapped(text, self.style.width, "", "  ").join("\n"))
    }

    /// Whether the end of the run is of interest.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.kept.is_empty() || self.due.is_some()
    }

    /// Grades the forecasts of a run that has ended, and says how they and the deadline came out.
    pub(crate) fn end(self, report: &Report) -> Vec<String> {
        let is_graded = report.run.status == Status::Finished
            && report.wall_s >= SHORTEST_GRADED_S
            && report.fits.iter().all(made_its_plan);
        let mut lines = Vec::new();
        if is_graded {
            lines.extend(self.kept.first().map(|kept| kept.graded_text(report.wall_s)));
            self.keep_grades(report);
        }
        lines.extend(self.due.and_then(|due| deadline_text(due, now_s())));
        lines.iter().map(|line| self.lines(line)).collect()
    }

    /// What cannot be kept costs nobody a run.
    fn keep_grades(&self, report: &Report) {
        let at_s = now_s();
        let grades: Vec<Grade> = self.kept.iter().map(|kept| kept.grade(report, at_s)).collect();
        let _ = data_folder().map(|folder| ForecastRecord::at(&folder).append(&grades));
    }
}

impl Kept {
    /// `predicted 31h00m (29h42m–33h12m) at 5 %, took 30h24m`
    fn graded_text(&self, took_s: f64) -> String {
        let Estimate { mean, low, high, .. } = self.total_s;
        format!(
            "predicted {} ({}) at {}, took {}",
            units::duration(mean),
            units::interval(low, high),
            units::percent(self.mark).replace(".0 %", " %"),
            units::duration(took_s)
        )
    }

    fn grade(&self, report: &Report, at_s: f64) -> Grade {
        Grade {
            at_s,
            run: report.run.id.clone(),
            name: report.run.name.clone(),
            mark: self.mark,
            seen_s: self.seen_s,
            predicted_s: self.total_s.mean,
            low_s: self.total_s.low,
            high_s: self.total_s.high,
            width: self.width,
            calibrated: self.calibrated,
            took_s: report.wall_s,
        }
    }
}

/// Finished forecasts of this machine, newest last.
pub(crate) fn scores() -> Vec<Score> {
    let grades = data_folder().map(|folder| ForecastRecord::at(&folder).read()).unwrap_or_default();
    grades
        .iter()
        .map(|grade| Score { log_ratio: grade.log_ratio(), width: grade.width, progress: grade.mark })
        .collect()
}

/// `22 of 30 epochs fit`, by the pace so far and to come; `None` of a training without a number of epochs.
fn epochs_by(fit: &FitSummary, elapsed_s: f64, left_s: f64, until_s: f64) -> Option<String> {
    let planned = fit.planned_epochs?;
    let begun_s = (elapsed_s - fit.wall_s).max(0.0);
    let share = (elapsed_s + until_s.max(0.0) - begun_s) / (elapsed_s + left_s - begun_s);
    let fitting = ((planned as f64 * share) as u64).clamp(fit.epochs, planned);
    Some(format!("{} of {} fit", units::count(fitting), units::counted(planned, "epoch")))
}

/// Whether a training did all that it was to do; one that ended early says nothing about a forecast of all of it.
fn made_its_plan(fit: &FitSummary) -> bool {
    match (fit.planned_epochs, fit.planned_steps) {
        (Some(planned), _) => fit.epochs == planned,
        (None, Some(planned)) => fit.steps == planned,
        (None, None) => false,
    }
}

/// How a deadline that was asked for came out; the end of a job is only of interest while it lies ahead.
fn deadline_text(due: Due, now: f64) -> Option<String> {
    let time = clock_time(due.at_s, now);
    match due.left_s(now) {
        left if left >= 0.0 => (!due.is_job_end)
            .then(|| format!("done before the deadline at {time}: {} to spare", units::waiting(left))),
        late => Some(format!("the deadline at {time} was missed by {}", units::waiting(-late))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outlook() -> Outlook {
        Outlook {
            due: None,
            style: Style::default(),
            speaks: false,
            scores: Vec::new(),
            unread: None,
            earlier: Vec::new(),
            kept: Vec::new(),
            late_looks: 0,
            warned: false,
        }
    }

    fn kept(mark: f64) -> Kept {
        let total_s = Estimate { mean: 111_600.0, low: 106_920.0, high: 119_520.0, level: 0.9 };
        Kept { mark, seen_s: 1.0, total_s, width: 0.06, calibrated: false }
    }

    #[test]
    fn each_mark_is_kept_once_and_one_that_was_passed_unseen_is_left_out() {
        let mut outlook = outlook();
        assert_eq!(outlook.due_mark(0.009), None);
        assert_eq!(outlook.due_mark(0.06), Some(0.05));
        outlook.kept.push(kept(0.05));
        assert_eq!((outlook.due_mark(0.19), outlook.due_mark(0.3)), (None, Some(0.2)));
        outlook.kept.push(kept(0.5));
        assert_eq!(outlook.due_mark(0.99), None);
    }

    #[test]
    fn looks_get_rarer_as_the_run_grows() {
        let interval = |seconds| Outlook::interval(Duration::from_secs(seconds)).as_secs();
        assert_eq!((interval(0), interval(3), interval(60), interval(36_000)), (3, 2, 2, 720));
    }

    #[test]
    fn a_forecast_is_shown_beside_what_the_run_took() {
        assert_eq!(kept(0.05).graded_text(109_440.0), "predicted 1d07h (1d06h–1d09h) at 5 %, took 1d06h");
    }
}
