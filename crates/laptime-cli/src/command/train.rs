//! `laptime train`: trains reference models, recorded, and reports on them.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use laptime_analyse::Report;
use laptime_core::{RunMeta, Status};
use laptime_launch::is_inside_a_run;
use laptime_record::{Finished, Options, ProgramStart, Recorder};
use laptime_store::salvage_rings;
use laptime_train::{DataSource, Ended, ModelKind, Plan, Prepared, TrainError, UnknownName, Until};

use crate::Ending;
use crate::args::{BatchSize, DataChoice, Output, Place, TrainArgs, unknown_model};
use crate::due::Due;
use crate::export::tensorboard::{Board, check_folder, on_the_board};
use crate::failure::{EXIT_USAGE, Failure};
use crate::live::{Live, Unfinished, Views};
use crate::one_line::shown_path;
use crate::outlook::Outlook;
use crate::screen::Screen;
use crate::study::Study;
use crate::text::report_text;

/// The most epochs towards a goal, by default: ten times as many as without one.
const EPOCHS_TO_A_GOAL: u64 = 100;

/// What a training is called, where it is kept and how it is shown.
pub(crate) struct Session<'a> {
    pub(crate) name: String,
    pub(crate) place: &'a Place,
    pub(crate) output: Output,
    /// Where TensorBoard finds it.
    pub(crate) tensorboard: Option<&'a Path>,
}

pub(crate) fn run(began: &ProgramStart, args: &TrainArgs, screen: &Screen) -> Result<Ending, Failure> {
    let plans = plans(args)?;
    let name = args.name.clone().unwrap_or_else(|| args.model.clone());
    let tensorboard = args.board.tensorboard.as_deref();
    let session = Session { name, place: &args.place, output: args.output, tensorboard };
    train(began, &plans, &session, screen)
}

/// One plan for each number of rows and each batch size that was asked for.
fn plans(args: &TrainArgs) -> Result<Vec<Plan>, Failure> {
    let known = ModelKind::ALL.map(ModelKind::name);
    let model: ModelKind = args.model.parse().map_err(|_| unknown_model(&args.model, &known))?;
    let base = base_plan(model, args)?;
    let rows: Vec<Option<u64>> =
        if args.rows.is_empty() { vec![base.rows] } else { args.rows.iter().copied().map(Some).collect() };
    let batches: Vec<Option<usize>> = if args.batch.is_empty() {
        vec![base.batch]
    } else {
        args.batch.iter().map(|batch| batch_rows(*batch)).collect()
    };
    let plan = |rows, batch| Plan { rows, batch, ..base.clone() };
    Ok(rows.iter().flat_map(|rows| batches.iter().map(move |batch| plan(*rows, *batch))).collect())
}

fn batch_rows(batch: BatchSize) -> Option<usize> {
    match batch {
        BatchSize::Full => None,
        BatchSize::Rows(rows) => Some(usize::try_from(rows).unwrap_or(usize::MAX)),
    }
}

fn base_plan(model: ModelKind, args: &TrainArgs) -> Result<Plan, Failure> {
    check_sizes(model, args).map_err(|error| not_trained(model.name(), &error))?;
    let defaults = Plan::new(model);
    let until = until(args);
    let epochs = if until.is_some() { EPOCHS_TO_A_GOAL } else { defaults.epochs };
    Ok(Plan {
        data: match &args.data {
            DataChoice::Generated => DataSource::Generated,
            DataChoice::File(path) => DataSource::File(path.clone()),
        },
        features: args.features,
        epochs: args.epochs.unwrap_or(epochs),
        seed: args.seed,
        threads: args.threads.unwrap_or(defaults.threads),
        layers: args.layers.unwrap_or(defaults.layers),
        width: args.width.unwrap_or(defaults.width),
        kernel: args.kernel.unwrap_or(defaults.kernel),
        optimizer: named(model, args.optimizer.as_deref())?.unwrap_or(defaults.optimizer),
        lr: args.lr,
        validate: args.validate.unwrap_or(defaults.validate),
        loss: named(model, args.loss.as_deref())?,
        schedule: named(model, args.schedule.as_deref())?.unwrap_or_default(),
        dtype: named(model, args.dtype.as_deref())?.unwrap_or_default(),
        accumulate: args.accumulate.unwrap_or(defaults.accumulate),
        clip: args.clip,
        dropout: args.dropout.unwrap_or(defaults.dropout),
        weight_decay: args.weight_decay,
        early_stop: args.early_stop,
        until,
        checkpoint_every: args.checkpoint_every,
        ..defaults
    })
}

fn until(args: &TrainArgs) -> Option<Until> {
    args.until_loss.map(Until::Loss).or(args.until_accuracy.map(Until::Accuracy))
}

/// What was typed as one of some names.
fn named<T: FromStr<Err = UnknownName>>(model: ModelKind, typed: Option<&str>) -> Result<Option<T>, Failure> {
    typed.map(str::parse).transpose().map_err(|error: UnknownName| not_trained(model.name(), &error.into()))
}

/// Refuses sizes that the model does not have, which would otherwise be passed over in silence.
fn check_sizes(model: ModelKind, args: &TrainArgs) -> Result<(), TrainError> {
    let linear = model == ModelKind::Linear;
    let given = [
        ("layers", args.layers.is_some() && linear),
        ("width", args.width.is_some() && linear),
        ("kernel", args.kernel.is_some() && model != ModelKind::Cnn),
    ];
    match given.into_iter().find(|(_, refused)| *refused) {
        Some((setting, _)) => Err(TrainError::NotChoosable { setting, place: format!("the {model} model") }),
        None => Ok(()),
    }
}

fn not_trained(model: &str, error: &TrainError) -> Failure {
    let mut failure = Failure::new(format!("could not train `{model}`")).caused_by(error);
    if let TrainError::Open { path, .. } = error {
        failure.asked = format!("could not train `{model}` on {}", path.display());
    }
    failure.hint = error.hint();
    if error.is_bad_request() {
        failure.exit = EXIT_USAGE;
    }
    failure
}

/// Trains one plan after the other as one run. Everything is checked before anything is written.
pub(crate) fn train(
    began: &ProgramStart,
    plans: &[Plan],
    session: &Session<'_>,
    screen: &Screen,
) -> Result<Ending, Failure> {
    let model = plans.first().map_or("", |plan| plan.model.name());
    let refused = |error: TrainError| not_trained(model, &error);
    let prepared: Vec<Prepared> =
        plans.iter().map(Prepared::new).collect::<Result<_, _>>().map_err(refused)?;
    if let Some(dir) = session.tensorboard {
        check_folder(dir, format!("could not train `{model}`"))?;
    }
    salvage_rings();
    let stop = stop_on_request();
    let recorder = Recorder::start(&options(began, &prepared, session));
    let mut warned = warn_if_not_kept(&recorder, screen);
    let live = Live::follow(recorder.run(), views(session, screen));
    let outcome = train_all(prepared, &recorder, &stop);
    let unfinished = live.end();
    let finished = finish(recorder, &outcome);
    if finished.unsaved.is_some() && !warned {
        warned = true;
        screen.note("warning: the run could not be kept in full; the report says what is missing");
    }
    let kept = finished.run.clone().filter(|_| !warned).map(|run| shown_path(&run));
    show(finished, unfinished, kept.as_deref(), session, screen)?;
    match outcome {
        Ok(ending) => Ok(ending),
        Err(error) => {
            let failure = Failure { exit: crate::failure::EXIT_FAILED, ..not_trained(model, &error) };
            Err(match kept {
                Some(kept) => failure.kept(format!("the run as failed, in {kept}")),
                None => failure,
            })
        }
    }
}

fn views(session: &Session<'_>, screen: &Screen) -> Views {
    // The line says the time left; a forecast is only kept to be graded. Inside a `laptime run` that one keeps it.
    let outlook =
        (!is_inside_a_run()).then(|| Outlook::new(&session.place.folder(), Due::of_run(None), true, screen));
    let views = Views::default().with_board(session.tensorboard.map(Board::new)).with_outlook(outlook);
    if session.output.quiet { views } else { views.with_line(screen) }
}

/// Set by Ctrl-C and by a request to terminate; a second Ctrl-C ends the program at once.
fn stop_on_request() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let requested = Arc::clone(&stop);
    // Where no handler can be installed, Ctrl-C ends the program and the run is kept as killed.
    let _ = ctrlc::set_handler(move || {
        if requested.swap(true, Ordering::Relaxed) {
            std::process::abort();
        }
    });
    stop
}

fn options(began: &ProgramStart, prepared: &[Prepared], session: &Session<'_>) -> Options {
    let meta = RunMeta {
        name: session.name.clone(),
        command: std::env::args().collect(),
        frameworks: vec!["laptime".into()],
        device: Some("cpu".into()),
        threads: prepared.first().map(Prepared::threads),
        engine: prepared.first().map(|first| first.engine().to_owned()),
        peak_flops_per_s: prepared.first().and_then(Prepared::peak_flops_per_s),
        ..RunMeta::default()
    };
    let root = session.place.folder();
    Options { root: Some(root), meta, rank: 0, began: Some(began.clone()), ..Options::default() }
}

fn warn_if_not_kept(recorder: &Recorder, screen: &Screen) -> bool {
    let Some(error) = recorder.trouble() else { return false };
    screen.note(&format!("warning: this run will not be kept: {error}"));
    true
}

fn train_all(prepared: Vec<Prepared>, recorder: &Recorder, stop: &AtomicBool) -> Result<Ending, TrainError> {
    for one in prepared {
        if one.train(recorder, stop)?.ended == Ended::Interrupted {
            return Ok(Ending::Interrupted);
        }
    }
    Ok(Ending::Done)
}

fn finish(recorder: Recorder, outcome: &Result<Ending, TrainError>) -> Finished {
    match outcome {
        Ok(Ending::Interrupted) => recorder.finish(Status::Killed, Some("interrupted".into())),
        Ok(_) => recorder.finish(Status::Finished, None),
        Err(error) => recorder.finish(Status::Failed, Some(error.to_string())),
    }
}

fn show(
    finished: Finished,
    unfinished: Unfinished,
    kept: Option<&str>,
    session: &Session<'_>,
    screen: &Screen,
) -> Result<(), Failure> {
    let report = Study::of_finished(finished)
        .report()
        .map_err(|error| Failure::new("could not report on the run").caused_by(&error))?;
    let mut notes: Vec<String> =
        unfinished.board.map(|board| complete(board, &report, screen)).into_iter().collect();
    notes.extend(unfinished.outlook.map(|outlook| outlook.end(&report)).unwrap_or_default());
    if session.output.json {
        return screen.show_json(&report);
    }
    screen.show(report_text(&report, kept, &screen.style).trim_end());
    if !session.output.quiet {
        notes.iter().for_each(|note| screen.note(note));
    }
    Ok(())
}

/// Writes the end of a run for TensorBoard; gives a line that says where it is.
pub(crate) fn complete(mut board: Board, report: &Report, screen: &Screen) -> String {
    if let Some(warning) = board.see(report) {
        screen.note(&warning);
    }
    let (dir, written) = board.written();
    on_the_board(dir, written)
}
