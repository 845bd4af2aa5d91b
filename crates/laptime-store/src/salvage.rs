//! Salvage: what a killed process left in its ring goes into its log, and the ring is removed.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use laptime_core::{Record, Ticks};

use crate::block::BlockKind;
use crate::disk::RealDisk;
use crate::reader::{LogReader, RunReader};
use crate::ring::{Ring, RingIdentity, remove_unfinished_rings, ring_directory};
use crate::writer::LogWriter;

/// Salvages every ring of this user whose process is dead; says how many there were.
///
/// A ring whose run cannot be written is left for another time; one whose run is gone is removed.
pub fn salvage_rings() -> usize {
    remove_unfinished_rings();
    salvage_where(&|_| true)
}

/// As [`salvage_rings`], of one run alone: what its supervisor does once the command has ended.
pub fn salvage_rings_of(run: &Path) -> usize {
    salvage_where(&|identity| identity.run == run)
}

fn salvage_where(wanted: &dyn Fn(&RingIdentity) -> bool) -> usize {
    let Ok(entries) = fs::read_dir(ring_directory()) else { return 0 };
    entries.flatten().filter(|entry| salvage_ring(&entry.path(), wanted).is_some()).count()
}

fn salvage_ring(path: &Path, wanted: &dyn Fn(&RingIdentity) -> bool) -> Option<()> {
    let ring = Ring::open(path).ok()?;
    let identity = ring.header().identity();
    if !wanted(&identity) || identity.process.is_alive() {
        return None;
    }
    if identity.run.join("run.json").exists() {
        let log = log_so_far(&identity)?;
        if !log.is_closed() {
            append_what_the_log_lacks(&ring, &identity, &log)?;
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
        let started = Ticks(memory.started.load(Ordering::Relaxed));
        writer.put(&Record::Thread { lane, name: memory.name(), started });
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
