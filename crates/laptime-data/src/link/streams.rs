//! The rate of a link on so many streams, put together from rounds.

use serde::Serialize;

use crate::survey::Amount;

use super::curve::{Curve, Mark, curve};

/// What more streams must gain to be worth having.
const WORTH: f64 = 1.02;

/// How fast a link is on so many streams.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StreamRate {
    /// Connections used at the same time.
    pub streams: u32,
    /// All of them together, what objects take besides their bytes not counted.
    pub bytes_per_s: Amount,
    /// What everything is late by: connecting, logging in, starting slowly.
    pub lead_s: f64,
    /// Whether the rate still rose at the end of measuring.
    pub ramping: bool,
}

impl StreamRate {
    /// The time for so many objects of so many bytes in all, each of which takes `object_s` besides its bytes.
    #[must_use]
    pub fn time(&self, objects: f64, bytes: f64, object_s: f64) -> Amount {
        let fixed = self.lead_s + objects * object_s / f64::from(self.streams);
        self.bytes_per_s.dividing(bytes).shifted(fixed)
    }
}

/// What a round of measuring saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) marks: Vec<Mark>,
    /// Objects, or parts of large ones, that were asked for.
    pub(super) objects: u64,
}

/// The rate that rounds with the same number of streams show; `None` if nothing arrived.
pub(super) fn rate(streams: u32, rounds: &[Seen], object_s: f64) -> Option<StreamRate> {
    let curves = rounds.iter().filter_map(|seen| Some((seen, curve(&seen.marks)?)));
    let all: Vec<(f64, Curve)> = curves
        .map(|(seen, curve)| (curve.steady_s, without_waiting(streams, seen, curve, object_s)))
        .collect();
    let weight: f64 = all.iter().map(|(seconds, _)| seconds).sum();
    let mean = all.iter().map(|(seconds, curve)| seconds * curve.bytes_per_s.mean).sum::<f64>() / weight;
    if !mean.is_finite() || mean <= 0.0 {
        return None;
    }
    // Rounds that disagree are two moments of the same link.
    let low = all.iter().map(|(_, curve)| curve.bytes_per_s.low).fold(f64::INFINITY, f64::min);
    let high = all.iter().map(|(_, curve)| curve.bytes_per_s.high).fold(0.0, f64::max);
    let lead_s = all.iter().map(|(_, curve)| curve.lead_s).sum::<f64>() / all.len() as f64;
    let ramping = all.last().is_some_and(|(_, curve)| curve.ramping);
    Some(StreamRate {
        streams,
        bytes_per_s: Amount::between(low.min(mean), mean, high.max(mean)),
        lead_s,
        ramping,
    })
}

/// No stream is slower than its share of many: what was seen of a few was then still its slow start.
pub(super) fn consistent(mut rates: Vec<StreamRate>) -> Vec<StreamRate> {
    for at in (0..rates.len()).rev() {
        let share = |more: &StreamRate| {
            let part = f64::from(rates[at].streams) / f64::from(more.streams);
            (part * more.bytes_per_s.mean, part * more.bytes_per_s.high)
        };
        let shares = rates[at + 1..].iter().map(share);
        let (least, high) =
            shares.fold((0.0, 0.0_f64), |(a, b), (mean, high)| (f64::max(a, mean), b.max(high)));
        let own = rates[at].bytes_per_s;
        if own.mean < least {
            rates[at].bytes_per_s = Amount::between(own.low, least, own.high.max(high));
        }
    }
    rates
}

/// The rate while bytes flow: of objects one after the other, the waiting between them is taken out.
fn without_waiting(streams: u32, seen: &Seen, curve: Curve, object_s: f64) -> Curve {
    let total = seen.marks.last().map_or(0.0, |mark| mark.seconds);
    let more = seen.objects.saturating_sub(u64::from(streams)) as f64;
    let waited = more * object_s / f64::from(streams);
    let share = (waited / total.max(1e-9)).min(0.8);
    Curve { bytes_per_s: curve.bytes_per_s.times(1.0 / (1.0 - share)), ..curve }
}

/// The fewest streams whose time for this is within a few percent of the best.
pub(super) fn fewest_worth(rates: &[StreamRate], objects: f64, bytes: f64, object_s: f64) -> u32 {
    let time = |rate: &StreamRate| rate.time(objects, bytes, object_s).mean;
    let best = rates.iter().map(time).fold(f64::INFINITY, f64::min);
    rates.iter().find(|rate| time(rate) <= best * WORTH).map_or(1, |rate| rate.streams)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(rate: f64, objects: u64) -> Seen {
        let mark =
            |index: i32| Mark { seconds: f64::from(index) / 100.0, bytes: f64::from(index) / 100.0 * rate };
        Seen { marks: (0..=200).map(mark).collect(), objects }
    }

    #[test]
    fn waiting_between_objects_is_told_apart_from_bytes() {
        // 40 objects of 50 kB in 2 s, each of which waits 25 ms: half of the time no byte flows.
        let rate = rate(1, &[steady(1e6, 41)], 0.025).unwrap();
        assert!((rate.bytes_per_s.mean / 2e6 - 1.0).abs() < 0.05, "{rate:?}");
        assert!((rate.time(40.0, 2e6, 0.025).mean - 2.0).abs() < 0.1);
        let packed = rate.time(1.0, 2e6, 0.025).mean;
        assert!((packed - 1.03).abs() < 0.1, "{packed}");
    }

    #[test]
    fn streams_that_gain_nothing_are_not_proposed() {
        let of = |streams, mean| StreamRate {
            streams,
            bytes_per_s: Amount::between(mean, mean, mean),
            lead_s: 0.1,
            ramping: false,
        };
        let rates = [of(1, 50.0), of(2, 99.5), of(4, 100.0), of(8, 101.0)];
        assert_eq!(fewest_worth(&rates, 1.0, 1e4, 0.0), 2);
        // Where every object waits, more streams wait at the same time.
        assert_eq!(fewest_worth(&rates, 1e4, 1e4, 0.1), 8);
    }

    #[test]
    fn a_stream_is_not_slower_than_its_share_of_many() {
        let of = |streams, mean| StreamRate {
            streams,
            bytes_per_s: Amount::between(mean, mean, mean),
            lead_s: 0.1,
            ramping: false,
        };
        let rates = consistent(vec![of(1, 2.0), of(2, 12.0), of(4, 12.0)]);
        let means: Vec<f64> = rates.iter().map(|rate| rate.bytes_per_s.mean).collect();
        assert_eq!(means, [6.0, 12.0, 12.0]);
        assert_eq!(rates[0].bytes_per_s.low, 2.0);
    }

    #[test]
    fn rounds_that_disagree_widen_the_interval() {
        let rate = rate(2, &[steady(1e6, 2), steady(2e6, 2)], 0.0).unwrap();
        assert!(rate.bytes_per_s.low <= 1e6 && rate.bytes_per_s.high >= 2e6, "{rate:?}");
        assert!(rate_of_nothing().is_none());
    }

    fn rate_of_nothing() -> Option<StreamRate> {
        rate(1, &[Seen::default()], 0.0)
    }
}
