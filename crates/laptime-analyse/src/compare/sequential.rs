//! When to stop: after each pair, whether the pairs so far answer the question.

use super::paired::paired_ratio;

/// What pairs are made for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Fewest pairs.
    pub fewest: usize,
    /// Most pairs.
    pub most: usize,
    /// Half the width of the interval to aim for, as a share; a difference that is far larger needs less.
    pub precision: f64,
}

/// Whether another pair is wanted.
#[must_use]
pub fn wants_another_pair(pairs: &[(f64, f64)], goal: &Goal) -> bool {
    if pairs.len() < goal.fewest.max(2) {
        return true;
    }
    let precise = paired_ratio(pairs).is_some_and(|ratio| {
        let half = (ratio.high / ratio.low).sqrt() - 1.0;
        half <= goal.precision.max(ratio.mean.ln().abs() / 8.0)
    });
    !precise && pairs.len() < goal.most
}
