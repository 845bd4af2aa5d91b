//! Settings: whether two of them take different time, when no number orders them.

use laptime_core::Estimate;
use serde::Serialize;

use super::law::{BEST_REPEAT, LEVEL};
use crate::statistics::{mean, t_beyond, t_width, variance};

/// Settings whose times are closer than this share are the same to anybody.
const SAME_WITHIN: f64 = 0.05;

/// How the time of one setting compares with another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// It takes less time.
    #[serde(rename = "faster")]
    Faster,
    /// It takes more time.
    #[serde(rename = "slower")]
    Slower,
    /// It takes the same time within 5 %.
    #[serde(rename = "same")]
    Same,
    /// The noise is larger than the difference.
    #[serde(rename = "cannot tell")]
    CannotTell,
}

/// One setting against another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Which setting is compared, its place in the list.
    pub setting: usize,
    /// Which setting it is compared with.
    pub with: usize,
    /// The outcome.
    pub verdict: Verdict,
    /// Mean time of the setting over that of the other, with an interval for this pair alone.
    pub ratio: Estimate,
}

/// Two settings before many are judged together.
struct Pair {
    setting: usize,
    with: usize,
    /// Logarithm of the ratio of their means, its standard error and degrees of freedom.
    log_ratio: f64,
    error: f64,
    degrees: f64,
}

/// The mean of a setting's repeats.
#[derive(Clone, Copy)]
struct Repeats {
    mean: f64,
    /// Variance of the mean, relative to its square.
    variance: f64,
    degrees: f64,
}

/// Every setting against every later one, from the means of their repeats.
///
/// Of all verdicts together at most one list in twenty has a difference that is none: the more settings are
/// compared, the more each difference must show (Holm). A setting without repeats is taken to vary as the
/// others do. Pairs without even a ratio, are left out.
#[must_use]
pub fn compare(settings: &[Vec<f64>]) -> Vec<Comparison> {
    let repeats = repeats(settings);
    let mut pairs = Vec::new();
    for (setting, first) in repeats.iter().enumerate() {
        for (with, second) in repeats.iter().enumerate().skip(setting + 1) {
            if let (Some(first), Some(second)) = (first, second) {
                pairs.push(Pair::of((setting, first), (with, second)));
            }
        }
    }
    judged(&pairs)
}

fn repeats(settings: &[Vec<f64>]) -> Vec<Option<Repeats>> {
    let usable = |times: &Vec<f64>| -> Vec<f64> {
        times.iter().copied().filter(|time| time.is_finite() && *time > 0.0).collect()
    };
    let all: Vec<Vec<f64>> = settings.iter().map(usable).collect();
    let relative = |times: &Vec<f64>| Some(variance(times)? / mean(times)?.powi(2));
    let known = all.iter().filter_map(|times| Some((relative(times)?, times.len() as f64 - 1.0)));
    let (sum, degrees) =
        known.fold((0.0, 0.0), |(sum, all), (variance, degrees)| (sum + variance * degrees, all + degrees));
    let one = |times: &Vec<f64>| {
        let (of_one, degrees) = match relative(times) {
            Some(variance) => (variance, times.len() as f64 - 1.0),
            None if degrees > 0.0 => (sum / degrees, degrees),
            None => return None,
        };
        let variance = (of_one / times.len() as f64).max(BEST_REPEAT.powi(2));
        Some(Repeats { mean: mean(times)?, variance, degrees })
    };
    all.iter().map(one).collect()
}

impl Pair {
    /// Welch's test: the two may vary differently.
    fn of((setting, first): (usize, &Repeats), (with, second): (usize, &Repeats)) -> Self {
        let variance = first.variance + second.variance;
        let shares = first.variance.powi(2) / first.degrees + second.variance.powi(2) / second.degrees;
        Self {
            setting,
            with,
            log_ratio: (first.mean / second.mean).ln(),
            error: variance.sqrt(),
            degrees: variance.powi(2) / shares,
        }
    }

    /// How likely so large a difference is between equal settings.
    fn chance(&self) -> f64 {
        t_beyond(self.log_ratio / self.error, self.degrees)
    }

    fn half_width(&self, level: f64) -> f64 {
        t_width(level, self.degrees) * self.error
    }

    fn ratio(&self) -> Estimate {
        let half = self.half_width(LEVEL);
        let at = |log: f64| log.exp();
        Estimate {
            mean: at(self.log_ratio),
            low: at(self.log_ratio - half),
            high: at(self.log_ratio + half),
            level: LEVEL,
        }
    }

    /// Whether the interval, corrected for so many comparisons, lies within what is the same to anybody.
    fn is_same(&self, comparisons: f64) -> bool {
        self.log_ratio.abs() + self.half_width(1.0 - (1.0 - LEVEL) / comparisons) <= SAME_WITHIN.ln_1p()
    }
}

/// The verdicts, the clearest differences judged first and each next one against fewer.
fn judged(pairs: &[Pair]) -> Vec<Comparison> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by(|a, b| pairs[*a].chance().total_cmp(&pairs[*b].chance()));
    let passes =
        |(rank, at): &(usize, &usize)| pairs[**at].chance() * (pairs.len() - rank) as f64 <= 1.0 - LEVEL;
    let different: Vec<usize> = order.iter().enumerate().take_while(passes).map(|(_, at)| *at).collect();
    let verdict = |at: usize, pair: &Pair| match pair {
        pair if different.contains(&at) && pair.log_ratio < 0.0 => Verdict::Faster,
        _ if different.contains(&at) => Verdict::Slower,
        pair if pair.is_same(pairs.len() as f64) => Verdict::Same,
        _ => Verdict::CannotTell,
    };
    let compared = pairs.iter().enumerate().map(|(at, pair)| Comparison {
        setting: pair.setting,
        with: pair.with,
        verdict: verdict(at, pair),
        ratio: pair.ratio(),
    });
    compared.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(settings: &[&[f64]]) -> Vec<Verdict> {
        let settings: Vec<Vec<f64>> = settings.iter().map(|times| times.to_vec()).collect();
        compare(&settings).iter().map(|comparison| comparison.verdict).collect()
    }

    #[test]
    fn clear_differences_are_reported_with_their_direction() {
        let (fast, slow) = ([1.0, 1.01, 0.99, 1.0], [1.5, 1.52, 1.49, 1.5]);
        assert_eq!(verdicts(&[&fast, &slow]), [Verdict::Faster]);
        assert_eq!(verdicts(&[&slow, &fast]), [Verdict::Slower]);
        let ratio = compare(&[slow.to_vec(), fast.to_vec()])[0].ratio;
        assert!(ratio.low < 1.5025 && 1.5025 < ratio.high && ratio.high - ratio.low < 0.1, "{ratio:?}");
    }

    #[test]
    fn equal_settings_are_the_same_when_quiet_and_undecided_when_noisy() {
        assert_eq!(verdicts(&[&[1.0, 1.001, 0.999, 1.0], &[1.001, 1.0, 0.998, 1.002]]), [Verdict::Same]);
        assert_eq!(verdicts(&[&[1.0, 1.4, 0.8], &[1.1, 0.9, 1.5]]), [Verdict::CannotTell]);
    }

    #[test]
    fn a_single_repeat_varies_as_the_others_do_and_alone_tells_nothing() {
        assert_eq!(verdicts(&[&[1.0, 1.01, 0.99, 1.0], &[3.0]]), [Verdict::Faster]);
        assert_eq!(verdicts(&[&[1.0], &[3.0]]), []);
        assert_eq!(verdicts(&[&[1.0, 1.1], &[], &[f64::NAN]]), []);
    }

    #[test]
    fn many_settings_make_each_difference_harder_to_claim() {
        let (one, other) = ([1.0, 1.02, 0.98, 1.01, 0.99], [1.03, 1.05, 1.0, 1.04, 1.02]);
        assert_eq!(verdicts(&[&one, &other]), [Verdict::Faster]);
        let many: Vec<&[f64]> = vec![&one, &other, &one, &one, &one, &one, &one, &one];
        assert!(!verdicts(&many).contains(&Verdict::Faster));
    }
}
