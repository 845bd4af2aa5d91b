//! Least squares with at most three unknowns.

/// The most unknowns a law has.
pub(super) const MOST: usize = 3;

/// One number for each unknown; those a law does not have are zero.
pub(super) type Row = [f64; MOST];

/// The sums of a weighted least-squares problem, its columns scaled to length one so that a thousand rows
/// and a millionth of a second stand beside each other without loss.
pub(super) struct Normal {
    unknowns: usize,
    scale: Row,
    products: [Row; MOST],
    against: Row,
}

impl Normal {
    /// The problem of rows with their values and weights.
    pub(super) fn of(unknowns: usize, rows: &[(Row, f64, f64)]) -> Self {
        let mut scale = [1.0; MOST];
        for (at, scale) in scale.iter_mut().enumerate().take(unknowns) {
            let length = rows.iter().map(|(row, _, weight)| weight * row[at].powi(2)).sum::<f64>().sqrt();
            *scale = if length > 0.0 { length } else { 1.0 };
        }
        let (mut products, mut against) = ([[0.0; MOST]; MOST], [0.0; MOST]);
        for (row, value, weight) in rows {
            for i in 0..unknowns {
                against[i] += weight * row[i] * value / scale[i];
                for j in 0..unknowns {
                    products[i][j] += weight * row[i] * row[j] / (scale[i] * scale[j]);
                }
            }
        }
        Self { unknowns, scale, products, against }
    }

    /// The unknowns; `None` when the rows do not determine them.
    pub(super) fn solution(&self) -> Option<Row> {
        self.solved(&self.against).map(|scaled| self.unscaled(scaled))
    }

    /// The unknowns when none may be below zero: those that want to be are held at zero.
    pub(super) fn solution_above_zero(&self) -> Option<Row> {
        let mut best: Option<(f64, Row)> = None;
        // With three unknowns there are seven sets of them that may be above zero: all are tried.
        for free in 1_u32..1 << self.unknowns {
            let Some(found) = self.only(free).solved(&self.masked(free)) else { continue };
            if found.iter().any(|value| *value < 0.0) {
                continue;
            }
            let gain: f64 = (0..self.unknowns).map(|at| found[at] * self.against[at]).sum();
            if best.is_none_or(|(most, _)| gain > most) {
                best = Some((gain, found));
            }
        }
        best.map(|(_, found)| self.unscaled(found))
    }

    /// The inverse of the products: times the variance of the noise, the covariance of the unknowns.
    pub(super) fn inverse(&self) -> Option<[Row; MOST]> {
        let mut inverse = [[0.0; MOST]; MOST];
        for at in 0..self.unknowns {
            let mut unit = [0.0; MOST];
            unit[at] = 1.0;
            let column = self.solved(&unit)?;
            for (row, value) in inverse.iter_mut().zip(column) {
                row[at] = value;
            }
        }
        for (i, row) in inverse.iter_mut().enumerate() {
            row.iter_mut().enumerate().for_each(|(j, value)| *value /= self.scale[i] * self.scale[j]);
        }
        Some(inverse)
    }

    fn masked(&self, free: u32) -> Row {
        let mut against = self.against;
        (0..MOST).filter(|at| free & (1 << at) == 0).for_each(|at| against[at] = 0.0);
        against
    }

    /// The problem with the other unknowns tied to zero.
    fn only(&self, free: u32) -> Self {
        let mut products = self.products;
        for (i, row) in products.iter_mut().enumerate() {
            for (j, value) in row.iter_mut().enumerate() {
                if free & (1 << i) == 0 || free & (1 << j) == 0 {
                    *value = f64::from(u8::from(i == j));
                }
            }
        }
        Self { unknowns: self.unknowns, scale: self.scale, products, against: self.against }
    }

    fn unscaled(&self, mut scaled: Row) -> Row {
        scaled.iter_mut().zip(self.scale).for_each(|(value, scale)| *value /= scale);
        scaled
    }

    /// Gauss elimination with pivots.
    fn solved(&self, right: &Row) -> Option<Row> {
        // Columns have length one, so a pivot this small is rounding and not data.
        const SINGULAR: f64 = 1e-11;
        let size = self.unknowns;
        let (mut matrix, mut right) = (self.products, *right);
        for at in 0..size {
            let pivot = (at..size).max_by(|a, b| matrix[*a][at].abs().total_cmp(&matrix[*b][at].abs()))?;
            if matrix[pivot][at].abs().partial_cmp(&SINGULAR) != Some(std::cmp::Ordering::Greater) {
                return None;
            }
            matrix.swap(at, pivot);
            right.swap(at, pivot);
            for below in at + 1..size {
                let factor = matrix[below][at] / matrix[at][at];
                let above = matrix[at];
                matrix[below]
                    .iter_mut()
                    .zip(above)
                    .skip(at)
                    .for_each(|(value, from)| *value -= factor * from);
                right[below] -= factor * right[at];
            }
        }
        let mut found = [0.0; MOST];
        for at in (0..size).rev() {
            let known: f64 = (at + 1..size).map(|later| matrix[at][later] * found[later]).sum();
            found[at] = (right[at] - known) / matrix[at][at];
        }
        found.iter().all(|value| value.is_finite()).then_some(found)
    }
}

/// `gradient · covariance · gradient`: the variance of what has that gradient in the unknowns.
pub(super) fn variance_along(covariance: &[Row; MOST], gradient: &Row) -> f64 {
    let along = covariance
        .iter()
        .zip(gradient)
        .map(|(row, by)| by * row.iter().zip(gradient).map(|(value, other)| value * other).sum::<f64>());
    along.sum::<f64>().max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[(f64, f64)]) -> Normal {
        let rows: Vec<_> = points.iter().map(|(x, y)| ([1.0, *x, 0.0], *y, 1.0)).collect();
        Normal::of(2, &rows)
    }

    #[test]
    fn a_line_is_found_whatever_the_sizes_of_its_numbers() {
        let found = line(&[(1e6, 3e-6), (2e6, 5e-6), (4e6, 9e-6)]).solution().unwrap();
        assert!((found[0] - 1e-6).abs() < 1e-15 && (found[1] - 2e-12).abs() < 1e-20, "{found:?}");
    }

    #[test]
    fn the_covariance_is_that_of_the_textbook() {
        // Slope: 1 / sum of squared distances; intercept: 1 / n + mean² times that.
        let inverse = line(&[(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]).inverse().unwrap();
        assert!((inverse[1][1] - 0.5).abs() < 1e-9 && (inverse[0][0] - 7.0 / 3.0).abs() < 1e-9);
        assert!((variance_along(&inverse, &[1.0, 2.0, 0.0]) - 1.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn unknowns_that_want_to_be_below_zero_are_held_at_zero() {
        let falling = line(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]);
        let found = falling.solution_above_zero().unwrap();
        assert!((found[0] - 2.0).abs() < 1e-9 && found[1] == 0.0, "{found:?}");
    }

    #[test]
    fn equal_rows_determine_nothing() {
        assert!(line(&[(2.0, 1.0), (2.0, 3.0)]).solution().is_none());
    }
}
