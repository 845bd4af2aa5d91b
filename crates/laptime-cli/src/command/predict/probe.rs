//! The probe: the real command for a while, in a session of its own, its checkpoints and models written elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use laptime_analyse::Warning;
use laptime_analyse::compare::ComparedRun;
use laptime_analyse::forecast::CannotForecast;
use laptime_core::{Change, RunMeta, Status, units};
use laptime_launch::program::{run_name, words};
use laptime_launch::{Apart, Attach, Blocked, Job, Supervisor, Watched, Watcher};
use laptime_record::{Finished, Options, anchor};
use laptime_store::{Catalogue, Collection, CollectionKind, Collections};

use super::progress::Progress;
use super::typed_text;
use super::watch::{Length, Watch};
use crate::args::PredictArgs;
use crate::command::run::program::look_up;
use crate::command::sweep::execute::own_program;
use crate::command::sweep::reason::{ended_badly, last_line};
use crate::earlier_runs::earlier_runs;
use crate::failure::Failure;
use crate::one_line::shown_path;
use crate::prediction::{Prediction, Probed};
use crate::screen::Screen;
use crate::study::Study;
use crate::text::warning_text;

/// Which a Python of the command makes when it takes the hooks that keep the user's files from it.
const BEGAN: &str = "began";
/// In which the hooks list what the command opened for writing.
const OPENED: &str = "opened.txt";
/// More files than these are not worth reading about.
const MOST_OPENED: usize = 1000;

/// A command that was probed.
pub(super) struct Probe {
    pub(super) run: ComparedRun,
    /// Earlier runs of the same command.
    pub(super) earlier: Vec<ComparedRun>,
    pub(super) probed: Probed,
    pub(super) place: Place,
    typed: Vec<String>,
    /// Its last words.
    last_line: String,
}

/// Where a probe is kept, apart from the user's runs.
pub(super) struct Place {
    collection: Collection,
}

/// What the command writes while it is probed; goes when this does.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed lies in the probe's own folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Probes the command; `None` when somebody asked to end. Where another batch is asked for, a second and shorter probe with
/// a smaller batch says what a step and its memory cost whatever the batch.
pub(super) fn run(args: &PredictArgs, screen: &Screen) -> Result<Option<Probe>, Failure> {
    let typed: Vec<String> =
        words(&args.command).iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let program = typed.first().map_or("", String::as_str);
    if program != "laptime" {
        look_up(program.as_ref()).map_err(|failure| {
            let hint = failure.hint.map(|hint| hint.replace("laptime run", "laptime predict"));
            Failure { hint, ..failure }
        })?;
    }
    let signals = Blocked::all();
    let watcher = Watcher::start();
    let catalogue = Catalogue::at(args.place.folder());
    let mut earlier = earlier_runs(&catalogue, &RunMeta { command: typed.clone(), ..RunMeta::default() });
    let place = Place::make(args.place.folder(), &typed)?;
    let apart = Apart { signals: &signals, watcher: watcher.as_ref() };
    let probing = Probing { args, screen, typed: &typed, place: &place, apart };
    let first = probing.once(&args.change, Length::FIRST, &earlier);
    let Some(mut once) = first? else {
        place.remove();
        return Ok(None);
    };
    if let Some(batch) = smaller_batch(args, &once.run, &earlier) {
        let changes = [&args.change[..], &[Change::new("batch_size", batch)]].concat();
        match probing.once(&changes, Length::SECOND, &earlier) {
            Ok(Some(second)) => {
                once.probed.second_batch = Some(batch);
                once.probed.seconds += second.probed.seconds;
                earlier.push(second.run);
            }
            Ok(None) => {
                place.remove();
                return Ok(None);
            }
            // The first one is good without it.
            Err(failure) => {
                let because = failure.because.first().cloned().unwrap_or_default();
                screen.note(&format!("warning: a batch of {batch} could not be probed: {because}"));
            }
        }
    }
    let Once { run, probed, last_line } = once;
    Ok(Some(Probe { run, earlier, probed, place, typed, last_line }))
}

/// A batch to probe besides, for what another batch makes of a training; `None` where none was asked for or earlier runs
/// say it. Larger ones than the script's may not fit.
fn smaller_batch(args: &PredictArgs, run: &ComparedRun, earlier: &[ComparedRun]) -> Option<u64> {
    let (asked, fit) = (args.batch?, run.report.fits.last()?);
    let is_changed = args.change.iter().any(|change| change.name == "batch_size");
    let batch = fit.batch.filter(|batch| *batch > 1 && *batch != asked && !is_changed)?;
    let is_known = |run: &ComparedRun| {
        let fits = run.report.fits.iter();
        fits.clone()
            .any(|other| other.parameters == fit.parameters && other.batch.is_some_and(|b| b != batch))
    };
    (!earlier.iter().any(is_known)).then(|| asked.min(batch / 2))
}

/// What is probed, and how.
struct Probing<'a> {
    args: &'a PredictArgs,
    screen: &'a Screen,
    typed: &'a [String],
    place: &'a Place,
    apart: Apart<'a>,
}

/// One probe.
struct Once {
    run: ComparedRun,
    probed: Probed,
    /// The last words of the command.
    last_line: String,
}

impl Probing<'_> {
    /// Runs the command for a while; `None` when somebody asked to end.
    fn once(
        &self,
        changes: &[Change],
        length: Length,
        earlier: &[ComparedRun],
    ) -> Result<Option<Once>, Failure> {
        let (args, typed, place) = (self.args, self.typed, self.place);
        let scratch = place.scratch(typed)?;
        let job = Job {
            words: own_program(typed),
            folder: None,
            attach: Attach {
                hooks: true,
                probe: Some(scratch.0.clone()),
                changes: changes.to_vec(),
                ..Attach::default()
            },
        };
        let meta = RunMeta { name: run_name(typed), command: typed.to_vec(), ..RunMeta::default() };
        let supervisor =
            Supervisor::start(&Options { root: Some(place.collection.runs()), meta, ..Options::default() });
        let progress = Progress::new(self.screen, args, &typed_text(typed));
        let run = supervisor.run().map(Path::to_owned);
        let mut watch = Watch::new(run, (args, length), earlier, progress);
        let began = Instant::now();
        let ran = self.apart.run_part(&job, supervisor, &mut || watch.is_enough());
        watch.clear();
        let (watched, finished) = ran.map_err(|error| asked(typed).caused_by(&error))?;
        if watched.interrupted {
            return Ok(None);
        }
        let probed = Probed {
            seconds: watch.stopped_after().unwrap_or_else(|| began.elapsed()).as_secs_f64(),
            ended: !watched.timed_out,
            guarded: scratch.0.join(BEGAN).exists(),
            opened: opened(&scratch.0, place),
            second_batch: None,
        };
        let last_line = finished.run.as_deref().map(last_line).unwrap_or_default();
        refuse_crash(typed, &watched, &last_line, finished.run.as_deref())
            .map_err(|failure| with_guard(failure, probed.guarded))?;
        let run = read(watch.seen(), finished).map_err(|error| asked(typed).caused_by(&error))?;
        Ok(Some(Once { run, probed, last_line }))
    }
}

/// A run as it was when enough of it was seen: what an interrupt does to it is no part of the training. One that ended
/// by itself is read in full, and so is one without a step: why the hooks were not there is known at its end.
fn read(seen: Option<ComparedRun>, finished: Finished) -> Result<ComparedRun, laptime_store::StoreError> {
    match seen.filter(|run| run.report.fits.iter().any(|fit| fit.steps > 0)) {
        Some(run) => Ok(run),
        None => Study::of_finished(finished).without_profile().compared_run(),
    }
}

fn asked(typed: &[String]) -> Failure {
    Failure::new(format!("could not probe `{}`", typed_text(typed)))
}

/// Refuses a command that failed by itself: what it did until then says nothing of a whole training.
fn refuse_crash(
    typed: &[String],
    watched: &Watched,
    last_line: &str,
    run: Option<&Path>,
) -> Result<(), Failure> {
    if watched.timed_out || watched.ended.status().0 == Status::Finished {
        return Ok(());
    }
    let outcome = ended_badly(watched.ended, None, last_line);
    let failure = asked(typed)
        .because(format!("it failed: {}", outcome.reason().unwrap_or("it did not finish")))
        .hint(format!("laptime run -- {}", typed_text(typed)));
    Err(match run {
        Some(run) => failure.kept(format!("what it wrote is in {}", shown_path(run))),
        None => failure,
    })
}

/// Adds that the user's files were not kept from the command, where that is so.
fn with_guard(failure: Failure, guarded: bool) -> Failure {
    match guarded {
        true => failure,
        false => failure.because("no Python of it took the hooks, so what it wrote is where it always is"),
    }
}

/// Files the command opened for writing elsewhere, each once.
fn opened(scratch: &Path, place: &Place) -> Vec<String> {
    let text = fs::read(scratch.join(OPENED)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let own = [scratch, place.collection.path.as_path()];
    let is_theirs = |path: &&str| {
        let system = ["/dev/", "/proc/", "/sys/"].iter().any(|folder| path.starts_with(folder));
        // Temporary files are gone by now.
        Path::new(path).exists() && !system && !own.iter().any(|folder| Path::new(path).starts_with(folder))
    };
    let mut files: Vec<String> = text.lines().filter(is_theirs).map(str::to_owned).collect();
    files.sort();
    files.dedup();
    files.truncate(MOST_OPENED);
    files
}

impl Place {
    fn make(runs: PathBuf, typed: &[String]) -> Result<Self, Failure> {
        let probes = Collections::at(runs, CollectionKind::Probe);
        let made = probes.create(anchor().real_ns);
        made.map(|collection| Self { collection }).map_err(|error| asked(typed).caused_by(&error))
    }

    fn scratch(&self, typed: &[String]) -> Result<Scratch, Failure> {
        let folder = self.collection.path.join("scratch");
        fs::create_dir(&folder).map_err(|error| asked(typed).caused_by(&error))?;
        Ok(Scratch(folder))
    }

    /// Keeps what was predicted beside the probe's run; it is worth showing without it.
    pub(super) fn keep(&self, prediction: &Prediction, screen: &Screen) {
        let text = serde_json::to_vec_pretty(prediction).unwrap_or_default();
        if let Err(error) = self.collection.keep(&text, false) {
            screen.note(&format!("warning: the forecast cannot be kept: {error}"));
        }
    }

    /// Takes it back: half a probe says nothing.
    fn remove(self) {
        let _ = fs::remove_dir_all(&self.collection.path);
    }
}

impl Probe {
    /// The first thing that could not be recorded.
    fn trouble(&self) -> Option<String> {
        let mut warnings = self.run.report.warnings.iter();
        warnings.find(|warning| matches!(warning, Warning::Trouble { .. })).map(warning_text)
    }

    /// Why nothing can be predicted from the probe.
    pub(super) fn impossible(&self, because: &CannotForecast) -> Failure {
        let seconds = units::waiting(self.probed.seconds);
        let typed = typed_text(&self.typed);
        let failure = Failure::new(format!("could not predict `{typed}`")).caused_by(because);
        let stepped = !matches!(because, CannotForecast::NeverStepped);
        let failure = match (self.probed.ended, stepped) {
            (true, _) => failure.because(format!("it ended by itself after {seconds}")),
            (false, true) => failure,
            (false, false) => {
                let said = match self.last_line.is_empty() {
                    true => String::new(),
                    false => format!("; the last it said was: {}", self.last_line),
                };
                failure.because(format!("it was probed for {seconds}{said}"))
            }
        };
        let failure = match self.trouble().filter(|_| !stepped) {
            Some(trouble) => failure.because(trouble),
            None => failure,
        };
        let failure = with_guard(failure, self.probed.guarded);
        let longer = (self.probed.seconds * 5.0 / 60.0).ceil().max(1.0);
        match because {
            CannotForecast::NeverStepped | CannotForecast::TooFewSteps { .. } if !self.probed.ended => {
                failure.hint(format!("look longer: laptime predict --seconds {longer}m -- {typed}"))
            }
            _ => Failure { hint: because.hint().map(str::to_owned), ..failure },
        }
    }
}
