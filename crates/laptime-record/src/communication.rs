//! Communication: collectives between ranks, on a track of their own, begun and ended on whatever thread.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use laptime_core::{
    CollectiveKind, Counter, Event, GroupFacts, Record, StageId, Ticks, Track, TrackKind, Trouble,
};

use crate::active::{ARMED, Shared, active, generation, start_armed, wake_flusher};
use crate::clock::now;
use crate::lane::{Lane, Pushed};
use crate::trouble::note_trouble;

/// The name of the track.
const NAME: &str = "between ranks";
/// Collectives that can be under way at once: one that never ends must not take memory for ever.
const MOST_OPEN: usize = 1024;

static COMMUNICATION: Mutex<Option<Communication>> = Mutex::new(None);

/// Number of a group of ranks within the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupNumber(pub u16);

/// A collective that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveId {
    place: u32,
    /// Distinguishes those that have had the place.
    serial: u32,
}

/// Adds a group of ranks; `None` when there are too many.
pub fn add_group(facts: GroupFacts) -> Option<GroupNumber> {
    lock().get_or_insert_default().add_group(facts)
}

/// A collective begins now, to which this rank gives `bytes`; an armed recorder starts here.
pub fn collective_begin(group: GroupNumber, kind: CollectiveKind, bytes: u64) -> Option<CollectiveId> {
    if generation() == ARMED {
        start_armed();
    }
    let at = now();
    let mut communication = lock();
    let recorder = active().filter(|recorder| recorder.generation == generation());
    communication.get_or_insert_default().begin(recorder, group, Part { kind, bytes }, at)
}

/// A collective is done here now. One that has ended already is passed over.
pub fn collective_end(collective: CollectiveId) {
    let at = now();
    if let Some(communication) = lock().as_mut() {
        communication.end(collective, at);
    }
}

/// Puts on record that not all exchange between ranks or devices is seen, and why.
pub fn collectives_not_seen(because: &str) {
    note_trouble(Trouble::CollectivesNotSeen { because: because.to_owned() });
}

/// What a process knows of exchange with other ranks; `None` in one that has not begun to.
pub(crate) fn lock_communication() -> MutexGuard<'static, Option<Communication>> {
    lock()
}

fn lock() -> MutexGuard<'static, Option<Communication>> {
    // Whoever panicked while holding it left plain data behind, which is still good.
    COMMUNICATION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The groups of a process, and its collectives that are under way.
#[derive(Default)]
pub(crate) struct Communication {
    groups: Vec<Group>,
    /// How many groups had each name so far.
    names: HashMap<String, u32>,
    open: Vec<Option<Open>>,
    next_serial: u32,
    under_way: u32,
    track: Option<CommunicationTrack>,
}

/// A group, and how far it has counted.
struct Group {
    facts: GroupFacts,
    /// The recorder that has its facts on record.
    known_to: u32,
    /// All ranks take part in the same order, so they count alike.
    collectives: u32,
    /// Each pair of ranks has an order of its own: these are counted apart.
    between_two: u32,
}

/// What this rank gives to a collective.
#[derive(Clone, Copy)]
struct Part {
    kind: CollectiveKind,
    bytes: u64,
}

struct Open {
    serial: u32,
    group: u16,
    part: Part,
    sequence: u32,
    start: Ticks,
}

/// The lane of one recorder.
#[derive(Clone, Copy)]
struct CommunicationTrack {
    recorder: &'static Shared,
    lane: Lane,
}

impl Communication {
    fn add_group(&mut self, mut facts: GroupFacts) -> Option<GroupNumber> {
        let number = u16::try_from(self.groups.len()).ok()?;
        let earlier = self.names.entry(facts.name.clone()).or_insert(0);
        *earlier += 1;
        if *earlier > 1 {
            // Made anew after it was destroyed, in all its ranks: it counts from 0 again.
            facts.name = format!("{} ({earlier})", facts.name);
        }
        self.groups.push(Group { facts, known_to: 0, collectives: 0, between_two: 0 });
        Some(GroupNumber(number))
    }

    fn begin(
        &mut self,
        recorder: Option<&'static Shared>,
        number: GroupNumber,
        part: Part,
        at: Ticks,
    ) -> Option<CollectiveId> {
        let group = self.groups.get_mut(usize::from(number.0))?;
        // Counted with or without a recorder: the numbers are the same in all ranks.
        let sequence = group.count(part.kind);
        let track = self.track_of(recorder?)?;
        self.introduce(number, track.recorder);
        if part.bytes > 0 {
            let counter = Counter::BetweenRanksBytes;
            push(track.lane, &Event::Count { counter, at, amount: part.bytes });
        }
        let place = self.free_place()?;
        let serial = self.next_serial;
        self.next_serial = serial.wrapping_add(1);
        if self.under_way == 0 {
            track.lane.enter(StageId::COMMUNICATION, at);
        }
        self.under_way += 1;
        self.open[place] = Some(Open { serial, group: number.0, part, sequence, start: at });
        Some(CollectiveId { place: u32::try_from(place).ok()?, serial })
    }

    fn end(&mut self, collective: CollectiveId, at: Ticks) {
        let place = self.open.get_mut(collective.place as usize);
        let Some(ended) = place.and_then(|place| place.take_if(|open| open.serial == collective.serial))
        else {
            return;
        };
        self.under_way -= 1;
        let Some(track) = self.track.filter(|track| track.recorder.generation == generation()) else {
            return;
        };
        let Open { group, part: Part { kind, bytes }, sequence, start, .. } = ended;
        push(track.lane, &Event::Collective { group, kind, sequence, start, end: at.max(start), bytes });
        if self.under_way == 0 && track.lane.exit(StageId::COMMUNICATION, at) == Pushed::Wake {
            wake_flusher();
        }
    }

    /// The track in this recorder; what was under way in an earlier one is forgotten.
    fn track_of(&mut self, recorder: &'static Shared) -> Option<CommunicationTrack> {
        let is_current = |track: &CommunicationTrack| track.recorder.generation == recorder.generation;
        if let Some(track) = self.track.filter(is_current) {
            return Some(track);
        }
        let track = Track { kind: TrackKind::Communication, name: NAME.to_owned() };
        let lane = recorder.claim_track(&track)?;
        self.open.clear();
        self.under_way = 0;
        self.track = Some(CommunicationTrack { recorder, lane });
        self.track
    }

    /// Puts a group on record before its first collective.
    fn introduce(&mut self, number: GroupNumber, recorder: &Shared) {
        let group = &mut self.groups[usize::from(number.0)];
        if group.known_to != recorder.generation {
            group.known_to = recorder.generation;
            recorder.note(Record::Group { group: number.0, facts: group.facts.clone() });
        }
    }

    fn free_place(&mut self) -> Option<usize> {
        if let Some(free) = self.open.iter().position(Option::is_none) {
            return Some(free);
        }
        if self.open.len() == MOST_OPEN {
            return None;
        }
        self.open.push(None);
        Some(self.open.len() - 1)
    }
}

impl Group {
    fn count(&mut self, kind: CollectiveKind) -> u32 {
        let counted = match kind {
            CollectiveKind::Send | CollectiveKind::Receive => &mut self.between_two,
            _ => &mut self.collectives,
        };
        let sequence = *counted;
        *counted = sequence.wrapping_add(1);
        sequence
    }
}

fn push(lane: Lane, event: &Event) {
    if lane.push_event(event) == Pushed::Wake {
        wake_flusher();
    }
}
