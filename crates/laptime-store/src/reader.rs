//! The log's reader: follows a run while it grows, and takes over from the ring where the log ends.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use laptime_core::{LaneState, ProcessFacts, Record, RunMeta, Status, Trouble};

use crate::block::{BlockScan, Scanned};
use crate::error::StoreError;
use crate::format::{Decoded, LOG_VERSION, LaneEvents, decode_payload};
use crate::process::ProcessIdentity;
use crate::ring::Ring;
use crate::run_rings::rings_of;
use crate::segment::{LogName, list_segments};
use crate::shared_memory::ring_directory;
use crate::writer::Unsaved;

/// Bytes read from a segment at a time: many blocks, and bounded whatever the file's size.
const WINDOW_BYTES: u64 = 1 << 20;
/// A growing log is read on before its ring is, until that takes no longer than this or one that grows as fast is not
/// caught up with.
const CAUGHT_UP: Duration = Duration::from_millis(100);

/// Reads one run, from its beginning and then what was added since.
pub struct RunReader {
    /// `None` for a run that is in memory only.
    run: Option<PathBuf>,
    meta: RunMeta,
    logs: BTreeMap<LogName, LogReader>,
    unsaved: Option<(LogName, Unsaved)>,
}

impl RunReader {
    /// Opens the run in a folder.
    ///
    /// # Errors
    /// When the folder holds no run.
    pub fn open(run: &Path) -> Result<Self, StoreError> {
        let path = run.join("run.json");
        let text = fs::read(&path).map_err(|error| StoreError::io("reading", &path, error))?;
        let meta: RunMeta =
            serde_json::from_slice(&text).map_err(|error| StoreError::io("reading", &path, error.into()))?;
        Ok(Self { run: Some(run.to_owned()), ..Self::in_memory(meta) })
    }

    /// A run of which nothing is on disk.
    #[must_use]
    pub fn in_memory(meta: RunMeta) -> Self {
        Self { run: None, meta, logs: BTreeMap::new(), unsaved: None }
    }

    /// Reads what a writer could not put on disk as if it stood at the end of its log.
    #[must_use]
    pub fn with_unsaved(mut self, log: LogName, unsaved: Unsaved) -> Self {
        self.unsaved = Some((log, unsaved));
        self
    }

    /// What was written about the run when it started.
    #[must_use]
    pub fn meta(&self) -> &RunMeta {
        &self.meta
    }

    /// Gives everything that is new since the last call to `sink`, with the name of its log; at the end
    /// of each log that is not closed comes a [`Record::Ended`].
    ///
    /// # Errors
    /// When the folder cannot be read, or everything in it is of a newer format.
    pub fn poll(&mut self, sink: &mut dyn FnMut(LogName, Record)) -> Result<(), StoreError> {
        // A log that takes long to read has grown meanwhile, and the ring is ahead of what was read of it.
        let mut before = Duration::MAX;
        loop {
            let began = Instant::now();
            self.read_logs(sink)?;
            let took = began.elapsed();
            if took < CAUGHT_UP || took > before / 2 {
                break;
            }
            before = took;
        }
        if let Some((log, unsaved)) = self.unsaved.take() {
            self.logs.entry(log).or_default().read_unsaved(&unsaved, &mut |record| sink(log, record));
        }
        self.learn_from_rings(sink);
        for (log, reader) in &mut self.logs {
            let mut sink = |record| sink(*log, record);
            reader.read_ring(&mut sink);
            reader.end(&mut sink);
        }
        if self.logs.is_empty() {
            // Its process has not come to write a log, or was killed before it could.
            let RunMeta { pid, boot_id, pid_start, .. } = self.meta.clone();
            sink(
                LogName::default(),
                Record::Ended { status: status_of(&ProcessIdentity { pid, boot_id, pid_start }) },
            );
        }
        self.refuse_when_all_is_newer()
    }

    /// A process that was killed before its first block came to disk is known from its ring alone.
    fn learn_from_rings(&mut self, sink: &mut dyn FnMut(LogName, Record)) {
        let Some(run) = &self.run else { return };
        if !self.logs.is_empty() && self.logs.values().all(|log| log.process.is_some()) {
            return;
        }
        let run = std::path::absolute(run).unwrap_or_else(|_| run.clone());
        for ring in rings_of(&run) {
            let (facts, log) = (ring.process_facts(), ring.header().identity().log());
            let reader = self.logs.entry(log).or_default();
            reader.take(Decoded::Record(Record::Process(facts)), &mut |record| sink(log, record));
        }
    }

    /// The part of [`Self::poll`] that is on disk.
    pub(crate) fn read_logs(&mut self, sink: &mut dyn FnMut(LogName, Record)) -> Result<(), StoreError> {
        let Some(run) = &self.run else { return Ok(()) };
        let segments = list_segments(run).map_err(|error| StoreError::io("reading", run, error))?;
        for (log, number, path) in segments {
            let reader = self.logs.entry(log).or_default();
            if number >= reader.segment {
                reader.read_segment(number, &path, &mut |record| sink(log, record))?;
            }
        }
        Ok(())
    }

    /// Where one log stands: for a salvage that goes on from there.
    pub(crate) fn into_log(mut self, log: &LogName) -> LogReader {
        self.logs.remove(log).unwrap_or_default()
    }

    fn refuse_when_all_is_newer(&self) -> Result<(), StoreError> {
        let found = self.logs.values().filter_map(|log| log.too_new).max();
        match found {
            Some(found) if self.logs.values().all(|log| log.process.is_none()) => {
                Err(StoreError::TooNew { id: self.meta.id.clone(), found, known: LOG_VERSION })
            }
            _ => Ok(()),
        }
    }

    /// Whether every process has said its last word.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        !self.logs.is_empty() && self.logs.values().all(|log| log.closed)
    }
}

/// How far one log has been read.
#[derive(Default)]
pub(crate) struct LogReader {
    segment: u32,
    offset: u64,
    next_event: HashMap<u32, u64>,
    tracks: HashSet<u32>,
    process: Option<ProcessFacts>,
    closed: bool,
    damaged_bytes: u64,
    damage_reported: u64,
    damaged_file: String,
    too_new: Option<u16>,
}

impl LogReader {
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn next_event(&self, lane: u32) -> u64 {
        self.next_event.get(&lane).copied().unwrap_or(0)
    }

    pub(crate) fn process(&self) -> Option<&ProcessFacts> {
        self.process.as_ref()
    }

    pub(crate) fn last_segment(&self) -> u32 {
        self.segment
    }

    fn read_segment(
        &mut self,
        number: u32,
        path: &Path,
        sink: &mut dyn FnMut(Record),
    ) -> Result<(), StoreError> {
        if number > self.segment {
            (self.segment, self.offset) = (number, 0);
        }
        self.damaged_file =
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut file = File::open(path).map_err(|error| StoreError::io("opening", path, error))?;
        loop {
            let window = read_window(&mut file, self.offset)
                .map_err(|error| StoreError::io("reading", path, error))?;
            let consumed = self.read_blocks(&window, sink);
            if consumed == 0 {
                return Ok(());
            }
            self.offset += consumed as u64;
        }
    }

    fn read_blocks(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Record)) -> usize {
        let mut scan = BlockScan::new(bytes);
        for scanned in scan.by_ref() {
            match scanned {
                Scanned::Payload(payload) => decode_payload(payload, &mut |decoded| self.take(decoded, sink)),
                Scanned::TooNew(version) => self.too_new = self.too_new.max(Some(version)),
                Scanned::Damage(length) => self.damaged_bytes += length as u64,
            }
        }
        scan.consumed()
    }

    fn take(&mut self, decoded: Decoded, sink: &mut dyn FnMut(Record)) {
        match decoded {
            Decoded::Events(events) => self.take_events(events, sink),
            // Every segment repeats its head; what is known passes once.
            Decoded::Record(Record::Process(facts)) => {
                if self.process.is_none() {
                    self.process = Some(facts.clone());
                    sink(Record::Process(facts));
                }
            }
            Decoded::Record(Record::Track { lane, .. }) if !self.tracks.insert(lane) => {}
            Decoded::Record(record) => {
                self.closed |= matches!(record, Record::Closed { .. });
                sink(record);
            }
        }
    }

    /// Passes on the events that were not seen before, neither in the log nor in the ring.
    fn take_events(&mut self, events: LaneEvents, sink: &mut dyn FnMut(Record)) {
        let next = self.next_event.entry(events.lane).or_default();
        let known = usize::try_from(next.saturating_sub(events.first)).unwrap_or(usize::MAX);
        *next = (*next).max(events.first.saturating_add(events.events.len() as u64));
        for event in events.events.into_iter().skip(known) {
            sink(Record::Event { lane: events.lane, event });
        }
    }

    fn read_unsaved(&mut self, unsaved: &Unsaved, sink: &mut dyn FnMut(Record)) {
        for record in &unsaved.head {
            self.take(Decoded::Record(record.clone()), sink);
        }
        for block in &unsaved.blocks {
            self.read_blocks(block, sink);
        }
    }

    fn open_ring(&self) -> Option<Ring> {
        let name = self.process.as_ref().filter(|_| !self.closed)?.ring.as_ref()?;
        // The name comes from a file: it must not lead out of the folder of rings.
        let plain = Path::new(name).file_name()? == name.as_str();
        plain.then(|| Ring::open(&ring_directory().join(name)).ok())?
    }

    fn read_ring(&mut self, sink: &mut dyn FnMut(Record)) {
        let Some(ring) = self.open_ring() else { return };
        self.take_ring(&ring, sink);
    }

    /// What a ring has beyond the log.
    pub(crate) fn take_ring(&mut self, ring: &Ring, sink: &mut dyn FnMut(Record)) {
        for (stage, name) in ring.header().stage_names() {
            sink(Record::Stage { stage, name });
        }
        if let Some(anchor) = ring.header().anchor() {
            sink(Record::Anchor(anchor));
        }
        for memory in ring.lanes() {
            let Some(lane) = memory.number() else { continue };
            if self.tracks.insert(lane) {
                sink(memory.track_record(lane));
            }
            let (first, events) = memory.events_from(self.next_event(lane));
            self.take_events(LaneEvents { lane, first, events }, sink);
            sink(Record::State(LaneState { lane, ..ring.last_state(memory) }));
        }
    }

    fn end(&mut self, sink: &mut dyn FnMut(Record)) {
        if self.damaged_bytes > self.damage_reported {
            let bytes = self.damaged_bytes - self.damage_reported;
            self.damage_reported = self.damaged_bytes;
            sink(Record::Trouble(Trouble::DamagedLog { file: self.damaged_file.clone(), bytes }));
        }
        if !self.closed {
            sink(Record::Ended { status: self.status() });
        }
    }

    fn status(&self) -> Status {
        let ProcessFacts { pid, boot_id, pid_start, .. } = self.process.clone().unwrap_or_default();
        status_of(&ProcessIdentity { pid, boot_id, pid_start })
    }
}

/// How a run stands that has not said how it ended.
fn status_of(process: &ProcessIdentity) -> Status {
    if process.is_alive() { Status::Running } else { Status::Killed }
}

fn read_window(file: &mut File, offset: u64) -> std::io::Result<Vec<u8>> {
    let mut window = Vec::new();
    file.seek(SeekFrom::Start(offset))?;
    file.take(WINDOW_BYTES).read_to_end(&mut window)?;
    Ok(window)
}
