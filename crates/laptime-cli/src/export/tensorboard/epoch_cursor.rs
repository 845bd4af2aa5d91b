//! Epoch cursor: which epochs of a growing run have been handed on.

use std::collections::BTreeMap;

use laptime_analyse::EpochSummary;

/// How many epochs of each fit have been handed on. A growing run may fold what was already handed on.
#[derive(Clone, Debug, Default)]
pub(super) struct EpochCursor {
    of_fit: BTreeMap<u32, u64>,
}

impl EpochCursor {
    /// Gives the epochs that are ready and new to `take`, in order; from the first it refuses, they come again
    /// next time.
    pub(super) fn hand_on<E>(
        &mut self,
        epochs: &[&EpochSummary],
        ready: impl Fn(&EpochSummary) -> bool,
        mut take: impl FnMut(&EpochSummary) -> Result<(), E>,
    ) -> Result<(), E> {
        for of_fit in epochs.chunk_by(|one, next| one.fit == next.fit) {
            let handed = self.of_fit.entry(of_fit[0].fit).or_default();
            let mut known = 0;
            for epoch in of_fit.iter().take_while(|epoch| ready(epoch)) {
                known += epoch.count;
                if known > *handed {
                    take(epoch)?;
                    *handed = known;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::sample;

    fn hand_on(cursor: &mut EpochCursor, epochs: &[EpochSummary]) -> Vec<(u32, u32)> {
        let epochs: Vec<&EpochSummary> = epochs.iter().collect();
        let mut taken = Vec::new();
        let take = |epoch: &EpochSummary| {
            taken.push((epoch.fit, epoch.index));
            Ok::<(), ()>(())
        };
        cursor.hand_on(&epochs, |epoch| epoch.settled, take).unwrap();
        taken
    }

    #[test]
    fn every_epoch_is_handed_on_once_and_only_when_it_is_ready() {
        let mut epochs = sample::several().epochs;
        epochs.last_mut().unwrap().settled = false;
        let all: Vec<(u32, u32)> = epochs.iter().map(|epoch| (epoch.fit, epoch.index)).collect();
        let mut cursor = EpochCursor::default();
        assert_eq!(hand_on(&mut cursor, &epochs[..2]), all[..2]);
        assert_eq!(hand_on(&mut cursor, &epochs), all[2..all.len() - 1]);
        assert_eq!(hand_on(&mut cursor, &epochs), []);
        epochs.last_mut().unwrap().settled = true;
        assert_eq!(hand_on(&mut cursor, &epochs), all[all.len() - 1..]);
    }

    #[test]
    fn folded_epochs_are_handed_on_only_where_some_of_them_are_new() {
        let epoch =
            |index, count| EpochSummary { fit: 0, index, count, ..sample::several().epochs[0].clone() };
        let mut cursor = EpochCursor::default();
        let singles = [epoch(0, 1), epoch(1, 1), epoch(2, 1)];
        assert_eq!(hand_on(&mut cursor, &singles), [(0, 0), (0, 1), (0, 2)]);
        let folded = [epoch(0, 1), epoch(1, 2), epoch(3, 2), epoch(5, 1)];
        assert_eq!(hand_on(&mut cursor, &folded), [(0, 3), (0, 5)]);
    }

    #[test]
    fn an_epoch_that_could_not_be_taken_comes_again() {
        let epochs = sample::several().epochs;
        let mut cursor = EpochCursor::default();
        let mut refusals = 0;
        let refused = cursor.hand_on(
            &epochs.iter().collect::<Vec<_>>(),
            |_| true,
            |epoch| {
                refusals += u32::from(epoch.index == 1);
                if epoch.index == 1 { Err("full") } else { Ok(()) }
            },
        );
        assert_eq!((refused, refusals), (Err("full"), 1));
        assert_eq!(hand_on(&mut cursor, &epochs)[0], (epochs[1].fit, 1));
    }
}
