//! Group: what one rank gave and when it stood still, of one group of ranks.

use std::collections::BTreeMap;

use laptime_core::{CollectiveKind, GroupFacts, Ticks};

use super::host::Host;
use super::interval::{Interval, outside, total, within};
use super::meeting::{Meeting, SLOTS, Sample, Slots};

/// One collective that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collective {
    pub(super) group: u16,
    pub(super) kind: CollectiveKind,
    pub(super) sequence: u32,
    pub(super) time: Interval,
    pub(super) bytes: u64,
}

/// What the collectives of a group have around them.
pub(super) struct Around<'a> {
    pub(super) host: &'a Host,
    /// When the host stood still, in order and apart.
    pub(super) blocked: &'a [Interval],
    /// Whether a step of a training was under way.
    pub(super) in_step: bool,
}

/// The collectives of one group, folded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    pub(crate) facts: GroupFacts,
    /// Collectives that ended, of steps or not.
    pub(crate) count: u64,
    /// Bytes this rank gave in them.
    pub(crate) bytes: u64,
    /// Bytes it gave within steps.
    pub(crate) step_bytes: u64,
    /// Time in the collectives of tiles, ticks, but for what they waited in line.
    pub(crate) stay: u64,
    /// Bytes given in those.
    pub(crate) met_bytes: u64,
    /// The length of all tiles, ticks.
    pub(crate) covered: u64,
    pub(crate) sample: Sample,
    pub(crate) slots: Slots,
    next: Option<u32>,
    /// The fit of the newest meeting: what lies between two fits is of neither.
    fit: Option<u32>,
    pub(super) left: Option<Ticks>,
}

impl Group {
    /// Whether a collective ends here when it is done: of a device only the time that the host took is on record.
    pub(super) fn is_timed(&self) -> bool {
        let backend = self.facts.backend.as_str();
        !backend.contains("nccl") || backend.contains("gloo")
    }

    /// Takes the next collective of the group.
    pub(super) fn take(&mut self, collective: &Collective, around: &Around<'_>) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(collective.bytes);
        if around.in_step {
            self.step_bytes = self.step_bytes.saturating_add(collective.bytes);
        }
        if matches!(collective.kind, CollectiveKind::Send | CollectiveKind::Receive) {
            // Each pair of ranks numbers these by itself.
            return;
        }
        let follows = self.next == Some(collective.sequence);
        self.next = Some(collective.sequence.wrapping_add(1));
        if !collective.kind.ends_together() || !self.is_timed() {
            return;
        }
        let end = collective.time.end.max(self.left.unwrap_or_default());
        let left = self.left.replace(end);
        let (_, fit) = around.host.step_at(collective.time.start);
        let same_fit = self.fit.replace(fit) == Some(fit);
        let is_tile = |left: &Ticks| around.in_step && follows && same_fit && *left <= end;
        let Some(left) = left.filter(is_tile) else { return };
        // What was given while the one before was under way waits in line, not for other ranks.
        let stay = Interval::new(collective.time.start.max(left), end);
        self.stay += stay.length();
        self.met_bytes = self.met_bytes.saturating_add(collective.bytes);
        let tile = Interval::new(left, end);
        self.covered += tile.length();
        if self.sample.wants(collective.sequence, tile.length() as f32) {
            let meeting = self.meeting(collective.sequence, tile, stay, around);
            self.sample.take(meeting, self.facts.ranks.len());
        }
    }

    fn meeting(&mut self, sequence: u32, tile: Interval, stay: Interval, around: &Around<'_>) -> Meeting {
        let still: Vec<Interval> = within(around.blocked, stay).collect();
        let mut stages = BTreeMap::new();
        for stretch in outside(&still, tile) {
            around.host.stages(stretch, &mut stages);
        }
        let mut work = [0.0; SLOTS];
        for (stage, ticks) in stages.into_iter().filter(|(_, ticks)| *ticks > 0) {
            work[self.slots.slot(stage)] += ticks as f32;
        }
        let (step, fit) = around.host.step_at(stay.start);
        let still = total(still.into_iter()) as f32;
        Meeting { sequence, step, fit, left: stay.end, stay: stay.length() as f32, still, work }
    }
}
