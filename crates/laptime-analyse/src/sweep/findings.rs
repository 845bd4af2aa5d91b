//! What a sweep found, one sentence each, with numbers.

use laptime_core::units;
use serde::Serialize;

use super::best::Measure;
use super::document::{Point, PointStatus, Sweep};
use super::estimate::Repeated;
use super::plan::{Plan, Target, Value};
use super::repeat::Repeat;
use super::slices::{Slice, slices};
use crate::scaling::{Verdict, compare};

/// Slices of one axis that are reported each; of more, only the one with the best point is.
const MOST_SLICES: usize = 3;
/// Points that are named in one sentence.
const MOST_NAMES: usize = 8;
/// Points nearest to the best that are held against it.
const RIVALS: usize = 5;
/// A clock that differs by this share between repeats makes times differ.
const CLOCK_CHANGE: f64 = 0.1;

/// What a sweep shows, in one sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepFinding {
    /// A stable name, such as `law`.
    pub id: &'static str,
    /// The sentence, with numbers.
    pub text: String,
}

/// Everything worth a sentence.
pub(super) fn findings(plan: &Plan, sweep: &Sweep, used: &[Vec<&Repeat>]) -> Vec<SweepFinding> {
    let teller = Teller { plan, sweep, used };
    let mut findings = Vec::new();
    for axis in 0..plan.parameters.len() {
        findings.extend(teller.along(axis));
    }
    findings.extend(teller.best());
    findings.extend(sweep.target.map(|target| teller.to_target(target)));
    findings.extend(clock(used));
    findings
}

struct Teller<'a> {
    plan: &'a Plan,
    sweep: &'a Sweep,
    used: &'a [Vec<&'a Repeat>],
}

fn finding(id: &'static str, text: String) -> SweepFinding {
    SweepFinding { id, text }
}

impl Teller<'_> {
    /// What changes along an axis; where other axes vary too, with the values they had.
    fn along(&self, axis: usize) -> Vec<SweepFinding> {
        let all = slices(self.plan, axis);
        let best = self.sweep.best.as_ref().map(|best| best.point);
        let many = all.len() > MOST_SLICES;
        let shown = all.iter().filter(|slice| !many || best.is_some_and(|best| slice.points.contains(&best)));
        shown.flat_map(|slice| self.along_slice(slice)).collect()
    }

    fn along_slice(&self, slice: &Slice) -> Vec<SweepFinding> {
        let axis = &self.plan.parameters[slice.axis];
        if axis.numbers().is_none() {
            return self.settings(slice).into_iter().collect();
        }
        let first = &self.sweep.points[slice.points[0]];
        let mut found = Vec::new();
        for fit in self.sweep.laws.iter().filter(|fit| fit.x == axis.name) {
            let held = fit.at.iter().all(|(name, value)| first.values.get(name) == Some(value));
            if held {
                let place = self.place(slice);
                found
                    .extend(fit.best_text.iter().map(|text| finding("best_value", format!("{place}{text}"))));
                found.push(finding("law", format!("{place}{}", fit.text)));
            }
        }
        found
    }

    /// Where a slice lies: `at batch=32: `; nothing where there is only one axis.
    fn place(&self, slice: &Slice) -> String {
        let others = self
            .plan
            .parameters
            .iter()
            .enumerate()
            .filter(|(at, axis)| *at != slice.axis && axis.values.len() > 1);
        let first = &self.sweep.points[slice.points[0]];
        let named: Vec<String> = others
            .filter_map(|(_, axis)| {
                Some(format!("{}={}", axis.name, value_text(first.values.get(&axis.name)?)))
            })
            .collect();
        if named.is_empty() { String::new() } else { format!("at {}: ", named.join(" ")) }
    }

    /// Settings that no number orders, each against the fastest.
    fn settings(&self, slice: &Slice) -> Option<SweepFinding> {
        let axis = &self.plan.parameters[slice.axis];
        let mut known: Vec<(&str, f64, Vec<f64>)> = slice
            .points
            .iter()
            .zip(&axis.values)
            .filter_map(|(point, name)| Some((name.as_str(), self.cost(*point)?, self.costs(*point))))
            .collect();
        if known.len() < 2 {
            return None;
        }
        // The fastest comes last, so that the others are given as multiples of it.
        known.sort_by(|a, b| b.1.total_cmp(&a.1));
        let last = known.len() - 1;
        let costs: Vec<Vec<f64>> = known.iter().map(|(_, _, costs)| costs.clone()).collect();
        let against = compare(&costs).into_iter().filter(|comparison| comparison.with == last);
        let mut texts: Vec<(usize, String)> =
            against.map(|pair| (pair.setting, pair.sentence(known[pair.setting].0, known[last].0))).collect();
        if texts.is_empty() {
            return None;
        }
        texts.sort_by_key(|(setting, _)| std::cmp::Reverse(*setting));
        let texts: Vec<String> = texts.into_iter().take(MOST_NAMES).map(|(_, text)| text).collect();
        Some(finding("settings", format!("{}{}: {}", self.place(slice), axis.name, texts.join("; "))))
    }

    fn cost(&self, point: usize) -> Option<f64> {
        let point = &self.sweep.points[point];
        self.sweep.compared_by.cost(point).filter(|_| point.status == PointStatus::Finished)
    }

    /// The cost of every repeat of a point.
    fn costs(&self, point: usize) -> Vec<f64> {
        let by = self.sweep.compared_by;
        self.used[point].iter().filter_map(|repeat| by.cost_of(&repeat.measured)).collect()
    }

    /// The best point of several axes, and those indistinguishable from it.
    fn best(&self) -> Option<SweepFinding> {
        let best = self.sweep.best.as_ref()?;
        let axes = self.plan.parameters.iter().filter(|axis| axis.values.len() > 1).count();
        if axes < 2 || best.by == Measure::TimeToTarget {
            return None;
        }
        let value = match best.by {
            Measure::SamplesPerS => rate_text(&best.value),
            _ => time_text(&best.value),
        };
        let rivals = match self.rivals(best.point).as_slice() {
            [] => String::new(),
            [one] => format!("; indistinguishable from {one}"),
            [one, others @ ..] => format!("; indistinguishable from {one} and {} more", others.len()),
        };
        Some(finding("best", format!("fastest: {}, {value}{rivals}", self.name(best.point))))
    }

    fn rivals(&self, best: usize) -> Vec<String> {
        let mut near: Vec<(usize, f64)> = (0..self.sweep.points.len())
            .filter(|point| *point != best)
            .filter_map(|point| Some((point, self.cost(point)?)))
            .collect();
        near.sort_by(|a, b| a.1.total_cmp(&b.1));
        near.truncate(RIVALS);
        let mut costs: Vec<Vec<f64>> = near.iter().map(|(point, _)| self.costs(*point)).collect();
        let last = costs.len();
        costs.push(self.costs(best));
        let unsure = compare(&costs)
            .into_iter()
            .filter(|pair| pair.with == last && matches!(pair.verdict, Verdict::CannotTell | Verdict::Same));
        unsure.map(|pair| self.name(near[pair.setting].0)).collect()
    }

    /// `to accuracy 0.95: momentum 2.20 s (2.00–2.40 s), adam 3.10 s (2.90–3.40 s), sgd not within 60.0 s`.
    fn to_target(&self, target: Target) -> SweepFinding {
        let mut texts: Vec<(f64, String)> = Vec::new();
        for (at, point) in self.sweep.points.iter().enumerate() {
            let Some(to) = point.to_target.as_ref() else { continue };
            let name = self.short_name(at);
            match (Measure::TimeToTarget.value(point), to.not_within_s) {
                (Some(time), _) => texts.push((time.mean, format!("{name} {}", time_text(&time)))),
                (None, Some(late)) if to.reached > 0 => texts.push((
                    f64::MAX,
                    format!("{name} in {} of {} within {}", to.reached, to.tried, units::duration(late)),
                )),
                (None, late) => {
                    let within = late.map(|late| format!(" within {}", units::duration(late)));
                    texts.push((f64::INFINITY, format!("{name} not{}", within.unwrap_or_default())));
                }
            }
        }
        texts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let more = texts.len().saturating_sub(MOST_NAMES);
        let mut texts: Vec<String> = texts.into_iter().take(MOST_NAMES).map(|(_, text)| text).collect();
        if more > 0 {
            texts.push(format!("and {more} more"));
        }
        let texts = if texts.is_empty() { "unknown".to_owned() } else { texts.join(", ") };
        let metric = target.metric.name();
        finding("to_target", format!("to {metric} {}: {texts}", target.value))
    }

    fn name(&self, point: usize) -> String {
        name_of(&self.sweep.points[point], self.plan, true)
    }

    /// Without the axis' name where it is the only one that varies.
    fn short_name(&self, point: usize) -> String {
        let varying = self.plan.parameters.iter().filter(|axis| axis.values.len() > 1).count();
        name_of(
            &self.sweep.points[point],
            self.plan,
            varying > 1 || self.plan.parameters[0].numbers().is_some(),
        )
    }
}

fn name_of(point: &Point, plan: &Plan, named: bool) -> String {
    let values = plan.parameters.iter().filter(|axis| axis.values.len() > 1 || plan.parameters.len() == 1);
    let words = values.filter_map(|axis| {
        let value = value_text(point.values.get(&axis.name)?);
        Some(if named { format!("{}={value}", axis.name) } else { value })
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A value as people read it.
#[must_use]
pub fn value_text(value: &Value) -> String {
    match value {
        Value::Whole(number) if *number >= 0 => units::count(number.unsigned_abs()),
        Value::Whole(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Word(word) => laptime_core::display_name(word),
    }
}

fn time_text(time: &Repeated) -> String {
    let ends = time.low.zip(time.high).map(|(low, high)| format!(" ({})", units::interval(low, high)));
    format!("{}{}", units::duration(time.mean), ends.unwrap_or_default())
}

fn rate_text(rate: &Repeated) -> String {
    let shown = units::per_second;
    let ends = rate.low.zip(rate.high).map(|(low, high)| format!(" ({}–{})", shown(low), shown(high)));
    format!("{}{}", units::rate(rate.mean), ends.unwrap_or_default())
}

/// Clocks that were not the same throughout.
fn clock(used: &[Vec<&Repeat>]) -> Option<SweepFinding> {
    let clocks = || used.iter().flatten().filter_map(|repeat| repeat.machine.clock_mhz);
    let (least, most) = (clocks().reduce(f64::min)?, clocks().reduce(f64::max)?);
    let text = format!("the CPUs' clock was between {least:.0} and {most:.0} MHz; times differ with it");
    (most > least * (1.0 + CLOCK_CHANGE)).then(|| finding("clock_changed", text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::SweepFacts;
    use crate::sweep::plan::TargetMetric;
    use crate::sweep::planted::{failed, finished, plan};
    use crate::sweep::repeat::Moment;
    use crate::sweep::schedule::Turn;

    /// A quiet machine: every point three times, a thousandth apart.
    fn texts_of(plan: &Plan, mut measure: impl FnMut(&[f64], &mut Repeat)) -> Vec<String> {
        let mut repeats = Vec::new();
        for round in 0..3 {
            for point in 0..plan.points() {
                let mut repeat = finished(Turn { round, point }, 1.0);
                let numbers: Vec<f64> =
                    plan.values(point).iter().map(|value| value.parse().unwrap_or(0.0)).collect();
                measure(&numbers, &mut repeat);
                let factor = 1.0 + (f64::from(round) - 1.0) * 1e-3;
                let measured = &mut repeat.measured;
                measured.wall_s *= factor;
                measured.step_s = measured.step_s.map(|step| step * factor);
                measured.samples_per_s = measured.samples_per_s.map(|rate| rate / factor);
                repeats.push(repeat);
            }
        }
        let sweep = Sweep::of(plan, &repeats, SweepFacts::default());
        sweep.findings.into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn a_batch_that_the_runs_report_is_judged_by_samples_a_second() {
        let plan = plan(&[("bs", &["32", "128", "512"])]);
        let texts = texts_of(&plan, |x, repeat| {
            let step = 41e-6 + 0.11e-6 * x[0];
            let measured = &mut repeat.measured;
            (measured.batch, measured.step_s) = (Some(x[0] as u64), Some(step));
            measured.samples_per_s = Some(x[0] / step);
        });
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(texts[0].starts_with("bs: fastest is 512 (7.3× samples/s of 32)"), "{texts:?}");
        assert!(texts[1].starts_with("step time = 41.0 us + 110 ns × bs"), "{texts:?}");
    }

    #[test]
    fn every_slice_of_a_grid_is_reported_with_the_values_held() {
        let plan = plan(&[("width", &["8", "16", "32"]), ("depth", &["1", "2"])]);
        let texts = texts_of(&plan, |x, repeat| repeat.measured.wall_s = 1.0 + x[0] * x[1]);
        assert!(texts[0].starts_with("at depth=1: width: fastest is 8"), "{texts:?}");
        assert!(texts.iter().any(|text| text.starts_with("at width=32: time = ")), "{texts:?}");
        assert!(texts.iter().any(|text| text.starts_with("fastest: width=8 depth=1, 9.00 s (")), "{texts:?}");
    }

    #[test]
    fn settings_are_given_as_multiples_of_the_fastest() {
        let plan = plan(&[("opt", &["sgd", "adam"])]);
        let texts =
            texts_of(&plan, |_, repeat| repeat.measured.wall_s = if repeat.point == 0 { 1.0 } else { 1.5 });
        assert_eq!(texts.len(), 1);
        assert!(texts[0].starts_with("opt: adam takes 1.50× the time of sgd (95 %: 1.49"), "{texts:?}");
    }

    #[test]
    fn the_way_to_a_target_is_listed_from_the_quickest_to_those_that_never_arrive() {
        let plan = plan(&[("opt", &["sgd", "adam", "momentum"])]);
        let texts = texts_of(&plan, |_, repeat| {
            let moment = Moment {
                epochs: 3,
                steps: 6,
                at_s: 2.0 + repeat.point as f64,
                loss: Some(0.2),
                accuracy: None,
            };
            repeat.measured.target = Some(Target { metric: TargetMetric::Loss, value: 0.1 });
            repeat.measured.course = vec![moment];
            repeat.measured.arrival = (repeat.point > 0).then_some(moment);
        });
        let last = texts.last().unwrap();
        assert_eq!(
            last,
            "to loss 0.1: adam 3.00 s (3.00–3.00 s), momentum 4.00 s (4.00–4.00 s), sgd not within 2.00 s"
        );
    }

    #[test]
    fn a_sweep_without_a_finished_point_tells_nothing() {
        let plan = plan(&[("x", &["1", "2"])]);
        let repeats: Vec<Repeat> = (0..2).map(|point| failed(Turn { round: 0, point })).collect();
        let sweep = Sweep::of(&plan, &repeats, SweepFacts::default());
        assert!(sweep.findings.is_empty() && sweep.best.is_none() && sweep.laws.is_empty());
        assert!(Sweep::of(&plan, &[], SweepFacts::default()).findings.is_empty());
    }
}
