//! The log's writer: packs records into blocks and appends them, and keeps going when it cannot.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use laptime_core::{Anchor, Event, Record, Trouble};

use crate::block::{BlockHead, BlockKind, seal};
use crate::disk::{Disk, Segment};
use crate::format::{LaneEvents, MAX_PAYLOAD_BYTES, encode_lane_events, encode_record};
use crate::segment::{LogName, segment_path};

/// A segment is closed when it has this many bytes, so that history can be dropped by the file.
const SEGMENT_BYTES: u64 = 64 << 20;
/// What is held in memory while the disk refuses; the oldest goes when there is more.
const PENDING_BYTES: usize = 4 << 20;
/// Events in one record: with at most 35 bytes each they fit a block with room to spare.
const EVENTS_PER_RECORD: usize = 1024;

/// Appends records to the log of one process. It never fails: what cannot be written is held, then counted.
pub struct LogWriter {
    disk: Box<dyn Disk>,
    run: PathBuf,
    log: LogName,
    kind: BlockKind,
    /// What every segment repeats at its head: the process, names, tracks, fits.
    head: Vec<Record>,
    payload: Vec<u8>,
    payload_events: u32,
    pending: VecDeque<Sealed>,
    segment: Option<OpenSegment>,
    next_segment: u32,
    next_block: u64,
    clock: Anchor,
    /// Events in segments that are full and closed.
    closed_events: u64,
    lost_blocks: u64,
    lost_events: u64,
    /// Why the disk refused, when it first did; what follows is often only its consequence.
    first_error: Option<String>,
}

struct Sealed {
    bytes: Vec<u8>,
    events: u64,
}

struct OpenSegment {
    file: Box<dyn Segment>,
    length: u64,
    events: u64,
}

/// What a writer could not put on disk.
#[derive(Clone, Debug, Default)]
pub struct Unsaved {
    /// The records that every segment begins with.
    pub head: Vec<Record>,
    /// Whole blocks, oldest first.
    pub blocks: Vec<Vec<u8>>,
}

impl LogWriter {
    /// A writer of a rank's own log in a run's folder; the first segment is made at the first flush.
    #[must_use]
    pub fn new(disk: Box<dyn Disk>, run: &Path, rank: u32) -> Self {
        Self::named(disk, run, LogName::Rank(rank))
    }

    /// A writer of any log in a run's folder.
    #[must_use]
    pub fn named(disk: Box<dyn Disk>, run: &Path, log: LogName) -> Self {
        Self::from_segment(disk, run, log, 1, BlockKind::Written)
    }

    /// A writer of the log `own` where no other process of the run has it yet, else of the log `beside`.
    ///
    /// The first process of a rank gets the rank's own log; its children, and whoever else joins the run,
    /// record beside it.
    #[must_use]
    pub fn claim(mut disk: Box<dyn Disk>, run: &Path, own: LogName, beside: LogName) -> Self {
        match disk.create_segment(&segment_path(run, &own, 1)) {
            Ok(file) => {
                let mut writer = Self::named(disk, run, own);
                writer.segment = Some(OpenSegment { file, length: 0, events: 0 });
                writer.next_segment = 2;
                writer
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::named(disk, run, beside),
            Err(_) => Self::named(disk, run, own),
        }
    }

    /// Whose log it is.
    #[must_use]
    pub fn log(&self) -> LogName {
        self.log
    }

    pub(crate) fn from_segment(
        disk: Box<dyn Disk>,
        run: &Path,
        log: LogName,
        next_segment: u32,
        kind: BlockKind,
    ) -> Self {
        Self {
            disk,
            run: run.to_owned(),
            log,
            kind,
            head: Vec::new(),
            payload: Vec::new(),
            payload_events: 0,
            pending: VecDeque::new(),
            segment: None,
            next_segment,
            next_block: 0,
            clock: Anchor::default(),
            closed_events: 0,
            lost_blocks: 0,
            lost_events: 0,
            first_error: None,
        }
    }

    /// Adds a record to the next block.
    pub fn put(&mut self, record: &Record) {
        let mut framed = Vec::new();
        if encode_record(&mut framed, record).is_none() || framed.len() > MAX_PAYLOAD_BYTES {
            return;
        }
        self.append_framed(&framed, 0);
        self.remember_for_heads(record);
    }

    fn remember_for_heads(&mut self, record: &Record) {
        match record {
            Record::Process(_) | Record::Stage { .. } | Record::Track { .. } | Record::Device { .. } => {
                self.head.push(record.clone());
            }
            Record::Fit { fit, .. } => {
                self.head
                    .retain(|known| !matches!(known, Record::Fit { fit: earlier, .. } if earlier == fit));
                self.head.push(record.clone());
            }
            _ => {}
        }
    }

    /// Adds events of one lane, the first of which has number `first` on it.
    pub fn put_events(&mut self, lane: u32, first: u64, events: &[Event]) {
        for (at, events) in events.chunks(EVENTS_PER_RECORD).enumerate() {
            let first = first + (at * EVENTS_PER_RECORD) as u64;
            let mut framed = Vec::new();
            encode_lane_events(&mut framed, &LaneEvents { lane, first, events: events.to_vec() });
            self.append_framed(&framed, events.len() as u32);
        }
    }

    fn append_framed(&mut self, framed: &[u8], events: u32) {
        if self.payload.len() + framed.len() > MAX_PAYLOAD_BYTES {
            self.seal_payload();
        }
        self.payload.extend_from_slice(framed);
        self.payload_events += events;
    }

    fn seal_payload(&mut self) {
        if self.payload.is_empty() {
            return;
        }
        let events = std::mem::take(&mut self.payload_events);
        let payload = std::mem::take(&mut self.payload);
        let bytes = self.seal_block(&payload, events);
        self.pending.push_back(Sealed { bytes, events: u64::from(events) });
    }

    fn seal_block(&mut self, payload: &[u8], events: u32) -> Vec<u8> {
        let head = BlockHead {
            kind: self.kind,
            rank: self.log.rank(),
            events,
            number: self.next_block,
            ticks: self.clock.ticks.0,
            real_ns: self.clock.real_ns,
        };
        self.next_block += 1;
        seal(&head, payload)
    }

    /// Writes what was put, stamped with `now`; what the disk refuses is tried again at the next flush.
    pub fn flush(&mut self, now: &Anchor) {
        self.clock = *now;
        self.seal_payload();
        self.rescue_removed_segment();
        match self.write_pending() {
            Ok(()) => self.first_error = None,
            Err(error) => self.blame(&error),
        }
        self.bound_pending();
    }

    fn write_pending(&mut self) -> io::Result<()> {
        while let Some(block) = self.pending.pop_front() {
            if let Err(error) = self.write_block(&block) {
                self.pending.push_front(block);
                return Err(error);
            }
        }
        Ok(())
    }

    fn write_block(&mut self, block: &Sealed) -> io::Result<()> {
        if self.segment.as_ref().is_some_and(|open| open.length >= SEGMENT_BYTES) {
            self.closed_events += self.segment.take().map_or(0, |full| full.events);
        }
        if self.segment.is_none() {
            self.segment = Some(self.begin_segment()?);
        }
        match &mut self.segment {
            Some(open) => open.append(&block.bytes, block.events),
            None => Ok(()),
        }
    }

    fn begin_segment(&mut self) -> io::Result<OpenSegment> {
        let path = segment_path(&self.run, &self.log, self.next_segment);
        let file = self.disk.create_segment(&path).inspect_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                // The folder is gone, and with it what the closed segments held.
                self.lost_events += std::mem::take(&mut self.closed_events);
            }
        })?;
        self.next_segment += 1;
        let mut open = OpenSegment { file, length: 0, events: 0 };
        // The first segment's own first block is its head.
        if self.next_block > 1 || self.kind == BlockKind::Salvaged {
            for block in self.head_blocks() {
                open.append(&block, 0)?;
            }
        }
        Ok(open)
    }

    fn head_blocks(&mut self) -> Vec<Vec<u8>> {
        let mut payloads = vec![Vec::new()];
        for record in &self.head {
            let mut framed = Vec::new();
            let _ = encode_record(&mut framed, record);
            if payloads.last().is_some_and(|last: &Vec<u8>| last.len() + framed.len() > MAX_PAYLOAD_BYTES) {
                payloads.push(Vec::new());
            }
            if let Some(last) = payloads.last_mut() {
                last.extend_from_slice(&framed);
            }
        }
        payloads.iter().map(|payload| self.seal_block(payload, 0)).collect()
    }

    /// A file removed while open takes writes without a word; what it holds comes back into memory.
    fn rescue_removed_segment(&mut self) {
        let Some(mut gone) = self.segment.take_if(|open| !open.file.is_linked()) else { return };
        self.first_error.get_or_insert_with(|| "the log was removed while the run was going on".into());
        match gone.file.read_back() {
            Ok(bytes) => self.pending.push_front(Sealed { bytes, events: gone.events }),
            Err(_) => self.lost_events += gone.events,
        }
    }

    fn bound_pending(&mut self) {
        let mut held: usize = self.pending.iter().map(|block| block.bytes.len()).sum();
        while held > PENDING_BYTES
            && let Some(oldest) = self.pending.pop_front()
        {
            held -= oldest.bytes.len();
            self.lost_blocks += 1;
            self.lost_events += oldest.events;
        }
    }

    /// Asks the disk to make what was written survive a power cut.
    pub fn sync(&mut self) {
        if let Some(open) = &mut self.segment
            && let Err(error) = open.file.sync()
        {
            self.blame(&error);
        }
    }

    /// Remembers why nothing can be written, unless a reason is known already.
    pub fn blame(&mut self, error: &io::Error) {
        self.first_error.get_or_insert_with(|| error.to_string());
    }

    /// What could not be written so far; `None` when all is well.
    #[must_use]
    pub fn trouble(&self) -> Option<Trouble> {
        let trouble = !self.pending.is_empty() || self.lost_blocks > 0 || self.lost_events > 0;
        trouble.then(|| Trouble::LogNotWritten {
            because: self.first_error.clone().unwrap_or_else(|| "not tried yet".into()),
            lost_blocks: self.lost_blocks,
            lost_events: self.lost_events,
        })
    }

    /// What is still only in memory; `None` when everything is on disk.
    #[must_use]
    pub fn into_unsaved(self) -> Option<Unsaved> {
        let unsaved = !self.pending.is_empty() || self.lost_blocks > 0 || self.lost_events > 0;
        let blocks = self.pending.into_iter().map(|block| block.bytes).collect();
        unsaved.then_some(Unsaved { head: self.head, blocks })
    }
}

impl OpenSegment {
    fn append(&mut self, block: &[u8], events: u64) -> io::Result<()> {
        let mut rest = block;
        while !rest.is_empty() {
            match self.file.append(rest) {
                Ok(0) => return self.give_up(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.give_up(error),
            }
        }
        self.length += block.len() as u64;
        self.events += events;
        Ok(())
    }

    /// Takes a half-written block off the end again. Where even that fails the reader skips it.
    fn give_up(&mut self, error: io::Error) -> io::Result<()> {
        let _ = self.file.truncate(self.length);
        Err(error)
    }
}

#[cfg(test)]
mod tests {
    use laptime_core::{RunMeta, StageId, Ticks};

    use super::*;
    use crate::reader::RunReader;
    use crate::scripted_disk::ScriptedDisk;

    /// Writes `rounds` blocks of events, calling `between` before each flush.
    fn write(disk: &ScriptedDisk, rounds: u64, between: impl Fn(u64)) -> LogWriter {
        let mut writer = LogWriter::new(Box::new(disk.clone()), Path::new("run"), 0);
        writer.put(&Record::Stage { stage: StageId(32), name: "augment".into() });
        writer.flush(&Anchor::default());
        for round in 0..rounds {
            let events: Vec<Event> = (0..1000).map(|at| span(round * 1000 + at)).collect();
            writer.put_events(0, round * 1000, &events);
            between(round);
            writer.flush(&Anchor { ticks: Ticks(round), ..Anchor::default() });
        }
        writer
    }

    fn span(number: u64) -> Event {
        let (start, end) = (Ticks(number * 1_000_000), Ticks(number * 1_000_000 + 999));
        Event::Span { stage: StageId(32), start, end, own: Ticks(999), in_evaluate: false }
    }

    fn read(blocks: Vec<Vec<u8>>, sink: &mut dyn FnMut(Record)) {
        let unsaved = Unsaved { head: Vec::new(), blocks };
        RunReader::in_memory(RunMeta::default())
            .with_unsaved(LogName::Rank(0), unsaved)
            .poll(&mut |_, record| sink(record))
            .unwrap();
    }

    fn spans_in(blocks: Vec<Vec<u8>>) -> Vec<Event> {
        let mut found = Vec::new();
        read(blocks, &mut |record| {
            if let Record::Event { event, .. } = record {
                found.push(event);
            }
        });
        found
    }

    fn all_spans(rounds: u64) -> Vec<Event> {
        (0..rounds * 1000).map(span).collect()
    }

    #[test]
    fn short_writes_and_interruptions_leave_no_trace() {
        let disk = ScriptedDisk::default();
        disk.script().largest_append = 13;
        disk.script().faults = vec![Some(io::ErrorKind::Interrupted); 5];
        let writer = write(&disk, 4, |_| {});
        assert_eq!(writer.trouble(), None);
        assert_eq!(spans_in(vec![disk.content()]), all_spans(4));
    }

    #[test]
    fn a_full_disk_loses_nothing_when_space_returns_in_time() {
        for truncate_fails in [false, true] {
            let disk = ScriptedDisk::default();
            disk.script().space = Some(20_000);
            disk.script().truncate_fails = truncate_fails;
            let writer = write(&disk, 20, |round| {
                if round == 15 {
                    disk.script().space = None;
                }
            });
            assert_eq!(writer.trouble(), None);
            assert_eq!(spans_in(vec![disk.content()]), all_spans(20), "truncate fails: {truncate_fails}");
        }
    }

    #[test]
    fn a_disk_that_stays_full_is_named_and_what_it_refused_is_handed_over() {
        let disk = ScriptedDisk::default();
        disk.script().space = Some(20_000);
        let writer = write(&disk, 20, |_| {});
        assert!(matches!(writer.trouble(), Some(Trouble::LogNotWritten { lost_events: 0, .. })));
        let unsaved = writer.into_unsaved().unwrap();
        let mut blocks = vec![disk.content()];
        blocks.extend(unsaved.blocks);
        assert_eq!(spans_in(blocks), all_spans(20));
    }

    #[test]
    fn what_is_held_is_bounded_and_what_goes_is_counted() {
        let disk = ScriptedDisk::default();
        disk.script().space = Some(0);
        let rounds = 1000;
        let writer = write(&disk, rounds, |_| {});
        let held: usize = writer.pending.iter().map(|block| block.bytes.len()).sum();
        assert!(held <= PENDING_BYTES);
        let Some(Trouble::LogNotWritten { lost_events, lost_blocks, .. }) = writer.trouble() else {
            panic!()
        };
        assert!(lost_blocks > 0);
        let kept = spans_in(writer.into_unsaved().unwrap().blocks);
        assert_eq!(kept.len() as u64 + lost_events, rounds * 1000);
        assert_eq!(kept.last(), all_spans(rounds).last());
    }

    #[test]
    fn a_log_removed_while_open_comes_back_into_memory() {
        let disk = ScriptedDisk::default();
        let writer = write(&disk, 10, |round| {
            if round == 7 {
                disk.remove_everything();
            }
        });
        assert!(matches!(writer.trouble(), Some(Trouble::LogNotWritten { lost_events: 0, .. })));
        assert_eq!(spans_in(writer.into_unsaved().unwrap().blocks), all_spans(10));
    }

    #[test]
    fn every_segment_can_be_read_alone() {
        let disk = ScriptedDisk::default();
        let mut writer = write(&disk, 3, |_| {});
        writer.segment = None;
        writer.put_events(0, 3000, &[span(3000)]);
        writer.flush(&Anchor::default());
        let second = disk.script().files.values().nth(1).cloned().unwrap();
        let mut names = Vec::new();
        read(vec![second], &mut |record| {
            if let Record::Stage { name, .. } = record {
                names.push(name);
            }
        });
        assert_eq!(names, ["augment"]);
    }
}
