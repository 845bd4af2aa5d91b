//! Each knob does what it says. Losses, weight decay, clipping and schedules are also held against PyTorch, in
//! torch_reference.rs.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail by panicking")]

use std::sync::atomic::AtomicBool;

use laptime_load::{Batch, Dataset, Order};
use laptime_record::{Options, Recorder};
use laptime_train::{
    CpuEngine, Dtype, Ended, Engine, LossKind, Model, ModelKind, ModelSpec, OptimizerKind, OptimizerSpec,
    Outcome, Plan, Prepared, Recipe, Schedule, TrainError, Until, Weights, generate, train,
};

/// A small one of each kind.
fn spec(kind: ModelKind) -> ModelSpec {
    let features = match kind {
        ModelKind::Linear => 1,
        ModelKind::Cnn => 784,
        _ => 6,
    };
    ModelSpec { kind, features, layers: 1, width: 8, kernel: 3 }
}

fn model(kind: ModelKind, recipe: &Recipe) -> Box<dyn Model> {
    let spec = spec(kind);
    CpuEngine::new(1).unwrap().model(&spec, &Weights::seeded(&spec, 5).unwrap(), recipe).unwrap()
}

fn batches(kind: ModelKind, rows: usize, size: usize) -> Vec<Batch> {
    let data = Dataset::from_table(generate(kind, rows, spec(kind).features, 5));
    data.batches(size, Order::AsStored).map(Result::unwrap).collect()
}

fn near(found: f64, expected: f64, tolerance: f64) {
    let apart = (found - expected).abs() / expected.abs();
    assert!(apart <= tolerance, "{found} is {apart:.1e} from {expected}");
}

/// One weight, no bias to speak of: what a step does can be computed by hand.
fn one_step(recipe: &Recipe, feature: f32, target: f32) -> (f64, f64) {
    let spec = spec(ModelKind::Linear);
    let start = Weights::from_values(&spec, |shape| if shape.dims.len() == 2 { 2.0 } else { 0.0 }).unwrap();
    let mut model = CpuEngine::new(1).unwrap().model(&spec, &start, recipe).unwrap();
    let batch = Batch { rows: 1, width: 1, features: vec![feature], targets: vec![target] };
    let before = model.train_step(std::slice::from_ref(&batch)).unwrap().loss;
    (before, model.evaluate(&batch).unwrap().loss)
}

fn sgd(lr: f64, weight_decay: f64) -> Recipe {
    let optimizer = OptimizerSpec { lr, weight_decay, ..OptimizerSpec::new(OptimizerKind::Sgd) };
    Recipe { optimizer, ..Recipe::new(ModelKind::Linear, OptimizerKind::Sgd) }
}

#[test]
fn losses_are_those_computed_by_hand() {
    // The weight is 2 and the target 5: at 1 the error is -3, at 2 it is -1, at 2.3 it is -0.4.
    let expected = [
        (LossKind::Mse, [9.0, 1.0, 0.16]),
        (LossKind::Mae, [3.0, 1.0, 0.4]),
        (LossKind::Huber, [2.5, 0.5, 0.08]),
    ];
    for (loss, values) in expected {
        for (feature, value) in [1.0, 2.0, 2.3].into_iter().zip(values) {
            near(one_step(&Recipe { loss, ..sgd(0.1, 0.0) }, feature, 5.0).0, value, 1e-5);
        }
    }
}

#[test]
fn weight_decay_draws_the_weight_to_zero_and_clipping_shortens_the_step() {
    // Weight 2, bias 0, feature 1, target 0: the loss is 4, both gradients are 2 * 2 = 4.
    // A step of 0.1 gives 2 - 0.4 and 0 - 0.4, so the output is 1.2.
    near(one_step(&sgd(0.1, 0.0), 1.0, 0.0).1, 1.2 * 1.2, 1e-5);
    // A decay of 0.5 adds 0.5 * 2 to the weight's gradient: 2 - 0.5 - 0.4.
    near(one_step(&sgd(0.1, 0.5), 1.0, 0.0).1, 1.1 * 1.1, 1e-5);
    // The common norm is 4 * sqrt(2); clipped to 1 each gradient is 1/sqrt(2).
    let clipped = Recipe { clip: Some(1.0), ..sgd(0.1, 0.0) };
    let output = 2.0 - 0.2 / 2f64.sqrt();
    near(one_step(&clipped, 1.0, 0.0).1, output * output, 1e-5);
    // A norm below the limit stays as it is.
    let free = Recipe { clip: Some(6.0), ..sgd(0.1, 0.0) };
    assert_eq!(one_step(&free, 1.0, 0.0), one_step(&sgd(0.1, 0.0), 1.0, 0.0));
}

#[test]
fn accumulated_batches_train_as_one_large_batch_does() {
    for kind in [ModelKind::Mlp, ModelKind::Cnn, ModelKind::Gru, ModelKind::Transformer] {
        let recipe = Recipe::new(kind, OptimizerKind::Adam);
        let (mut large, mut small) = (model(kind, &recipe), model(kind, &recipe));
        // The last batch is a ragged one of 3 rows, whose rows must count no more than others.
        let (whole, parts) = (batches(kind, 19, 19), batches(kind, 19, 8));
        for _ in 0..3 {
            let (large, small) = (large.train_step(&whole).unwrap(), small.train_step(&parts).unwrap());
            near(small.loss, large.loss, 1e-5);
            near(small.accuracy.unwrap_or(1.0) + 1.0, large.accuracy.unwrap_or(1.0) + 1.0, 1e-9);
        }
    }
}

#[test]
fn dropout_changes_training_but_never_an_evaluation() {
    for kind in ModelKind::ALL.into_iter().filter(|kind| *kind != ModelKind::Linear) {
        let plain = Recipe::new(kind, OptimizerKind::Adam);
        let recipe = Recipe { dropout: 0.5, ..plain };
        let batch = batches(kind, 16, 16);
        let (mut plain, mut dropped) = (model(kind, &plain), model(kind, &recipe));
        let expected = plain.evaluate(&batch[0]).unwrap();
        assert_eq!(dropped.evaluate(&batch[0]).unwrap(), expected, "{kind}");
        let first = dropped.train_step(&batch).unwrap();
        assert_ne!(first, expected, "{kind}");
        assert_eq!(model(kind, &recipe).train_step(&batch).unwrap(), first, "{kind}: the seed decides");
        let other = Recipe { seed: 1, ..recipe };
        assert_ne!(model(kind, &other).train_step(&batch).unwrap(), first, "{kind}: another seed");
    }
}

#[test]
fn every_model_trains_in_every_precision() {
    for kind in ModelKind::ALL {
        let losses = |dtype: Dtype| {
            let mut model = model(kind, &Recipe { dtype, ..Recipe::new(kind, OptimizerKind::Adam) });
            let batch = batches(kind, 16, 16);
            (0..20).map(|_| model.train_step(&batch).unwrap().loss).collect::<Vec<f64>>()
        };
        let (single, double, half) = (losses(Dtype::F32), losses(Dtype::F64), losses(Dtype::Bf16));
        assert!(single[19] < single[0], "{kind}: {single:?}");
        near(double[19], single[19], 1e-4);
        assert_ne!(double, single, "{kind}: 64 bits round elsewhere");
        // Eight bits of mantissa.
        near(half[0], single[0], 2e-2);
        near(half[19], single[19], 5e-2);
        assert_ne!(half, single, "{kind}: 16 bits round elsewhere");
    }
}

fn outcome(plan: &Plan) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&Options { root: Some(folder.path().into()), ..Options::default() });
    train(plan, &recorder, &AtomicBool::new(false)).unwrap()
}

#[test]
fn a_training_ends_with_the_epoch_that_reaches_its_goal() {
    let plan = Plan { epochs: 30, rows: Some(300), ..Plan::new(ModelKind::Cnn) };
    let free = outcome(&plan);
    assert_eq!((free.epochs.len(), free.ended), (30, Ended::AsPlanned));
    let goal = free.epochs[2].accuracy.unwrap();
    let first = free.epochs.iter().position(|epoch| epoch.accuracy.unwrap() >= goal).unwrap();
    let ended = outcome(&Plan { until: Some(Until::Accuracy(goal)), ..plan.clone() });
    assert_eq!((ended.epochs.len(), ended.ended), (first + 1, Ended::GoalReached));
    let ended = outcome(&Plan { until: Some(Until::Loss(free.epochs[1].loss)), ..plan.clone() });
    assert_eq!((ended.epochs.len(), ended.ended), (2, Ended::GoalReached));
    let missed = outcome(&Plan { until: Some(Until::Loss(0.0)), epochs: 2, ..plan });
    assert_eq!((missed.epochs.len(), missed.ended), (2, Ended::AsPlanned));
}

#[test]
fn a_training_that_gets_no_better_ends_when_patience_does() {
    // With all rows at once and so large a rate the bias swings ever wider, but slowly.
    let plan = Plan { lr: Some(1.01), epochs: 50, early_stop: Some(3), ..Plan::new(ModelKind::Linear) };
    let outcome = outcome(&plan);
    assert_eq!(outcome.ended, Ended::NoBetter);
    let losses: Vec<f64> = outcome.epochs.iter().map(|epoch| epoch.loss).collect();
    let lowest = losses.iter().copied().reduce(f64::min).unwrap();
    assert_eq!(losses.iter().position(|loss| *loss == lowest), Some(losses.len() - 4), "{losses:?}");
}

#[test]
fn the_schedule_reaches_the_optimizer() {
    let plan = |schedule| Plan { schedule, epochs: 6, rows: Some(200), ..Plan::new(ModelKind::Mlp) };
    let losses = |schedule| {
        let outcome = outcome(&plan(schedule));
        outcome.epochs.iter().map(|epoch| epoch.loss).collect::<Vec<f64>>()
    };
    let constant = losses(Schedule::Constant);
    for schedule in [Schedule::Cosine, Schedule::Step] {
        let changed = losses(schedule);
        // The first epoch has the whole rate in all of them.
        assert_eq!(changed[0], constant[0], "{schedule}");
        assert!(changed[5] > constant[5], "{schedule} with its smaller rates gets less far");
    }
}

fn refused(change: impl FnOnce(&mut Plan), kind: ModelKind) -> TrainError {
    let mut plan = Plan::new(kind);
    change(&mut plan);
    let Err(error) = Prepared::new(&plan) else { panic!("accepted: {plan:?}") };
    assert!(error.is_bad_request(), "{error:?}");
    assert!(error.hint().is_some(), "no hint for {error:?}");
    error
}

#[test]
fn knobs_that_do_not_go_together_are_refused_with_a_hint() {
    for kind in ModelKind::ALL {
        for loss in LossKind::ALL.into_iter().filter(|loss| !loss.fits(kind)) {
            assert!(matches!(refused(|plan| plan.loss = Some(loss), kind), TrainError::LossMisfit { .. }));
        }
    }
    let goal = |plan: &mut Plan| plan.until = Some(Until::Accuracy(0.9));
    assert!(matches!(refused(goal, ModelKind::Mlp), TrainError::NoAccuracy { .. }));
    let drop = |plan: &mut Plan| plan.dropout = 0.5;
    assert!(matches!(refused(drop, ModelKind::Linear), TrainError::NotChoosable { .. }));
    let odd = |plan: &mut Plan| plan.width = 30;
    assert!(matches!(refused(odd, ModelKind::Transformer), TrainError::Heads { width: 30 }));
    let zero: [fn(&mut Plan); 3] = [
        |plan| plan.accumulate = 0,
        |plan| plan.early_stop = Some(0),
        |plan| plan.checkpoint_every = Some(0),
    ];
    for change in zero {
        assert!(matches!(refused(change, ModelKind::Rnn), TrainError::Zero { .. }));
    }
    let outside: [fn(&mut Plan); 9] = [
        |plan| plan.dropout = 1.0,
        |plan| plan.dropout = f64::NAN,
        |plan| plan.clip = Some(0.0),
        |plan| plan.clip = Some(f64::INFINITY),
        |plan| plan.weight_decay = Some(-0.1),
        |plan| plan.until = Some(Until::Loss(-1.0)),
        |plan| plan.until = Some(Until::Loss(f64::NAN)),
        |plan| plan.until = Some(Until::Accuracy(0.0)),
        |plan| plan.until = Some(Until::Accuracy(1.1)),
    ];
    for change in outside {
        assert!(matches!(refused(change, ModelKind::Cnn), TrainError::OutOfRange { .. }));
    }
}
