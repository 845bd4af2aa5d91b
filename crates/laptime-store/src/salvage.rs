//! Salvage: what a killed process left in its ring goes into its log, and the ring is removed.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use laptime_core::{ProcessFacts, Record, Ticks};

use crate::block::BlockKind;
use crate::disk::RealDisk;
use crate::reader::{RankReader, RunReader};
use crate::ring::{Ring, RingIdentity, ring_directory};
use crate::writer::LogWriter;

/// Salvages every ring of this user whose process is dead; says how many there were.
///
/// A ring whose run cannot be written is left for another time; one whose run is gone is removed.
pub fn salvage_rings() -> usize {
    let Ok(entries) = fs::read_dir(ring_directory()) else { return 0 };
    entries.flatten().filter(|entry| salvage_ring(&entry.path()).is_some()).count()
}

fn salvage_ring(path: &Path) -> Option<()> {
    let ring = Ring::open(path).ok()?;
    let identity = ring.header().identity();
    if identity.process.is_alive() {
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

fn log_so_far(identity: &RingIdentity) -> Option<RankReader> {
    let mut reader = RunReader::open(&identity.run).ok()?;
    reader.read_logs(&mut |_, _| {}).ok()?;
    Some(reader.into_rank(identity.log))
}

/// Writes a segment of its own; `None` when it could not be written.
fn append_what_the_log_lacks(ring: &Ring, identity: &RingIdentity, log: &RankReader) -> Option<()> {
    let next_segment = log.last_segment() + 1;
    let disk = Box::new(RealDisk);
    let mut writer =
        LogWriter::from_segment(disk, &identity.run, identity.log, next_segment, BlockKind::Salvaged);
    writer.put(&Record::Process(log.process().cloned().unwrap_or_else(|| facts_from_ring(ring, identity))));
    for (stage, name) in ring.header().stage_names() {
        writer.put(&Record::Stage { stage, name });
    }
    for memory in ring.lanes() {
        let Some(lane) = memory.number() else { continue };
        let started = Ticks(memory.started.load(Ordering::Relaxed));
        writer.put(&Record::Thread { lane, name: memory.name(), started });
        let (first, events) = memory.events_from(log.next_event(lane));
        writer.put_events(lane, first, &events);
        writer.put(&Record::State(memory.state(memory.last_instant())));
    }
    let anchor = ring.header().anchor().unwrap_or_default();
    writer.put(&Record::Anchor(anchor));
    writer.flush(&anchor);
    writer.sync();
    writer.trouble().is_none().then_some(())
}

fn facts_from_ring(ring: &Ring, identity: &RingIdentity) -> ProcessFacts {
    ProcessFacts {
        rank: identity.rank,
        pid: identity.process.pid,
        boot_id: identity.process.boot_id.clone(),
        pid_start: identity.process.pid_start,
        clock: identity.clock.clone(),
        ns_per_tick: identity.ns_per_tick,
        started: identity.started,
        ring: ring.name(),
        parent: None,
    }
}
