//! Meetings: what is kept of the collectives that all ranks of a group leave together.
//!
//! From the end of one to the end of the next is a tile. Tiles follow each other without a gap and are equally long
//! in all ranks, though no two clocks agree: each rank only measures lengths. In a tile a rank either works or stands
//! still for the others, and the one that stands still least is the one they wait for. So a tile needs no more than
//! the time stood still and the work by stage; sums over tiles say what a run lost, and tiles of the same group and
//! number, kept by all ranks, say to whom.

use laptime_core::{StageId, Ticks};

/// Stages told apart in a tile; what else a process does is in the last one.
pub(super) const SLOTS: usize = 16;
/// Meetings kept of a group by all its ranks together, and by one of them at least and at most: at 96 bytes each
/// 1,000 ranks take less than 100 MB, and a few ranks keep every step of a short run.
const KEPT_BY_ALL: usize = 1 << 15;
const KEPT_BY_ONE: (usize, usize) = (1_024, 8_192);
/// Neighbours that are kept or dropped together, so that most steps are kept whole.
const NEIGHBOURS: u32 = 16;
/// The longest tiles of all, kept whatever their number: what happened once is among them.
const MOST_LONGEST: usize = 8;

/// One meeting with the tile that it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Meeting {
    /// Its number within the group.
    pub(crate) sequence: u32,
    /// The step of this rank it was in.
    pub(crate) step: u32,
    /// The fit of that step.
    pub(crate) fit: u32,
    /// When this rank left it.
    pub(crate) left: Ticks,
    /// How long this rank was in it, ticks.
    pub(crate) stay: f32,
    /// How long it stood still in the tile, ticks.
    pub(crate) still: f32,
    /// What it did in the rest, ticks by slot.
    pub(crate) work: [f32; SLOTS],
}

impl Meeting {
    /// What the rank did itself, ticks.
    pub(crate) fn worked(&self) -> f32 {
        self.work.iter().sum()
    }

    /// The length of the tile, ticks.
    pub(crate) fn length(&self) -> f32 {
        self.still + self.worked()
    }
}

/// Which stage has which slot: by the order in which a process came to them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots(Vec<StageId>);

impl Slots {
    pub(super) fn slot(&mut self, stage: StageId) -> usize {
        match self.0.iter().position(|known| *known == stage) {
            Some(at) => at,
            None if self.0.len() < SLOTS - 1 => {
                self.0.push(stage);
                self.0.len() - 1
            }
            None => SLOTS - 1,
        }
    }

    /// The stage of each slot in use; the last slot is everybody else's.
    pub(crate) fn stages(&self) -> impl Iterator<Item = StageId> {
        (0..SLOTS).map(|slot| self.0.get(slot).copied().unwrap_or(StageId::OTHER))
    }
}

/// A bounded sample of a group's meetings. Which numbers are in it depends on nothing but the number and how many
/// there were, so that all ranks keep the same: at level `n` every 2^n-th run of neighbours.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    pub(crate) level: u32,
    /// By number.
    pub(crate) kept: Vec<Meeting>,
    /// The longest first.
    pub(crate) longest: Vec<Meeting>,
}

impl Sample {
    /// Whether a number is in the sample at a level.
    pub(crate) fn has(sequence: u32, level: u32) -> bool {
        (sequence / NEIGHBOURS).is_multiple_of(1_u32.checked_shl(level).unwrap_or(u32::MAX))
    }

    /// Whether a meeting would be kept.
    pub(super) fn wants(&self, sequence: u32, length: f32) -> bool {
        Self::has(sequence, self.level) || self.is_long(length)
    }

    /// Takes the next meeting of a group of so many ranks, which all of them know.
    pub(super) fn take(&mut self, meeting: Meeting, ranks: usize) {
        if self.is_long(meeting.length()) {
            if self.longest.len() >= MOST_LONGEST {
                self.longest.pop();
            }
            let at = self.longest.partition_point(|known| known.length() >= meeting.length());
            self.longest.insert(at, meeting);
        }
        if !Self::has(meeting.sequence, self.level) {
            return;
        }
        let at = self.kept.partition_point(|known| known.sequence < meeting.sequence);
        self.kept.insert(at, meeting);
        let most = (KEPT_BY_ALL / ranks.max(1)).clamp(KEPT_BY_ONE.0, KEPT_BY_ONE.1);
        if self.kept.len() >= most {
            self.level += 1;
            let level = self.level;
            self.kept.retain(|known| Self::has(known.sequence, level));
            // A rank keeps this for the whole report.
            self.kept.shrink_to(most / 2);
        }
    }

    /// The meeting of a number, where it was kept.
    pub(crate) fn find(&self, sequence: u32) -> Option<&Meeting> {
        let at = self.kept.binary_search_by_key(&sequence, |known| known.sequence).ok()?;
        self.kept.get(at)
    }

    fn is_long(&self, length: f32) -> bool {
        self.longest.len() < MOST_LONGEST || self.longest.last().is_some_and(|last| length > last.length())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meeting(sequence: u32, still: f32) -> Meeting {
        Meeting { sequence, still, ..Meeting::default() }
    }

    #[test]
    fn ranks_that_saw_different_numbers_of_meetings_keep_the_same_ones() {
        let sample = |count: u32| {
            let mut sample = Sample::default();
            (0..count).for_each(|at| sample.take(meeting(at, 1.0), 1_000));
            sample
        };
        let (short, long) = (sample(900), sample(100_000));
        assert!((256..1_024).contains(&long.kept.len()));
        let common = short.kept.iter().filter(|one| Sample::has(one.sequence, long.level));
        assert!(common.clone().count() > 0);
        assert!(common.clone().all(|one| long.kept.contains(one)));
    }

    #[test]
    fn the_longest_tiles_are_kept_wherever_they_are() {
        let mut sample = Sample::default();
        (0..50_000).for_each(|at| sample.take(meeting(at, if at == 31_117 { 99.0 } else { 1.0 }), 4));
        assert_eq!(sample.longest[0].sequence, 31_117);
        assert_eq!(sample.longest.len(), MOST_LONGEST);
    }

    #[test]
    fn stages_beyond_the_slots_share_the_last_one() {
        let mut slots = Slots::default();
        let taken: Vec<usize> = (0..40).map(|stage| slots.slot(StageId(stage))).collect();
        assert_eq!((taken[3], taken[14], taken[15], taken[39]), (3, 14, 15, 15));
        assert_eq!(slots.stages().last(), Some(StageId::OTHER));
    }
}
