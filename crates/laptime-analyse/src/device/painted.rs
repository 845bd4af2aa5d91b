//! Painted: what a thread did in some time, of which only its spans are known.

use laptime_core::{OpenStage, StageId, Ticks};

use crate::totals::Totals;

/// A time that stages claim one after another: each gets what is not claimed yet.
pub(super) struct Painted {
    /// What nobody claimed, in time order.
    free: Vec<(Ticks, Ticks)>,
}

impl Painted {
    /// A time that nobody claimed.
    pub(super) fn new(from: Ticks, until: Ticks) -> Self {
        let free = if from < until { vec![(from, until)] } else { Vec::new() };
        Self { free }
    }

    /// Claims what is left between two instants; spans come by their end, so children before parents.
    pub(super) fn claim(&mut self, start: Ticks, end: Ticks) -> Ticks {
        let (mut claimed, mut later) = (Ticks(0), Vec::new());
        while let Some((from, until)) = self.free.pop() {
            if until <= start {
                self.free.push((from, until));
                break;
            }
            let (low, high) = (from.max(start), until.min(end));
            if low >= high {
                later.push((from, until));
                continue;
            }
            claimed = claimed.plus(high.since(low));
            if high < until {
                later.push((high, until));
            }
            if from < low {
                self.free.push((from, low));
                break;
            }
        }
        self.free.extend(later.into_iter().rev());
        claimed
    }

    /// Claims for stages that are open, the innermost first; all within an absorbing stage is that stage's.
    pub(super) fn claim_open(&mut self, open: &[OpenStage], totals: &mut Totals) {
        let absorbing = open.iter().position(|frame| frame.stage.absorbs_children());
        for (depth, frame) in open.iter().enumerate().skip(1).rev() {
            let stage = absorbing.filter(|at| depth > *at).map_or(frame.stage, |at| open[at].stage);
            totals.add(stage, self.claim(frame.start, Ticks(u64::MAX)));
        }
    }

    /// Gives what nobody claimed to a stage.
    pub(super) fn leave(self, stage: StageId, totals: &mut Totals) {
        let rest = self.free.iter().fold(Ticks(0), |sum, (from, until)| sum.plus(until.since(*from)));
        totals.add(stage, rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_claim_before_their_parents() {
        let mut painted = Painted::new(Ticks(100), Ticks(200));
        assert_eq!(painted.claim(Ticks(90), Ticks(110)), Ticks(10));
        assert_eq!(painted.claim(Ticks(120), Ticks(130)), Ticks(10));
        assert_eq!(painted.claim(Ticks(115), Ticks(140)), Ticks(15), "the parent of the second");
        assert_eq!(painted.claim(Ticks(190), Ticks(300)), Ticks(10));
        let mut totals = Totals::default();
        painted.leave(StageId::BETWEEN_EPOCHS, &mut totals);
        assert_eq!(totals.own(StageId::BETWEEN_EPOCHS), Ticks(55));
    }

    #[test]
    fn what_is_open_claims_from_the_innermost_and_an_evaluation_has_all_within_it() {
        let frame = |stage, start| OpenStage { stage, start: Ticks(start), children: Ticks(0) };
        let open = [
            frame(StageId::BETWEEN_EPOCHS, 0),
            frame(StageId::CALLBACKS, 110),
            frame(StageId::EVALUATE, 120),
            frame(StageId::FORWARD, 150),
        ];
        let (mut painted, mut totals) = (Painted::new(Ticks(100), Ticks(200)), Totals::default());
        painted.claim_open(&open, &mut totals);
        painted.leave(StageId::BETWEEN_EPOCHS, &mut totals);
        let own = |stage| totals.own(stage).0;
        assert_eq!((own(StageId::EVALUATE), own(StageId::FORWARD)), (80, 0));
        assert_eq!((own(StageId::CALLBACKS), own(StageId::BETWEEN_EPOCHS)), (10, 10));
    }
}
