//! Statistics: means, variances, Student's t, ratios of variances and counts by chance.

/// The mean; `None` of nothing.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The value in the middle, or between the two that are; `None` of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (below, above) = (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some(f64::midpoint(*below, *above))
}

/// The sample variance; `None` of fewer than two values.
pub(crate) fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}

/// How many values there are, their mean and how they vary, in a form that can be added to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    /// How many.
    pub(crate) count: u64,
    mean: f64,
    /// Squared distances from the mean, added up.
    squares: f64,
}

impl Spread {
    /// Of values that are at hand.
    pub(crate) fn of(values: &[f64]) -> Self {
        let mean = mean(values).unwrap_or(0.0);
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { count: values.len() as u64, mean, squares }
    }

    /// Adds a value.
    pub(crate) fn take(&mut self, value: f64) {
        self.join(&Self { count: 1, mean: value, squares: 0.0 });
    }

    /// Adds the values of another (Chan, Golub and LeVeque 1983).
    pub(crate) fn join(&mut self, other: &Self) {
        if self.count == 0 || other.count == 0 {
            *self = if self.count == 0 { *other } else { *self };
            return;
        }
        let (own, more) = (self.count as f64, other.count as f64);
        let apart = other.mean - self.mean;
        self.squares += other.squares + apart * apart * own * more / (own + more);
        self.mean += apart * more / (own + more);
        self.count += other.count;
    }

    /// The same values in another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self { mean: self.mean * factor, squares: self.squares * factor * factor, ..self }
    }

    /// The mean; `None` of nothing.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// The sample variance; `None` of fewer than two values.
    pub(crate) fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }
}

/// How much a value says about the next one, -1 to 1; zero when all are equal.
pub(crate) fn lag_one_correlation(values: &[f64]) -> f64 {
    let mean = mean(values).unwrap_or(0.0);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// Half the width of a two-sided interval of this level, in standard errors.
pub(crate) fn t_width(level: f64, degrees: f64) -> f64 {
    let target = 0.5 + level / 2.0;
    let (mut low, mut high) = (0.0, 1e6);
    // The distribution function only grows, so halving the interval is simple and never diverges.
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if t_below(middle, degrees) < target { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The probability that Student's t with these degrees of freedom is below a `t` of at least zero.
fn t_below(t: f64, degrees: f64) -> f64 {
    1.0 - 0.5 * incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t))
}

/// The probability that Student's t with these degrees of freedom is at least this far from zero.
pub(crate) fn t_beyond(t: f64, degrees: f64) -> f64 {
    2.0 * (1.0 - t_below(t.abs(), degrees))
}

/// The probability that a ratio of variances with these degrees of freedom is above `ratio` by chance.
pub(crate) fn variance_ratio_above(ratio: f64, above: f64, below: f64) -> f64 {
    incomplete_beta(below / 2.0, above / 2.0, below / (below + above * ratio.max(0.0)))
}

/// The probability that something of this chance happens at least so often in so many tries.
pub(crate) fn binomial_at_least(times: usize, tries: usize, chance: f64) -> f64 {
    match times {
        0 => 1.0,
        _ if times > tries => 0.0,
        _ => incomplete_beta(times as f64, (tries - times + 1) as f64, chance),
    }
}

/// The regularised incomplete beta function by its continued fraction (Lentz; DLMF 8.17.22).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast only below this point; above it the mirrored one does.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp() / a;
    let (mut c, mut d) = (1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for step in 1..300 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for term in [even, odd] {
            d = 1.0 / (1.0 + term * d);
            c = 1.0 + term / c;
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-14 {
            break;
        }
    }
    front * fraction
}

/// The logarithm of the gamma function by the Lanczos approximation (g = 7, nine terms).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let mut sum = 0.999_999_999_999_809_9;
    for (at, term) in TERMS.iter().enumerate() {
        sum += term / (x + at as f64 + 1.0);
    }
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-3 * expected.abs().max(1e-9), "{found}, not {expected}");
    }

    #[test]
    fn a_spread_that_was_joined_is_that_of_all_values() {
        let values: Vec<f64> = (0..50).map(|at| f64::from(at * at % 17)).collect();
        let mut joined = Spread::of(&values[..20]);
        joined.join(&Spread::of(&values[20..49]));
        joined.take(values[49]);
        assert!((joined.mean().unwrap() - mean(&values).unwrap()).abs() < 1e-12);
        assert!((joined.variance().unwrap() - variance(&values).unwrap()).abs() < 1e-12);
        let double = joined.times(2.0);
        assert!((double.variance().unwrap() - 4.0 * variance(&values).unwrap()).abs() < 1e-12);
        assert_eq!((Spread::default().mean(), Spread::of(&[1.0]).variance()), (None, None));
    }

    #[test]
    fn t_widths_are_those_of_the_printed_table() {
        close(t_width(0.95, 1.0), 12.706);
        close(t_width(0.95, 2.0), 4.303);
        close(t_width(0.95, 10.0), 2.228);
        close(t_width(0.90, 5.0), 2.015);
        close(t_width(0.90, 1e6), 1.645);
    }

    #[test]
    fn probabilities_are_those_of_the_printed_tables() {
        close(t_beyond(2.228, 10.0), 0.05);
        close(t_beyond(-4.303, 2.0), 0.05);
        assert!((variance_ratio_above(4.10, 2.0, 10.0) - 0.05).abs() < 1e-3);
        assert!((variance_ratio_above(2.71, 5.0, 20.0) - 0.05).abs() < 1e-3);
        close(variance_ratio_above(0.0, 3.0, 4.0), 1.0);
        close(binomial_at_least(8, 10, 0.5), 56.0 / 1_024.0);
        assert_eq!((binomial_at_least(0, 5, 0.1), binomial_at_least(6, 5, 0.1)), (1.0, 0.0));
    }

    #[test]
    fn means_and_variances_match_hand_sums() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(variance(&[1.0, 2.0, 6.0]), Some(7.0));
        assert_eq!(variance(&[1.0]), None);
        assert_eq!(
            (median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0]), median(&[])),
            (Some(2.0), Some(2.5), None)
        );
    }

    #[test]
    fn correlation_is_negative_when_values_alternate_and_zero_when_they_are_equal() {
        assert!(lag_one_correlation(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0]) < -0.7);
        assert_eq!(lag_one_correlation(&[3.0, 3.0, 3.0]), 0.0);
    }
}
