//! A comparison of executions in turns: the answer by their pairs, the rest as for any runs.

use laptime_core::Estimate;

use super::document::{Alike, Answer, Cause, Comparison, Gate, More, Pairs, Timed};
use super::paired::{JudgedPairs, Measure, judged_pairs};
use super::run::ComparedRun;
use super::sequential::{Decision, decision, more_pairs, sequential_ratio};
use super::{Asked, compare};
use crate::statistics::mean;

/// What is known of executions in turns besides their runs.
#[derive(Clone, Copy, Debug)]
pub struct Turns<'a> {
    /// What is taken of each.
    pub measure: &'a Measure,
    /// Times of two executions of the first side, before the pairs; seconds.
    pub aa: Option<(f64, f64)>,
}

/// Compares executions in turns, as many of one side as of the other; each side has a name that it is shown by.
#[must_use]
pub fn compare_in_turns(
    a: (&str, &[ComparedRun]),
    b: (&str, &[ComparedRun]),
    turns: &Turns<'_>,
    asked: &Asked,
) -> Comparison {
    let mut comparison = compare(a, b, asked);
    let judged = judged_pairs(turns.measure, a.1, b.1);
    let decided = asked.fail_if_slower.map(|limit| decision(&judged.pairs, limit));
    judge(&mut comparison, &judged, decided);
    comparison.timed = Some(match turns.measure {
        Measure::Stage(_) => Timed::Stage,
        _ => Timed::Run,
    });
    let times = measured(turns.measure, a.1, b.1);
    let of = |side: fn(&(f64, f64)) -> f64| times.iter().map(side).collect::<Vec<f64>>();
    let (a_s, b_s) = (of(|pair| pair.0), of(|pair| pair.1));
    (comparison.a_s, comparison.b_s) = (mean(&a_s), mean(&b_s));
    comparison.aa = turns.aa.map(|(first, second)| Alike { ratio: second / first });
    comparison.pairs = Some(Pairs {
        measure: turns.measure.name().to_owned(),
        count: times.len() as u64,
        a_s,
        b_s,
        without_waits: judged.without_waits,
        decided: decided.map(|decided| decided != Decision::Undecided),
    });
    comparison
}

fn measured(measure: &Measure, a: &[ComparedRun], b: &[ComparedRun]) -> Vec<(f64, f64)> {
    a.iter().zip(b).filter_map(|(a, b)| measure.of(a).zip(measure.of(b))).collect()
}

/// The answer and the condition, by the pairs.
fn judge(comparison: &mut Comparison, judged: &JudgedPairs, decided: Option<Decision>) {
    comparison.ratio = sequential_ratio(&judged.pairs);
    comparison.between_runs_seen = true;
    let limit = comparison.gate.map(|gate| gate.fail_if_slower);
    let same_training = comparison.verdict != Answer::NotSameTraining;
    if same_training {
        let answer =
            comparison.ratio.map_or(Answer::CannotTell, |ratio| by_ratio(&ratio, comparison.same_within));
        let unclear = answer == Answer::CannotTell;
        let open = decided.map_or(unclear, |decided| decided == Decision::Undecided);
        comparison.verdict = answer;
        comparison.because = unclear.then_some(Cause::Noise);
        let more = || more_pairs(&judged.pairs, limit, comparison.same_within).map(More::Pairs);
        comparison.more = if open { more() } else { None };
    }
    let met = same_training && decided != Some(Decision::Slower);
    comparison.gate = limit.map(|fail_if_slower| Gate { fail_if_slower, met, warns: false });
}

/// Faster, slower or the same where the whole interval says so.
pub(super) fn by_ratio(ratio: &Estimate, same_within: f64) -> Answer {
    let margin = 1.0 + same_within;
    match ratio {
        ratio if ratio.high <= margin && ratio.low >= 1.0 / margin => Answer::Same,
        ratio if ratio.high < 1.0 => Answer::Faster,
        ratio if ratio.low > 1.0 => Answer::Slower,
        _ => Answer::CannotTell,
    }
}
