//! Unreached: what a part takes that the run did not come to, by what else is known of it.

use super::document::EstimatedPart;
use super::past::{Around, Past};
use super::width::NINE_OF_TEN;
use crate::advise::{Evidence, Pipeline};
use crate::recurring::Recurring;

/// How far the estimate of an evaluation may be off, standard deviation in logarithms: a factor of 1.5 is not unusual,
/// since other transforms, no gradients and metrics all differ from training; assumed.
const ERROR: f64 = 0.35;
/// The part of computing that goes forward, where that is not seen: backward takes twice as long.
const FORWARD: f64 = 1.0 / 3.0;
/// What an evaluation does as a step does: its batch goes to the device and through the model.
const FORWARDS: [&str; 4] = ["prepare", "host_to_device", "forward", "loss"];
/// What else a step computes.
const OTHERS: [&str; 5] = ["backward", "optimizer", "after_update", "communication", "train_function"];
/// Bytes of a number of a model.
const PARAMETER_BYTES: u64 = 4;

/// Data that a script has to evaluate with.
#[derive(Clone, Copy, Debug, PartialEq)]
struct EvaluationData {
    batches: u64,
    /// Rows, where they are known.
    rows: Option<u64>,
    /// Evaluated once in so many epochs.
    every: u64,
    /// Processes that load it.
    workers: u64,
    /// Rows of the least and of the most other data that could be meant.
    between: Option<(u64, u64)>,
    /// Who says so.
    source: Source,
}

/// Who knows how much data an evaluation has.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    /// Loaders that are not trained with, so many of them.
    Loaders(u64),
    /// The validation data of a `fit`.
    Fit,
}

/// What an evaluation takes after each epoch, by the length of its data and the steps that were seen; `None` where
/// nothing says that there is one.
pub(super) fn evaluation(past: &Past<'_>) -> Option<(Around, EstimatedPart)> {
    let data = EvaluationData::of(past)?;
    let once_s = data.seconds(past)?;
    let each_s = once_s / data.every as f64;
    let cost = Recurring::supposed(each_s, ERROR.hypot(data.ambiguity()));
    let around = Around { cost, evaluation: 1.0, checkpoint: 0.0 };
    let part = EstimatedPart { name: "evaluation", seconds_each: once_s, because: data.words() };
    (each_s.is_finite() && each_s > 0.0).then_some((around, part))
}

/// Bytes that a checkpoint has at least: the numbers that the model learns.
pub(super) fn checkpoint_bytes(past: &Past<'_>) -> Option<u64> {
    past.fit.parameters.filter(|count| *count > 0)?.checked_mul(PARAMETER_BYTES)
}

impl EvaluationData {
    fn of(past: &Past<'_>) -> Option<Self> {
        let number = |name: &str| past.fit.settings.get(name)?.parse::<u64>().ok();
        let positive = |name: &str| number(name).filter(|value| *value > 0);
        if let Some(batches) = positive("keras.validation_batches") {
            let (rows, every) = (positive("keras.validation_rows"), positive("keras.validation_every"));
            let every = every.unwrap_or(1);
            return Some(Self { batches, rows, every, workers: 0, between: None, source: Source::Fit });
        }
        let least = number("torch.other_loader_least_rows");
        Some(Self {
            batches: positive("torch.other_loader_batches")?,
            rows: positive("torch.other_loader_rows"),
            every: 1,
            workers: number("torch.other_loader_workers").unwrap_or(0),
            between: least.zip(number("torch.other_loader_most_rows")),
            source: Source::Loaders(positive("torch.other_loaders").unwrap_or(1)),
        })
    }

    /// One pass over it, seconds.
    fn seconds(&self, past: &Past<'_>) -> Option<f64> {
        let (step, wait) = past.run.steady_step(past.fit.index).filter(|(step, _)| *step > 0.0)?;
        let (part, forward) = (self.batch_part(past), forward_share(past));
        let trains_alone = past.fit.workers.unwrap_or(0) == 0;
        let pipeline = self.pipeline(past, part, forward).filter(|_| !trains_alone || self.workers > 0);
        let batch_s = match pipeline {
            // Workers that keep up with training may not keep up with less computing.
            Some(pipeline) => pipeline.step_s(self.workers, is_persistent(past)),
            None => (wait + (step - wait).max(0.0) * forward) * part,
        };
        Some(batch_s * self.batches as f64)
    }

    fn pipeline(&self, past: &Past<'_>, part: f64, forward: f64) -> Option<Pipeline> {
        let evidence = Evidence::of(past.run).filter(|evidence| evidence.fit.index == past.fit.index)?;
        let training = Pipeline::of(&evidence)?;
        Some(Pipeline {
            compute_s: training.compute_s * forward * part,
            compute_cpu_s: training.compute_cpu_s * forward * part,
            steps_per_epoch: self.batches as f64,
            ..training.with_loading(part)
        })
    }

    /// Its mean batch over one of training.
    fn batch_part(&self, past: &Past<'_>) -> f64 {
        let batch = self.rows.map(|rows| rows as f64 / self.batches as f64);
        batch.zip(past.fit.batch.filter(|batch| *batch > 0)).map_or(1.0, |(batch, of)| batch / of as f64)
    }

    /// Standard deviation, as a share, that lets the interval hold all data that could be meant.
    fn ambiguity(&self) -> f64 {
        let Some((rows, (least, most))) = self.rows.zip(self.between) else { return 0.0 };
        let times = |other: u64| other as f64 / rows as f64;
        (times(most) - 1.0).max(1.0 - times(least)).max(0.0) / NINE_OF_TEN
    }

    fn words(&self) -> String {
        let much = match self.batches {
            1 => "one batch".to_owned(),
            batches => format!("{} batches", laptime_core::units::count(batches)),
        };
        match self.source {
            Source::Fit => format!("not reached yet; its data has {much}"),
            Source::Loaders(1) => format!("not reached yet; the other loader has {much}"),
            Source::Loaders(several) => {
                format!("not reached yet; the first of {several} other loaders has {much}")
            }
        }
    }
}

/// The part of a step's computing that an evaluation does, too.
fn forward_share(past: &Past<'_>) -> f64 {
    // Of a device that computes behind the host its own times count.
    let stages = past.fit.device_stages.as_ref().unwrap_or(&past.fit.stages);
    let sum = |names: &[&str]| names.iter().filter_map(|name| stages.get(*name)).sum::<f64>();
    let (forward, rest) = (sum(&FORWARDS), sum(&OTHERS));
    if stages.get("forward").is_none_or(|forward| *forward <= 0.0) {
        return FORWARD;
    }
    // What the first steps took more is compiling, most of it when the model is called.
    let more = (past.pace.warm_up_s - past.pace.warm_up as f64 * past.pace.mean_s).max(0.0);
    let usual = (forward - more).max(forward.min(rest * FORWARD / (1.0 - FORWARD)));
    usual / (usual + rest)
}

fn is_persistent(past: &Past<'_>) -> bool {
    past.fit.settings.get("torch.persistent_workers").is_some_and(|value| value == "yes")
}

#[cfg(test)]
mod tests {
    use laptime_core::{FitFacts, Status};

    use super::super::planted::{Pass, made, of_run, planned};
    use super::super::{Cause, Forecast, Known, Plan, WhatIf, forecast};
    use crate::compare::ComparedRun;
    use crate::passes::{BatchLoading, CpuUse};

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-6 * expected, "{found}, not {expected}");
    }

    fn part(forecast: &Forecast, name: &str) -> f64 {
        forecast.parts.iter().find(|part| part.name == name).map_or(0.0, |part| part.seconds)
    }

    /// Ten epochs of 50 batches of 32 rows, with these settings besides.
    fn facts(settings: &[(&str, &str)]) -> FitFacts {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let (rows, batch, parameters) = (Some(1_600), Some(32), Some(1 << 20));
        FitFacts { rows, batch, parameters, settings: settings.collect(), ..planned(10, 50) }
    }

    /// Forty steps of 100 ms: 20 ms wait for data, 20 go forward and 60 are backward and update.
    fn begun(settings: &[(&str, &str)], status: Status) -> ComparedRun {
        staged(made(facts(settings), 2.0, &[Pass::open(40, 0.1)], status), 0.0)
    }

    /// The stages of the forty steps; the first has so many seconds of compiling.
    fn staged(mut run: ComparedRun, compiling: f64) -> ComparedRun {
        for stages in [&mut run.report.fits[0].stages, &mut run.report.epochs[0].stages] {
            let times =
                [("data_wait", 0.8), ("forward", 0.8 + compiling), ("backward", 2.0), ("optimizer", 0.4)];
            stages.extend(times.map(|(name, seconds)| (name.to_owned(), seconds)));
        }
        run
    }

    const ONE: [(&str, &str); 2] = [("torch.other_loader_batches", "20"), ("torch.other_loader_rows", "640")];

    #[test]
    fn an_evaluation_that_was_not_reached_is_estimated_by_the_other_loader() {
        let found = of_run(&begun(&ONE, Status::Killed), &[]).unwrap();
        near(part(&found, "evaluation"), 10.0 * 20.0 * 0.04);
        near(found.total_s.mean, 2.0 + 50.0 + 8.0);
        near(found.parts.iter().map(|part| part.seconds).sum(), found.total_s.mean);
        near(found.epoch_s.later.unwrap(), 5.8);
        let [evaluation] = &found.estimated[..] else { panic!("{:?}", found.estimated) };
        near(evaluation.seconds_each, 0.8);
        assert_eq!(evaluation.because, "not reached yet; the other loader has 20 batches");
        assert_eq!(found.width_from[0].cause, Cause::Surroundings);
        // Half as much more or less is no surprise.
        assert!(found.total_s.low < 56.0 && found.total_s.high > 64.0, "{:?}", found.total_s);
        let larger = [("torch.other_loader_batches", "20"), ("torch.other_loader_rows", "1280")];
        near(part(&of_run(&begun(&larger, Status::Killed), &[]).unwrap(), "evaluation"), 16.0);
    }

    #[test]
    fn where_several_loaders_could_be_meant_the_interval_holds_all_of_them() {
        let several = [
            ("torch.other_loaders", "2"),
            ("torch.other_loader_least_rows", "640"),
            ("torch.other_loader_most_rows", "3200"),
        ];
        let found = of_run(&begun(&[&ONE[..], &several].concat(), Status::Killed), &[]).unwrap();
        near(part(&found, "evaluation"), 8.0);
        assert!(found.total_s.high > 52.0 + 5.0 * 8.0, "{:?}", found.total_s);
        let because = &found.estimated[0].because;
        assert_eq!(because, "not reached yet; the first of 2 other loaders has 20 batches");
    }

    #[test]
    fn a_validation_every_second_epoch_is_half_as_long() {
        let settings = [("keras.validation_batches", "20"), ("keras.validation_every", "2")];
        let found = of_run(&begun(&settings, Status::Killed), &[]).unwrap();
        near(part(&found, "evaluation"), 4.0);
        near(found.estimated[0].seconds_each, 0.8);
        assert_eq!(found.estimated[0].because, "not reached yet; its data has 20 batches");
    }

    #[test]
    fn what_the_run_or_an_earlier_one_showed_comes_before_a_length() {
        let seen = made(facts(&ONE), 2.0, &[Pass::even(50, 0.1, 3.0), Pass::open(9, 0.1)], Status::Killed);
        let found = of_run(&seen, &[]).unwrap();
        near(part(&found, "evaluation"), 30.0);
        assert!(found.estimated.is_empty() && found.not_seen.is_empty());
        let known = Known { run: &begun(&ONE, Status::Killed), earlier: &[seen], scores: &[] };
        let found = forecast(&known, &Plan::default(), &WhatIf::default()).unwrap();
        near(part(&found, "evaluation"), 30.0);
        assert!(found.estimated.is_empty());
    }

    #[test]
    fn a_checkpoint_is_never_made_up_but_its_size_is_known() {
        let found = of_run(&begun(&ONE, Status::Killed), &[]).unwrap();
        let [checkpoint] = &found.not_seen[..] else { panic!("{:?}", found.not_seen) };
        assert_eq!((checkpoint.name, checkpoint.bytes), ("checkpoint", Some(4 << 20)));
        near(part(&found, "checkpoint"), 0.0);
    }

    #[test]
    fn compiling_in_the_first_step_makes_no_evaluation_longer() {
        let mut pass = Pass::open(40, 0.1);
        pass.steps[0] = 10.1;
        let run = staged(made(facts(&ONE), 2.0, &[pass], Status::Killed), 10.0);
        let found = of_run(&run, &[]).unwrap();
        // A third of the computing at most, where it is a quarter.
        assert!((8.0..=10.0).contains(&part(&found, "evaluation")), "{}", part(&found, "evaluation"));
    }

    #[test]
    fn without_the_stages_of_a_step_a_third_of_it_goes_forward() {
        let mut run = begun(&ONE, Status::Killed);
        run.report.fits[0].stages.remove("forward");
        near(part(&of_run(&run, &[]).unwrap(), "evaluation"), 200.0 * (0.02 + 0.08 / 3.0));
    }

    #[test]
    fn what_is_left_of_a_run_has_the_evaluations_that_are_expected() {
        let run = begun(&ONE, Status::Running);
        let found = of_run(&run, &[]).unwrap();
        near(found.left_s.unwrap().mean, 46.0 + 8.0);
        near(part(&found, "evaluation"), 8.0);
        near(found.parts.iter().map(|part| part.seconds).sum(), found.total_s.mean);
    }

    #[test]
    fn workers_that_keep_up_with_training_need_not_keep_up_with_evaluation() {
        let workers = [("torch.other_loader_workers", "1"), ("torch.persistent_workers", "yes")];
        let mut run = begun(&[&ONE[..], &workers].concat(), Status::Killed);
        run.report.fits[0].workers = Some(1);
        let seconds = run.report.wall_s;
        run.passes.own = CpuUse { seconds, cpu_s: Some(3.2), queue_s: Some(0.0) };
        run.passes.tree = run.passes.own;
        let loading = BatchLoading { seconds: 0.07, cpu_s: 0.02, queue_s: 0.0, collate_s: 0.0 };
        run.passes.worker_loading = Some(loading);
        let each = of_run(&run, &[]).unwrap().estimated[0].seconds_each;
        assert!((each / (20.0 * 0.07) - 1.0).abs() < 0.1, "{each}");
    }
}
