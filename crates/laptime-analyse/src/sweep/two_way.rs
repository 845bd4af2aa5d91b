//! Times of settings on machines, taken apart: the logarithm of a time is that of its setting, that of its machine
//! and noise. What a machine does to every setting alike is its effect.

use laptime_core::Estimate;

use super::estimate::LEVEL;
use crate::statistics::t_width;

/// One time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    pub(super) setting: usize,
    pub(super) machine: usize,
    /// The logarithm of the time.
    pub(super) log: f64,
}

/// What was found of the machines.
#[derive(Debug)]
pub(super) struct TwoWay {
    /// The logarithm of each machine's factor; over the times of a group their mean is zero.
    pub(super) effects: Vec<f64>,
    /// The group of each machine: machines that no setting links, however indirectly, are in different ones.
    pub(super) groups: Vec<usize>,
    /// Times that are left to tell the noise when settings and machines are known.
    pub(super) degrees: f64,
    /// The same, were the machines not to be known.
    pub(super) degrees_alone: f64,
    /// Squares of what neither setting nor machine explains, added up.
    pub(super) squares: f64,
    /// Times the variance of the noise, the covariance of the effects; of differences within a group alone.
    covariance: Vec<Vec<f64>>,
}

/// How often each setting was measured on each machine, and the sums of its logarithms there.
struct Cells {
    counts: Vec<Vec<f64>>,
    sums: Vec<Vec<f64>>,
}

impl TwoWay {
    /// The effects of so many machines; `None` when the times do not determine them.
    pub(super) fn of(times: &[Observation], settings: usize, machines: usize) -> Option<Self> {
        let cells = Cells::of(times, settings, machines);
        let groups = groups(&cells, machines);
        let covariance = inverse(cells.products(&groups))?;
        let against = cells.against();
        let effects: Vec<f64> =
            covariance.iter().map(|row| row.iter().zip(&against).map(|(a, b)| a * b).sum()).collect();
        let levels = cells.levels(&effects);
        let residual = |time: &Observation| time.log - effects[time.machine] - levels[time.setting];
        let squares: f64 = times.iter().map(|time| residual(time).powi(2)).sum();
        let measured = cells.counts.iter().filter(|row| row.iter().sum::<f64>() > 0.0).count();
        let linked = groups.iter().enumerate().filter(|(at, group)| groups[..*at].contains(group)).count();
        let degrees_alone = times.len() as f64 - measured as f64;
        let degrees = degrees_alone - linked as f64;
        Some(Self { effects, groups, degrees, degrees_alone, squares, covariance })
    }

    /// How many times as long as on another machine of its group everything takes on this one.
    pub(super) fn ratio(&self, machine: usize, with: usize) -> Option<Estimate> {
        if self.groups[machine] != self.groups[with] || self.degrees < 1.0 {
            return None;
        }
        let log = self.effects[machine] - self.effects[with];
        let of = &self.covariance;
        let share = of[machine][machine] + of[with][with] - 2.0 * of[machine][with];
        let half = t_width(LEVEL, self.degrees) * (share.max(0.0) * self.squares / self.degrees).sqrt();
        Some(Estimate { mean: log.exp(), low: (log - half).exp(), high: (log + half).exp(), level: LEVEL })
    }
}

impl Cells {
    fn of(times: &[Observation], settings: usize, machines: usize) -> Self {
        let empty = || vec![vec![0.0; machines]; settings];
        let (mut counts, mut sums) = (empty(), empty());
        for time in times {
            counts[time.setting][time.machine] += 1.0;
            sums[time.setting][time.machine] += time.log;
        }
        Self { counts, sums }
    }

    /// The normal equations of the machines when each setting takes what suits it best, and one more for each group:
    /// its effects add up to nothing.
    fn products(&self, groups: &[usize]) -> Vec<Vec<f64>> {
        let machines = groups.len();
        let totals: Vec<f64> = (0..machines).map(|at| self.counts.iter().map(|row| row[at]).sum()).collect();
        let mut products = vec![vec![0.0; machines]; machines];
        for one in 0..machines {
            products[one][one] = totals[one];
            for other in (0..machines).filter(|other| groups[*other] == groups[one]) {
                let group: f64 =
                    (0..machines).filter(|at| groups[*at] == groups[one]).map(|at| totals[at]).sum();
                products[one][other] += totals[one] * totals[other] / group;
            }
        }
        for row in &self.counts {
            let all: f64 = row.iter().sum();
            for one in (0..machines).filter(|_| all > 0.0) {
                (0..machines).for_each(|other| products[one][other] -= row[one] * row[other] / all);
            }
        }
        products
    }

    fn against(&self) -> Vec<f64> {
        let machines = self.counts.first().map_or(0, Vec::len);
        let mut against = vec![0.0; machines];
        for (counts, sums) in self.counts.iter().zip(&self.sums) {
            let all: f64 = counts.iter().sum();
            let mean = sums.iter().sum::<f64>() / all.max(1.0);
            against.iter_mut().enumerate().for_each(|(at, sum)| *sum += sums[at] - counts[at] * mean);
        }
        against
    }

    /// The mean logarithm of each setting, its machines' effects taken away.
    fn levels(&self, effects: &[f64]) -> Vec<f64> {
        let level = |(counts, sums): (&Vec<f64>, &Vec<f64>)| {
            let effect: f64 = counts.iter().zip(effects).map(|(count, effect)| count * effect).sum();
            (sums.iter().sum::<f64>() - effect) / counts.iter().sum::<f64>().max(1.0)
        };
        self.counts.iter().zip(&self.sums).map(level).collect()
    }
}

/// Machines that measured a setting in common, directly or through others, have the same number.
fn groups(cells: &Cells, machines: usize) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..machines).collect();
    for row in &cells.counts {
        let mut here = (0..machines).filter(|at| row[*at] > 0.0);
        let Some(first) = here.next() else { continue };
        for other in here {
            let (kept, gone) = (groups[first], groups[other]);
            groups.iter_mut().filter(|group| **group == gone).for_each(|group| *group = kept);
        }
    }
    groups
}

/// The inverse of a symmetric matrix, by Gauss and Jordan; `None` where there is none.
fn inverse(mut left: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let size = left.len();
    let unit = |at: usize| (0..size).map(|other| f64::from(u8::from(at == other))).collect::<Vec<f64>>();
    let mut right: Vec<Vec<f64>> = (0..size).map(unit).collect();
    for at in 0..size {
        let pivot = (at..size).max_by(|a, b| left[*a][at].abs().total_cmp(&left[*b][at].abs()))?;
        left.swap(at, pivot);
        right.swap(at, pivot);
        let scale = left[at][at];
        if scale.abs() < 1e-9 {
            return None;
        }
        for value in left[at].iter_mut().chain(&mut right[at]) {
            *value /= scale;
        }
        let (own_left, own_right) = (left[at].clone(), right[at].clone());
        for other in (0..size).filter(|other| *other != at) {
            let factor = left[other][at];
            left[other].iter_mut().zip(&own_left).for_each(|(value, own)| *value -= factor * own);
            right[other].iter_mut().zip(&own_right).for_each(|(value, own)| *value -= factor * own);
        }
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time(setting: usize, machine: usize, log: f64) -> Observation {
        Observation { setting, machine, log }
    }

    #[test]
    fn machines_are_known_apart_from_settings_where_few_measured_the_same() {
        // Setting 0 on machines 0 and 1, setting 1 on 1 and 2: 2 is known against 0 through 1.
        let times = [time(0, 0, 1.0), time(0, 1, 1.5), time(1, 1, 5.5), time(1, 2, 5.2), time(1, 2, 5.2)];
        let found = TwoWay::of(&times, 2, 3).unwrap();
        assert!((found.effects[1] - found.effects[0] - 0.5).abs() < 1e-9, "{found:?}");
        assert!((found.effects[2] - found.effects[0] - 0.2).abs() < 1e-9, "{found:?}");
        assert_eq!((found.degrees_alone, found.degrees), (3.0, 1.0));
    }

    #[test]
    fn machines_without_a_setting_in_common_are_not_compared() {
        let times = [time(0, 0, 1.0), time(0, 0, 1.1), time(1, 1, 5.0), time(1, 1, 5.2)];
        let found = TwoWay::of(&times, 2, 2).unwrap();
        assert_ne!(found.groups[0], found.groups[1]);
        assert!(found.effects.iter().all(|effect| effect.abs() < 1e-12), "{found:?}");
        assert_eq!((found.degrees, found.ratio(0, 1)), (2.0, None));
    }

    #[test]
    fn the_interval_of_a_ratio_is_that_of_paired_differences() {
        // Machine 1 takes 0.1, 0.3 and 0.2 longer: mean 0.2, standard error 0.1/√3, t(2) = 4.303.
        let pairs = [(0, 1.0, 1.1), (1, 2.0, 2.3), (2, 4.0, 4.2)];
        let times: Vec<Observation> =
            pairs.iter().flat_map(|(at, one, other)| [time(*at, 0, *one), time(*at, 1, *other)]).collect();
        let ratio = TwoWay::of(&times, 3, 2).unwrap().ratio(1, 0).unwrap();
        assert!((ratio.mean.ln() - 0.2).abs() < 1e-9 && (ratio.high.ln() - 0.4484).abs() < 1e-3, "{ratio:?}");
    }

    proptest! {
        #[test]
        fn planted_effects_are_found_exactly_without_noise(
            levels in proptest::collection::vec(-9.0..9.0_f64, 4),
            effects in proptest::collection::vec(-2.0..2.0_f64, 3),
            extra in proptest::collection::vec((0..4_usize, 0..3_usize), 0..12),
        ) {
            // A chain links all machines; what comes besides must not matter.
            let cells = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 0), (3, 2)].into_iter().chain(extra);
            let times: Vec<Observation> =
                cells.map(|(at, on)| time(at, on, levels[at] + effects[on])).collect();
            let found = TwoWay::of(&times, 4, 3).unwrap();
            for on in 1..3 {
                let apart = found.effects[on] - found.effects[0];
                prop_assert!((apart - (effects[on] - effects[0])).abs() < 1e-7);
            }
        }
    }
}
