//! A lane at one moment: its totals and its open stages, so that what happened since can be booked anew.

use laptime_core::{OpenStage, StageId, StageTotal, Ticks};

/// Stages that time belongs to which no other claims.
pub(crate) const BACKGROUNDS: [StageId; 4] =
    [StageId::UNACCOUNTED, StageId::START_UP, StageId::BETWEEN_EPOCHS, StageId::TEAR_DOWN];

/// A lane at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) at: Ticks,
    /// Totals of stages that had ended.
    ended: Vec<StageTotal>,
    /// Stages that were open, and their own time so far.
    open: Vec<(OpenStage, Ticks)>,
}

impl Moment {
    /// A lane whose ended and open stages are these.
    pub(crate) fn new(at: Ticks, ended: Vec<StageTotal>, open: Vec<(OpenStage, Ticks)>) -> Self {
        Self { at, ended, open }
    }

    /// Own time and count of every stage up to the mark.
    pub(crate) fn totals(&self) -> impl Iterator<Item = StageTotal> {
        let own_of_open = |stage: StageId| {
            let open = self.open.iter().filter(move |(open, _)| open.stage == stage);
            open.fold(Ticks(0), |sum, (_, own)| sum.plus(*own))
        };
        let ended = self.ended.iter();
        let ended =
            ended.map(move |total| StageTotal { own: total.own.plus(own_of_open(total.stage)), ..*total });
        let is_known = |at: usize, stage: StageId| {
            self.ended.iter().any(|total| total.stage == stage)
                || self.open[..at].iter().any(|(open, _)| open.stage == stage)
        };
        let open = self.open.iter().map(|(open, _)| open.stage).enumerate();
        let open = open.filter(move |(at, stage)| !is_known(*at, *stage));
        ended.chain(open.map(move |(_, stage)| StageTotal { stage, own: own_of_open(stage), count: 0 }))
    }

    /// The same moment, with all of one stage's time booked on another.
    pub(crate) fn with_rebooked(mut self, from: StageId, to: StageId) -> Self {
        let stages = self.open.iter_mut().map(|(open, _)| &mut open.stage);
        stages.filter(|stage| **stage == from).for_each(|stage| *stage = to);
        let moved = self.ended.iter_mut().find(|total| total.stage == from);
        let own = moved.map_or(Ticks(0), |total| std::mem::take(&mut total.own));
        match self.ended.iter_mut().find(|total| total.stage == to) {
            Some(total) => total.own = total.own.plus(own),
            None => self.ended.push(StageTotal { stage: to, own, count: 0 }),
        }
        self
    }

    /// The same moment, with the time since an earlier one that no stage claimed booked on `to`.
    ///
    /// The background that was open at the mark has been closed since, so its time counts as ended.
    pub(crate) fn rebook_background_since(&mut self, earlier: &Self, to: StageId) {
        let is_background = |stage: StageId| BACKGROUNDS.contains(&stage);
        if let Some((open, own)) = self.open.first_mut().filter(|(open, _)| is_background(open.stage)) {
            let (stage, own) = (open.stage, std::mem::take(own));
            self.add(stage, own);
        }
        let mut moved = Ticks(0);
        for total in self.ended.iter_mut().filter(|total| is_background(total.stage) && total.stage != to) {
            let before = earlier.totals().find(|before| before.stage == total.stage);
            let gained = total.own.since(before.map_or(Ticks(0), |before| before.own));
            total.own = total.own.since(gained);
            moved = moved.plus(gained);
        }
        self.add(to, moved);
    }

    fn add(&mut self, stage: StageId, own: Ticks) {
        match self.ended.iter_mut().find(|total| total.stage == stage) {
            Some(total) => total.own = total.own.plus(own),
            None => self.ended.push(StageTotal { stage, own, count: 0 }),
        }
    }

    /// What a stage's ended spans had in own time and count before the mark, the part before the mark of
    /// spans that have ended since included.
    pub(crate) fn booked_before(&self, stage: StageId, open_now: &[(OpenStage, Ticks)]) -> StageTotal {
        let ended = self.ended.iter().find(|total| total.stage == stage).copied();
        let mut booked = ended.unwrap_or(StageTotal { stage, ..StageTotal::default() });
        for (at, (open, own)) in self.open.iter().enumerate().filter(|(_, (open, _))| open.stage == stage) {
            // Of stretches that began at the same instant the innermost ends first.
            let earlier = self.open[..at].iter().filter(|(other, _)| same_stretch(other, open)).count();
            let still_open = open_now.iter().filter(|(other, _)| same_stretch(other, open)).count();
            if earlier >= still_open {
                booked.own = booked.own.plus(*own);
            }
        }
        booked
    }

    /// Own time before the mark of the stage that is open now at this place.
    pub(crate) fn own_before(&self, open_now: &[(OpenStage, Ticks)], at: usize) -> Ticks {
        let this = &open_now[at].0;
        let earlier = open_now[..at].iter().filter(|(other, _)| same_stretch(other, this)).count();
        let mut same = self.open.iter().filter(|(open, _)| same_stretch(open, this));
        same.nth(earlier).map_or(Ticks(0), |(_, own)| *own)
    }
}

fn same_stretch(a: &OpenStage, b: &OpenStage) -> bool {
    a.stage == b.stage && a.start == b.start
}
