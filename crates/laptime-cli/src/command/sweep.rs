//! `laptime sweep`: measures a command over a grid of settings, in random order, until it is precise.
//!
//! Every repeat is a run of its own in the sweep's folder, made as `laptime run` makes one, but in a session
//! of its own: nothing of it reaches the terminal, and nothing of it outlives its end.

mod conduct;
pub(super) mod execute;
mod progress;
pub(super) mod reason;
mod request;
mod state;
mod template;

use std::path::Path;
use std::time::{Duration, Instant};

use laptime_analyse::sweep::{Goal, Plan, PointStatus, Sweep, SweepStatus, Turn};
use laptime_launch::{Apart, Attach, Blocked, RealMachine, Watcher};
use laptime_store::{Collection, CollectionKind, Collections, Selected};

use super::report::refused;
use crate::Ending;
use crate::args::{PageArgs, SweepArgs, SweepForm};
use crate::chart::{Figure, NamedChart, sweep_charts, write_charts};
use crate::failure::Failure;
use crate::html::{Shell, sweep_page};
use crate::one_line::shown_path;
use crate::page_file::write_page;
use crate::screen::Screen;
use crate::text::{sweep_csv, sweep_markdown, sweep_text};
use conduct::{Attempt, World, conduct};
use execute::Executor;
use progress::Progress;
use state::Limits;
pub(crate) use state::SweepState;

/// What a sweep goes for when nothing else is said.
const GOAL: Goal = Goal { fewest: 3, most: 10, precision: 0.03, min_time_s: 0.5 };

/// What a power cut may cost, as for every log; waiting for the disk takes longer than a short repeat.
const SYNC_EVERY: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &SweepArgs, screen: &Screen) -> Result<Ending, Failure> {
    let catalogue = Collections::at(args.place.folder(), CollectionKind::Sweep);
    let (entry, mut state) = match &args.resume {
        Some(wanted) => resumed(&catalogue, wanted, args)?,
        None => begun(&catalogue, args)?,
    };
    let signals = Blocked::all();
    let watcher = Watcher::start();
    let mut world = Real {
        executor: Executor {
            runs: entry.runs(),
            attach: Attach { hooks: !state.no_hooks, ..Attach::default() },
            apart: Apart { signals: &signals, watcher: watcher.as_ref() },
            machine: Box::new(RealMachine::new()),
        },
        entry: &entry,
        began: Instant::now(),
        progress: Progress::new(screen, args.quiet),
        synced: Instant::now(),
        unkept: false,
    };
    conduct(&mut state, &mut world);
    world.progress.clear();
    let document = state.document();
    show(&document, &entry, &args.form, screen)?;
    ending(&document)
}

/// A new sweep. Everything is checked before anything is written.
fn begun(catalogue: &Collections, args: &SweepArgs) -> Result<(Collection, SweepState), Failure> {
    let now = laptime_record::anchor();
    let plan = Plan {
        parameters: args.parameters.clone(),
        command: args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        // The clock is as good as any other source of an order that nobody chose.
        seed: args.seed.unwrap_or(now.real_ns >> 10 & 0xffff_ffff),
        goal: goal(args, GOAL),
        target: args.target,
    };
    request::check(&plan, args.budget.is_some())?;
    let not_kept = |error: std::io::Error| Failure::new("could not keep the sweep").caused_by(&error);
    let entry = catalogue.create(now.real_ns).map_err(not_kept)?;
    let mut state = SweepState::new(&entry.id, now.real_ns, plan);
    state.no_hooks = args.no_hooks;
    state.limits = limits(args);
    state.take_over();
    entry.keep(&state.to_bytes(), true).map_err(not_kept)?;
    Ok((entry, state))
}

/// A resumed sweep; options given now override the kept ones.
fn resumed(
    catalogue: &Collections,
    wanted: &str,
    args: &SweepArgs,
) -> Result<(Collection, SweepState), Failure> {
    let asked = || match wanted {
        "" => "could not resume the latest sweep".to_owned(),
        id => format!("could not resume sweep `{id}`"),
    };
    let selected = if wanted.is_empty() { Selected::Latest } else { Selected::Named(wanted) };
    let entry = catalogue.find(selected).map_err(|error| refused(asked(), &error))?;
    let mut state = SweepState::read(&entry)?;
    if !state.take_over() {
        return Err(Failure::usage(asked()).because("another process is running it"));
    }
    state.plan.goal = goal(args, state.plan.goal);
    let given = limits(args);
    state.limits = Limits { timeout_s: given.timeout_s.or(state.limits.timeout_s), ..given };
    Ok((entry, state))
}

fn goal(args: &SweepArgs, known: Goal) -> Goal {
    let mut goal = Goal {
        precision: args.precision.unwrap_or(known.precision),
        min_time_s: args.min_time.map_or(known.min_time_s, |time| time.as_secs_f64()),
        ..known
    };
    if let Some(repeats) = args.repeats {
        (goal.fewest, goal.most) = (repeats.fewest, repeats.most);
    }
    goal
}

fn limits(args: &SweepArgs) -> Limits {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    Limits { budget_s: seconds(args.budget), timeout_s: seconds(args.timeout) }
}

/// The world as it is.
struct Real<'a> {
    executor: Executor<'a>,
    entry: &'a Collection,
    began: Instant,
    progress: Progress<'a>,
    /// When the state last went to the disk itself.
    synced: Instant,
    /// Whether it was said that the sweep cannot be kept.
    unkept: bool,
}

impl World for Real<'_> {
    fn measure(&mut self, state: &SweepState, turn: Turn, limit: Option<Duration>) -> Attempt {
        let Self { executor, progress, began, .. } = self;
        let began = *began;
        progress.begin(state, turn);
        executor.measure(&state.plan, turn, limit, &mut || progress.beat(state, turn, began.elapsed()))
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn keep(&mut self, state: &SweepState) {
        let over = state.status != SweepStatus::Running;
        let durable = over || self.synced.elapsed() >= SYNC_EVERY;
        if durable {
            self.synced = Instant::now();
        }
        if let Err(error) = self.entry.keep(&state.to_bytes(), durable)
            && !std::mem::replace(&mut self.unkept, true)
        {
            self.progress.warn(&format!("warning: the sweep cannot be kept: {error}"));
        }
        self.progress.made(state, self.began.elapsed());
    }
}

/// Shows a sweep in the form that was asked for.
pub(crate) fn show(
    sweep: &Sweep,
    entry: &Collection,
    form: &SweepForm,
    screen: &Screen,
) -> Result<(), Failure> {
    if let Some(folder) = &form.svg {
        show_charts(&sweep_charts(sweep), folder, screen)?;
    }
    match form {
        SweepForm { json: true, .. } => screen.show_json(sweep)?,
        SweepForm { page: PageArgs { html: Some(path) }, .. } => {
            let asked = format!("could not write the page of sweep {}", sweep.sweep.id);
            write_page(&sweep_page(sweep, &Shell::ALONE), path, &asked, screen)?;
        }
        SweepForm { csv: true, .. } => screen.show(sweep_csv(sweep).trim_end()),
        SweepForm { md: true, .. } => screen.show(sweep_markdown(sweep).trim_end()),
        _ => screen.show(sweep_text(sweep, &shown_path(&entry.path), &screen.style).trim_end()),
    }
    Ok(())
}

/// Writes charts into a folder and says how many there are.
fn show_charts(charts: &[NamedChart], folder: &Path, screen: &Screen) -> Result<(), Failure> {
    show_drawings(&[], charts, folder, screen)
}

/// As [`show_charts`], with figures of stages before them.
pub(super) fn show_drawings(
    figures: &[Figure],
    charts: &[NamedChart],
    folder: &Path,
    screen: &Screen,
) -> Result<(), Failure> {
    write_charts(figures, charts, folder).map_err(|error| {
        Failure::new(format!("could not write charts into {}", folder.display())).caused_by(&error)
    })?;
    let count = laptime_core::units::counted((figures.len() + charts.len()) as u64, "chart");
    screen.note(&format!("{count} in {}", shown_path(folder)));
    Ok(())
}

/// Points that fail are results; a sweep of which no point works is a failure.
fn ending(sweep: &Sweep) -> Result<Ending, Failure> {
    let with = |status: PointStatus| sweep.points.iter().filter(move |point| point.status == status);
    let failed = sweep.points.iter().find_map(|point| point.reason.as_deref());
    match (sweep.sweep.status, failed) {
        (SweepStatus::Interrupted, _) => Ok(Ending::Interrupted),
        (_, Some(reason)) if with(PointStatus::Finished).next().is_none() => {
            let asked = format!("no point of sweep {} succeeded", sweep.sweep.id);
            Err(Failure::new(asked)
                .because(reason)
                .hint(format!("their output is in {}", "stderr.txt of each run")))
        }
        _ => Ok(Ending::Done),
    }
}
