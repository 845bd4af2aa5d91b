//! The condition that one side is not much slower than the other.

use super::document::{Answer, Cause, Comparison, Gate};
use super::environment::different_machines;

/// Not met where `b` is slower by more than `limit`, the interval as a whole above 1; where it is another training; and
/// where the two cannot be compared. Noise alone is no failure: it would fail equal runs. Neither is another machine:
/// times that were kept elsewhere only warn.
pub(super) fn gate(comparison: &Comparison, limit: f64) -> Gate {
    let slower = comparison.ratio.is_some_and(|ratio| ratio.mean > 1.0 + limit && ratio.low > 1.0);
    let met = match (comparison.verdict, comparison.because) {
        (Answer::NotSameTraining, _) => false,
        (Answer::CannotTell, because) => because == Some(Cause::Noise),
        _ => !slower,
    };
    let elsewhere = different_machines(&comparison.environment).is_some();
    Gate { fail_if_slower: limit, met: met || elsewhere, warns: !met && elsewhere }
}
