//! `laptime pack`: any dataset as one that training reads without waiting.

mod progress;
mod target;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use laptime_data::pack::{Opened, PackWatch, PythonCommand, SourceError, open_source, write_pack};
use laptime_launch::program::python;
use laptime_load::pack::{Pack, PackError, PackOptions, PackWriter};

use crate::Ending;
use crate::args::PackArgs;
use crate::failure::Failure;
use crate::packed::{PackedColumn, PackedDocument, VerifiedDocument};
use crate::screen::Screen;
use crate::text::{packed_text, verified_text};

use progress::Progress;
use target::{default_target, partial_of};

/// Bytes of a part where rows cost Python's time: an interrupted pack loses no more than this.
const COSTLY_PART_BYTES: u64 = 64 << 20;

pub(crate) fn run(args: &PackArgs, screen: &Screen) -> Result<Ending, Failure> {
    let watch = Arc::new(PackWatch::default());
    stop_on_request(&watch);
    if args.verify {
        return verify(args, &watch, screen);
    }
    let target = args.output.clone().unwrap_or_else(|| default_target(&args.sources));
    let packed = pack(args, &target, &watch, screen);
    let packed = match packed {
        Err(SourceError::Stopped) => {
            screen.note(&stopped_text(&target));
            return Ok(Ending::Interrupted);
        }
        packed => packed.map_err(|error| explain(args, &target, &error))?,
    };
    match args.json {
        true => screen.show_json(&packed)?,
        false => screen.show(packed_text(&packed, &screen.style).trim_end()),
    }
    Ok(Ending::Done)
}

fn pack(
    args: &PackArgs,
    target: &Path,
    watch: &Arc<PackWatch>,
    screen: &Screen,
) -> Result<PackedDocument, SourceError> {
    // Asked before a long look at the source; the writer asks again.
    if !args.force && target.symlink_metadata().is_ok() {
        return Err(PackError::Exists { path: target.to_owned() }.into());
    }
    let began = Instant::now();
    let Opened { source, provenance, format, costly } =
        open_source(&args.sources, &args.options(PythonCommand { program: python() }))?;
    let mut options = PackOptions { overwrite: args.force, ..PackOptions::default() };
    if costly {
        options.part_bytes = COSTLY_PART_BYTES;
    }
    let source_bytes = provenance.source_bytes;
    let writer = PackWriter::create(target, source.schema().clone(), provenance, options)?;
    let resumed_rows = writer.resumed_rows();
    let progress = Progress::follow(watch, "packing", args.quiet, screen);
    let threads = args.threads.map_or_else(all_cpus, |threads| threads as usize);
    let summary = write_pack(&*source, writer, threads, watch)?;
    drop(progress);
    Ok(PackedDocument {
        schema: PackedDocument::SCHEMA,
        pack: target.to_string_lossy().into_owned(),
        source: shown_sources(&args.sources),
        format: format.to_owned(),
        rows: summary.rows,
        resumed_rows,
        columns: source.schema().columns.iter().map(PackedColumn::of).collect(),
        bytes: summary.bytes,
        parts: summary.parts,
        source_bytes,
        seconds: began.elapsed().as_secs_f64(),
        remarks: source.remarks(),
    })
}

fn all_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn shown_sources(sources: &[PathBuf]) -> String {
    match sources {
        [one] => one.to_string_lossy().into_owned(),
        [first, rest @ ..] => format!("{} and {} more", first.to_string_lossy(), rest.len()),
        [] => String::new(),
    }
}

fn explain(args: &PackArgs, target: &Path, error: &SourceError) -> Failure {
    let asked = format!("could not pack {}", shown_sources(&args.sources));
    let failure = match error {
        SourceError::Write(PackError::Exists { .. }) => {
            return Failure::usage(asked)
                .because(format!("there is already something at {}", target.display()))
                .hint("--force replaces it; -o NAME.pack writes another one");
        }
        SourceError::Python { problem, traceback } => {
            traceback.iter().fold(Failure::new(asked).because(problem.clone()), |failure, line| {
                failure.because(line.clone())
            })
        }
        error => Failure::new(asked).caused_by(error),
    };
    let failure = match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    };
    match partial_of(target) {
        Some(partial) => failure
            .kept(format!("finished parts in {}; the same command goes on with them", partial.display())),
        None => failure,
    }
}

fn stopped_text(target: &Path) -> String {
    match partial_of(target) {
        Some(partial) => format!(
            "stopped: finished parts are kept in {}; the same command goes on with them",
            partial.display()
        ),
        None => {
            format!("stopped before a part was finished: nothing is kept, {} is not there", target.display())
        }
    }
}

fn verify(args: &PackArgs, watch: &Arc<PackWatch>, screen: &Screen) -> Result<Ending, Failure> {
    let [path] = args.sources.as_slice() else {
        return Err(Failure::usage("could not verify several packs at once")
            .because("--verify takes one pack")
            .hint("laptime pack --verify train.pack"));
    };
    let began = Instant::now();
    let asked = || format!("could not verify {}", path.display());
    let explain = |error: &PackError| {
        let failure = Failure::new(asked()).caused_by(error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    };
    let progress = Progress::follow(watch, "verifying", args.quiet, screen);
    let checked = Pack::open(path).and_then(|pack| {
        // What is checked cannot be stopped half-way, so Ctrl-C ends the program at the second time.
        pack.verify(&mut |done, all| watch.set_done(done, all)).map(|()| pack)
    });
    drop(progress);
    let seconds = began.elapsed().as_secs_f64();
    let damage = checked.as_ref().err().map(ToString::to_string);
    if args.json {
        let (rows, bytes) =
            checked.as_ref().map_or((None, None), |pack| (Some(pack.rows()), Some(pack.bytes())));
        let pack = path.to_string_lossy().into_owned();
        let schema = PackedDocument::SCHEMA;
        screen.show_json(&VerifiedDocument {
            schema,
            pack,
            intact: damage.is_none(),
            damage,
            rows,
            bytes,
            seconds,
        })?;
    }
    let pack = checked.map_err(|error| explain(&error))?;
    if !args.json {
        screen.show(verified_text(&path.to_string_lossy(), &pack, seconds, &screen.style).trim_end());
    }
    Ok(Ending::Done)
}

/// The first Ctrl-C ends the packing and keeps what is finished; a second ends the program at once.
fn stop_on_request(watch: &Arc<PackWatch>) {
    let watch = Arc::clone(watch);
    // Where no handler can be installed, Ctrl-C ends the program.
    let _ = ctrlc::set_handler(move || {
        if watch.stopped() {
            std::process::abort();
        }
        watch.stop();
    });
}
