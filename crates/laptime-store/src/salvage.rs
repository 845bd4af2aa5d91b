//! Salvage: what a killed process left in its ring goes into its log, and the ring is removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use laptime_core::Record;

use crate::block::BlockKind;
use crate::disk::RealDisk;
use crate::reader::{LogReader, RunReader};
use crate::ring::{Ring, RingIdentity, remove_unfinished_rings};
use crate::shared_memory::ring_directory;
use crate::writer::LogWriter;

/// How often to look for processes that are about to end.
const PAUSE: Duration = Duration::from_millis(10);

/// Salvages every ring of this user whose process is dead; says how many there were.
///
/// A ring whose run cannot be written is left for another time; one whose run is gone is removed.
pub fn salvage_rings() -> usize {
    remove_unfinished_rings();
    let salvaged = salvage_where(&|_| true);
    remove_empty_folder();
    salvaged
}

/// Clears shared memory of a run whose command has ended: what its supervisor does last.
///
/// Dead processes are salvaged. Of those that outlive the command, such as loader workers that have not
/// noticed yet, only the names go: they record on, and what a kill would cost them is the last 100 ms. Says
/// how many of them there were. `rank` limits it to the processes of one rank, where others have
/// supervisors of their own.
pub fn clear_rings_of(run: &Path, rank: Option<u32>, patience: Duration) -> usize {
    let ours = |identity: &RingIdentity| identity.run == run && rank.is_none_or(|rank| identity.rank == rank);
    let until = Instant::now() + patience;
    let outliving = loop {
        salvage_where(&ours);
        let left: Vec<_> = rings().filter(|(_, ring)| ours(&ring.header().identity())).collect();
        if left.is_empty() || Instant::now() >= until {
            break left;
        }
        thread::sleep(PAUSE);
    };
    let removed = outliving.iter().filter(|(path, _)| fs::remove_file(path).is_ok()).count();
    remove_empty_folder();
    removed
}

/// Every ring of this user that can be read.
fn rings() -> impl Iterator<Item = (PathBuf, Ring)> {
    let entries = fs::read_dir(ring_directory()).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.path(), Ring::open(&entry.path()).ok()?)))
}

fn salvage_where(wanted: &dyn Fn(&RingIdentity) -> bool) -> usize {
    rings().filter(|(path, ring)| salvage_ring(path, ring, wanted).is_some()).count()
}

/// A folder that holds rings is not empty, so it is not removed.
fn remove_empty_folder() {
    let _ = fs::remove_dir(ring_directory());
}

fn salvage_ring(path: &Path, ring: &Ring, wanted: &dyn Fn(&RingIdentity) -> bool) -> Option<()> {
    let identity = ring.header().identity();
    if !wanted(&identity) || identity.process.is_alive() {
        return None;
    }
    if identity.run.join("run.json").exists() {
        let log = log_so_far(&identity)?;
        if !log.is_closed() {
            append_what_the_log_lacks(ring, &identity, &log)?;
        }
    }
    fs::remove_file(path).ok()
}

fn log_so_far(identity: &RingIdentity) -> Option<LogReader> {
    let mut reader = RunReader::open(&identity.run).ok()?;
    reader.read_logs(&mut |_, _| {}).ok()?;
    Some(reader.into_log(&identity.log()))
}

/// Writes a segment of its own; `None` when it could not be written.
fn append_what_the_log_lacks(ring: &Ring, identity: &RingIdentity, log: &LogReader) -> Option<()> {
    let next_segment = log.last_segment() + 1;
    let disk = Box::new(RealDisk);
    let mut writer =
        LogWriter::from_segment(disk, &identity.run, identity.log(), next_segment, BlockKind::Salvaged);
    writer.put(&Record::Process(log.process().cloned().unwrap_or_else(|| ring.process_facts())));
    for (stage, name) in ring.header().stage_names() {
        writer.put(&Record::Stage { stage, name });
    }
    for memory in ring.lanes() {
        let Some(lane) = memory.number() else { continue };
        writer.put(&memory.track_record(lane));
        let (first, events) = memory.events_from(log.next_event(lane));
        writer.put_events(lane, first, &events);
        writer.put(&Record::State(ring.last_state(memory)));
    }
    let anchor = ring.header().anchor().unwrap_or_default();
    writer.put(&Record::Anchor(anchor));
    writer.flush(&anchor);
    writer.sync();
    writer.trouble().is_none().then_some(())
}
