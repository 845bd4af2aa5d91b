//! Steady state: where warm-up ends, and how long epochs take from there.

use crate::step_series::StepSeries;

/// Fewer blocks than this cannot show a steady half.
const FEWEST_BLOCKS: usize = 6;
/// Neighbours that have to agree, so that one quick step amid slow ones does not end the warm-up.
const WINDOW: usize = 5;
/// Warm-up is what exceeds the settled median by this factor; measured first steps take 1.26-1.63 × the mean.
const SLOWER: f64 = 1.2;
/// The two last quarters of a settled run differ by less than this factor.
const DRIFT: f64 = 1.5;

/// Whether the steps of a fit settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settling {
    /// Too few steps to tell.
    TooFewSteps,
    /// They are steady after this many.
    After(u64),
    /// They never are.
    Never,
}

impl Settling {
    /// Steps of warm-up, where known.
    pub(crate) fn warm_up_steps(self) -> Option<u64> {
        if let Self::After(steps) = self { Some(steps) } else { None }
    }
}

/// Where the warm-up of a fit ends, in whole blocks of its series.
///
/// The second half sets the standard, and warm-up is the leading stretch that is slower than nearly all
/// of it. A rule that minimises an error (MSER) would also cut after a stall in mid-run, and a stall that
/// comes back belongs in the mean.
pub(crate) fn settling(series: &StepSeries) -> Settling {
    let times: Vec<f64> = series.blocks().iter().map(|block| block.mean_ticks()).collect();
    match warm_up_len(&times) {
        _ if times.len() < FEWEST_BLOCKS => Settling::TooFewSteps,
        Some(blocks) => Settling::After((blocks as u64).saturating_mul(series.block_len())),
        None => Settling::Never,
    }
}

fn warm_up_len(times: &[f64]) -> Option<usize> {
    let half = times.len() / 2;
    let (third, last) = times[half..].split_at((times.len() - half) / 2);
    let (before, after) = (middle(third)?, middle(last)?);
    if before > DRIFT * after || after > DRIFT * before {
        return None;
    }
    let usual = quantile(&times[half..], 0.95)?.max(SLOWER * middle(&times[half..])?);
    let settled = |at: &usize| {
        let window = &times[*at..times.len().min(at + WINDOW)];
        times[*at] <= usual && middle(window).is_some_and(|middle| middle <= usual)
    };
    (0..=half).find(settled)
}

/// How long an epoch took, or several neighbours together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EpochTime {
    /// Steps of the fit before it.
    pub(crate) before: u64,
    /// How many epochs.
    pub(crate) count: u64,
    /// Seconds.
    pub(crate) seconds: f64,
}

/// Mean time of an epoch; `None` of nothing.
pub(crate) fn mean_time<'a>(times: impl IntoIterator<Item = &'a EpochTime, IntoIter: Clone>) -> Option<f64> {
    let times = times.into_iter();
    let count: u64 = times.clone().map(|time| time.count).sum();
    (count > 0).then(|| times.map(|time| time.seconds).sum::<f64>() / count as f64)
}

/// Mean time of the steady epochs: those after the first that began after the warm-up, neighbours that were
/// added up as one. `None` with only one epoch.
pub(crate) fn steady_epoch(times: &[EpochTime], settling: Settling) -> Option<f64> {
    let warm_up = match settling {
        Settling::Never => return None,
        Settling::TooFewSteps => 0,
        Settling::After(steps) => steps,
    };
    mean_time(times.iter().skip(1).filter(|time| time.before >= warm_up))
}

/// The median; `None` of nothing.
pub(crate) fn middle(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let rank = (values.len() as f64 * q).ceil() as usize;
    let place = rank.saturating_sub(1);
    let mut values = values.to_vec();
    (place < values.len()).then(|| *values.select_nth_unstable_by(place, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_first_steps_are_warm_up() {
        assert_eq!(warm_up_len(&[900.0, 400.0, 101.0, 99.0, 100.0, 100.0]), Some(2));
        assert_eq!(warm_up_len(&[100.0; 20]), Some(0));
    }

    #[test]
    fn a_stall_in_mid_run_is_not_warm_up() {
        let mut times = vec![100.0; 40];
        times[15] = 5_000.0;
        assert_eq!(warm_up_len(&times), Some(0));
    }

    #[test]
    fn one_quick_step_does_not_end_the_warm_up() {
        let mut times = vec![300.0, 290.0, 100.0, 310.0, 280.0, 305.0];
        times.extend([100.0; 30]);
        assert_eq!(warm_up_len(&times), Some(6));
    }

    #[test]
    fn steps_that_keep_getting_slower_never_settle() {
        let times: Vec<f64> = (0..40).map(|step| 1.2_f64.powi(step)).collect();
        assert_eq!(warm_up_len(&times), None);
        assert_eq!(warm_up_len(&[]), None);
    }

    #[test]
    fn the_first_epoch_is_never_steady() {
        let time = |(before, seconds)| EpochTime { before, count: 1, seconds };
        let epochs = [(0, 9.0), (10, 4.0), (20, 2.0), (30, 2.2)].map(time);
        assert_eq!(steady_epoch(&epochs[..1], Settling::TooFewSteps), None);
        assert_eq!(steady_epoch(&epochs, Settling::After(15)), Some(2.1));
        assert_eq!(steady_epoch(&epochs, Settling::Never), None);
    }

    #[test]
    fn epochs_that_were_added_up_count_as_many() {
        let first = EpochTime { before: 0, count: 1, seconds: 9.0 };
        let later = EpochTime { before: 20, count: 3, seconds: 6.0 };
        assert_eq!(mean_time(&[first, later]), Some(3.75));
        assert_eq!(steady_epoch(&[first, later], Settling::TooFewSteps), Some(2.0));
    }
}
