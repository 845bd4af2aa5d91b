//! `laptime pack`: any dataset as one that training reads without waiting.

mod progress;
mod server;
mod spread;
mod target;
mod wire;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use laptime_data::pack::{
    Opened, PackSource, PackWatch, PythonCommand, SourceError, open_source, write_pack,
};
use laptime_launch::program::python;
use laptime_load::pack::{Pack, PackError, PackOptions, PackWriter};

use crate::Ending;
use crate::args::PackArgs;
use crate::failure::Failure;
use crate::packed::{PackedColumn, PackedDocument, VerifiedDocument};
use crate::screen::{self, Screen};
use crate::text::{packed_text, verified_text};

use super::cluster::{Cluster, ClusterNode, NoCluster, Wanted};
use progress::Progress;
pub use server::BlockServer;
use server::WireSource;
use spread::Spread;
use target::{default_target, is_pack, partial_of, tidy};

/// Bytes of a part where rows cost Python's time: an interrupted pack loses no more than this.
const COSTLY_PART_BYTES: u64 = 64 << 20;

/// What a shell reports for a command that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// A cluster and its nodes.
type Connected = (Cluster, Vec<ClusterNode>);

/// What Ctrl-C and whoever shows progress know of the work.
#[derive(Debug, Default)]
struct Work {
    watch: Arc<PackWatch>,
    /// Whether a pack is being written, so that there is something to keep.
    writing: AtomicBool,
}

pub(crate) fn run(args: &PackArgs, screen: &Screen) -> Result<Ending, Failure> {
    let work = Arc::new(Work::default());
    stop_on_request(&work);
    if args.verify {
        return verify(args, &work.watch, screen);
    }
    let target = tidy(&args.output.clone().unwrap_or_else(|| default_target(&args.sources)));
    // Asked before a long look at the source; the writer asks again.
    if target.symlink_metadata().is_ok() && !(args.force && is_pack(&target)) {
        return Err(occupied(args, &target));
    }
    let cluster = cluster(args)?;
    let packed = match pack(args, &target, &work, cluster, screen) {
        Err(SourceError::Stopped) => {
            screen.note(&stopped_text(&target));
            return Ok(Ending::Interrupted);
        }
        packed => packed.map_err(|error| explain(args, &target, &error, &work))?,
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
    work: &Work,
    cluster: Option<Connected>,
    screen: &Screen,
) -> Result<PackedDocument, SourceError> {
    let began = Instant::now();
    let Opened { source, provenance, format, costly } =
        open_source(&args.sources, &args.options(PythonCommand { program: python() }))?;
    let mut options = PackOptions { overwrite: args.force, ..PackOptions::default() };
    if costly {
        options.part_bytes = COSTLY_PART_BYTES;
    }
    let source_bytes = provenance.source_bytes;
    work.writing.store(true, Ordering::Release);
    let writer = PackWriter::create(target, source.schema().clone(), provenance, options)?;
    let resumed_rows = writer.resumed_rows();
    let progress = Progress::follow(&work.watch, "packing", args.quiet, screen);
    let (source, threads) = spread_out(args, source, cluster, screen);
    let summary = write_pack(&*source, writer, threads, &work.watch)?;
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

/// The cluster that is to read, where one is named.
fn cluster(args: &PackArgs) -> Result<Option<Connected>, Failure> {
    let Some(wanted) = Wanted::of(&args.cluster) else { return Ok(None) };
    let asked = format!("could not pack {} on Ray", shown_sources(&args.sources));
    // Ctrl-C ends the program while it waits for the cluster.
    Cluster::connect(&asked, &wanted, &mut || false).map(Some).map_err(|none| match none {
        NoCluster::Failed(failure) => failure,
        NoCluster::Interrupted => Failure::new(asked),
    })
}

/// How the blocks are read: by this machine or by a cluster, and how many at a time.
fn spread_out(
    args: &PackArgs,
    source: Box<dyn PackSource>,
    cluster: Option<Connected>,
    screen: &Screen,
) -> (Box<dyn PackSource>, usize) {
    let threads = args.threads.map(|threads| threads as usize);
    let here = threads.unwrap_or_else(all_cpus);
    let Some((cluster, nodes)) = cluster else { return (source, here) };
    let Some(blocks) = source.blocks().filter(|_| source.most_threads() > 1) else {
        screen.note("this source is gone through once, from its begin to its end, so it is read here");
        return (source, here);
    };
    let cpus = args.cluster.cpus.unwrap_or(1.0).max(0.1);
    let all: usize = nodes.iter().map(|node| (f64::from(node.node.cpus) / cpus).max(1.0) as usize).sum();
    let request = WireSource::of(&args.sources, &args.options(PythonCommand::default()), blocks);
    (Box::new(Spread::new(source, request, (cluster, nodes))), threads.unwrap_or(all))
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

/// There is something where the pack would be: a pack is replaced when that is asked for, anything else never.
fn occupied(args: &PackArgs, target: &Path) -> Failure {
    let (what, hint) = match is_pack(target) {
        true => ("something", "--force replaces it; -o NAME.pack writes another one"),
        false => ("something that is no pack", "-o NAME.pack writes the pack under another name"),
    };
    Failure::usage(format!("could not pack {}", shown_sources(&args.sources)))
        .because(format!("there is already {what} at {}", target.display()))
        .hint(hint)
}

fn explain(args: &PackArgs, target: &Path, error: &SourceError, work: &Work) -> Failure {
    let asked = format!("could not pack {}", shown_sources(&args.sources));
    let failure = match error {
        SourceError::Write(PackError::Exists { .. }) => return occupied(args, target),
        SourceError::Python { problem, traceback } => {
            traceback.iter().fold(Failure::new(asked).because(problem.clone()), |failure, line| {
                failure.because(line.clone())
            })
        }
        error => Failure::new(asked).caused_by(error),
    };
    let hint = match error {
        // What it says of finished parts is true only where there are some.
        SourceError::Write(PackError::Io { source, .. })
            if source.kind() == io::ErrorKind::StorageFull && partial_of(target).is_none() =>
        {
            Some("free some space and pack again".to_owned())
        }
        error => error.hint(),
    };
    let failure = match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    };
    // Parts of another attempt are none of this one's.
    let is_ours =
        work.writing.load(Ordering::Acquire) && !matches!(error, SourceError::Write(PackError::Busy { .. }));
    match partial_of(target).filter(|_| is_ours) {
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
    let checked = Pack::open(path)
        .and_then(|pack| pack.verify(&mut |done, all| watch.set_done(done, all)).map(|()| pack));
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

/// The first Ctrl-C ends the packing and keeps what is finished. It ends the program at once where nothing is written:
/// while a source is opened, which may take a Python dataset long, and while a pack is verified; and so does a second.
#[expect(clippy::exit, reason = "a second Ctrl-C waits for nobody")]
fn stop_on_request(work: &Arc<Work>) {
    let work = Arc::clone(work);
    // Where no handler can be installed, Ctrl-C ends the program.
    let _ = ctrlc::set_handler(move || {
        if work.watch.stopped() || !work.writing.load(Ordering::Acquire) {
            let clear = if io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
            screen::note(&format!("{clear}stopped at once"));
            std::process::exit(INTERRUPTED);
        }
        work.watch.stop();
    });
}
