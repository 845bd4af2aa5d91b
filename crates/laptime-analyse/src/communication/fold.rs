//! Fold: the collectives of one process, folded while its log is read.

use std::collections::BTreeMap;

use laptime_core::{Event, GroupFacts, Ticks, TrackKind};

use super::exposure::Exposure;
use super::group::{Around, Collective, Group};
use super::host::Host;
use super::interval::Interval;

/// Collectives that wait for their step to end; of more the oldest are told by what is known by then.
const MOST_PENDING: usize = 8_192;
/// Collectives whose begin is remembered, for the backward passes they lie in.
const MOST_ISSUED: usize = 4_096;

/// What a process exchanged with others.
///
/// A collective is told when the step after its own has ended: its end is put on record by another thread than the
/// stages around it, so neither comes first for sure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Communication {
    /// By number within the process.
    pub(crate) groups: BTreeMap<u16, Group>,
    /// How much of it was exposed, over the steps.
    pub(crate) exposure: Exposure,
    /// Steps that ended since the first group was known.
    pub(crate) steps: u64,
    hosts: BTreeMap<u32, Host>,
    stepping: u32,
    pending: Vec<Collective>,
    issued: Vec<Ticks>,
}

impl Communication {
    /// Learns what a group is.
    pub(crate) fn learn(&mut self, group: u16, facts: &GroupFacts) {
        facts.clone_into(&mut self.groups.entry(group).or_default().facts);
    }

    /// Takes the next event of a lane.
    pub(crate) fn take(&mut self, lane: u32, track: TrackKind, event: &Event) {
        match *event {
            Event::Collective { group, kind, sequence, start, end, bytes } => {
                let time = Interval::new(start, end);
                self.pending.push(Collective { group, kind, sequence, time, bytes });
                if self.pending.len() >= MOST_PENDING {
                    self.settle(Ticks(u64::MAX));
                }
            }
            Event::Span { stage, start, end, .. } if track == TrackKind::Thread => {
                self.hosts.entry(lane).or_default().take_span(stage, start, end);
            }
            Event::FitBegin { fit, .. } => self.hosts.entry(lane).or_default().begin_fit(fit),
            Event::Step { start, end, .. } if track == TrackKind::Thread => self.take_step(lane, start, end),
            _ => {}
        }
    }

    /// Tells what is left, when nothing more will come, and lets go of what was only needed for that.
    pub(crate) fn close(&mut self) {
        self.settle(Ticks(u64::MAX));
        self.hosts = BTreeMap::new();
        (self.pending, self.issued) = (Vec::new(), Vec::new());
    }

    fn take_step(&mut self, lane: u32, start: Ticks, end: Ticks) {
        self.stepping = lane;
        self.steps += 1;
        if let Some(known) = self.hosts.entry(lane).or_default().take_step(start, end) {
            self.settle(known);
        }
    }

    /// Tells the collectives that ended up to an instant.
    fn settle(&mut self, known: Ticks) {
        let mut settled: Vec<Collective> = self.pending.extract_if(.., |one| one.time.end <= known).collect();
        settled.sort_by_key(|one| one.time);
        let Some(first) = settled.first() else { return };
        self.issued.extend(settled.iter().map(|one| one.time.start));
        self.issued.sort_unstable();
        self.issued.drain(..self.issued.len().saturating_sub(MOST_ISSUED));
        let left = settled.iter().filter_map(|one| self.groups.get(&one.group)?.left);
        let from = left.fold(first.time.start, Ticks::min);
        let host = self.hosts.entry(self.stepping).or_default();
        let blocked = host.blocked(from, &self.issued);
        let waits = host.blocked(from, &[]);
        let in_step = |one: &Collective| {
            host.first_step.is_some_and(|first| first <= one.time.start) && !host.evaluates(one.time.start)
        };
        let steps: Vec<bool> = settled.iter().map(in_step).collect();
        let is_timed = |one: &Collective| self.groups.get(&one.group).is_none_or(Group::is_timed);
        for (one, _) in settled.iter().zip(&steps).filter(|(one, in_step)| **in_step && is_timed(one)) {
            self.exposure.take(one.time, &blocked, &waits);
        }
        // Those that are under way together are done in any order, and not in the same one in all ranks.
        let mut in_order: Vec<(&Collective, bool)> = settled.iter().zip(steps).collect();
        in_order.sort_by_key(|(one, _)| (one.group, one.sequence));
        for (one, in_step) in in_order {
            let around = Around { host, blocked: &blocked, in_step };
            self.groups.entry(one.group).or_default().take(one, &around);
        }
    }

    /// Bytes given within steps.
    pub(crate) fn step_bytes(&self) -> u64 {
        self.groups.values().map(|group| group.step_bytes).fold(0, u64::saturating_add)
    }
}
