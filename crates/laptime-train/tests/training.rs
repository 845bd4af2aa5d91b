//! Trainings on generated data: they learn, they repeat, and bad plans are refused with a hint.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail by panicking")]

use std::path::Path;

use laptime_load::{Batch, Dataset, Order};
use laptime_train::{
    CpuEngine, DataSource, Engine, ModelKind, ModelSpec, OptimizerKind, Plan, Prepared, Recipe, TrainError,
    Weights, generate,
};

/// Losses and accuracies of each epoch, with the engine alone.
fn train(kind: ModelKind, optimizer: OptimizerKind, rows: usize, epochs: u64, seed: u64) -> Vec<(f64, f64)> {
    let features = match kind {
        ModelKind::Linear => 1,
        ModelKind::Transformer => 16,
        ModelKind::Mlp | ModelKind::Cnn => 10,
        _ => 50,
    };
    let data = Dataset::from_table(generate(kind, rows, features, seed));
    let plan = Plan::new(kind);
    // A smaller transformer than the usual one, so that the test takes seconds.
    let width = if kind == ModelKind::Transformer { 32 } else { plan.width };
    let spec = ModelSpec { kind, features: data.width(), layers: 1, width, kernel: 3 };
    let weights = Weights::seeded(&spec, seed).unwrap();
    let recipe = Recipe::new(kind, optimizer);
    let mut model = CpuEngine::new(1).unwrap().model(&spec, &weights, &recipe).unwrap();
    let batch = plan.batch.unwrap_or(rows);
    let mut pass = |epoch| {
        let (mut loss, mut accuracy) = (0.0, 0.0);
        for batch in data.batches(batch, Order::Shuffled { seed, epoch }) {
            let batch: Batch = batch.unwrap();
            let share = batch.rows as f64 / rows as f64;
            let result = model.train_step(&[batch]).unwrap();
            loss += result.loss * share;
            accuracy += result.accuracy.unwrap_or(0.0) * share;
        }
        (loss, accuracy)
    };
    (0..epochs).map(&mut pass).collect()
}

#[test]
fn the_linear_model_finds_the_line_up_to_the_noise() {
    let losses = train(ModelKind::Linear, OptimizerKind::Sgd, 100, 1000, 0);
    assert!(losses[0].0 > 0.3, "{:?}", losses[0]);
    assert!(losses[999].0 < 0.02, "{:?}", losses[999]);
}

#[test]
fn every_optimizer_lowers_the_loss_of_the_mlp() {
    for kind in OptimizerKind::ALL {
        let losses = train(ModelKind::Mlp, kind, 2000, 4, 0);
        assert!(losses[3].0 < 0.8 * losses[0].0, "{kind}: {losses:?}");
    }
}

#[test]
fn the_cnn_tells_most_images_apart_after_two_epochs() {
    let epochs = train(ModelKind::Cnn, OptimizerKind::Adam, 1000, 2, 0);
    assert!(epochs[1].0 < 0.5 * epochs[0].0, "{epochs:?}");
    assert!(epochs[1].1 > 0.9 && epochs[1].1 > epochs[0].1, "{epochs:?}");
}

#[test]
fn sequence_models_learn_far_beyond_the_even_guess() {
    // An even guess costs ln 20 = 3.0 and is right one time in twenty.
    for kind in [ModelKind::Rnn, ModelKind::Lstm, ModelKind::Gru] {
        let epochs = train(kind, OptimizerKind::Adam, 1000, 8, 0);
        assert!(epochs[7].0 < 1.5 && epochs[7].1 > 0.5, "{kind}: {epochs:?}");
    }
    let epochs = train(ModelKind::Transformer, OptimizerKind::Adam, 2000, 8, 0);
    assert!(epochs[7].0 < 1.5 && epochs[7].1 > 0.5, "transformer: {epochs:?}");
}

#[test]
fn the_same_seed_gives_the_same_losses_and_another_seed_others() {
    for kind in ModelKind::ALL {
        let losses = |seed| train(kind, OptimizerKind::Adam, 200, 2, seed);
        assert_eq!(losses(3), losses(3), "{kind}");
        assert_ne!(losses(3), losses(4), "{kind}");
    }
}

#[test]
fn evaluating_changes_nothing() {
    let spec = ModelSpec { kind: ModelKind::Mlp, features: 2, layers: 1, width: 8, kernel: 3 };
    let recipe = Recipe::new(ModelKind::Mlp, OptimizerKind::Adam);
    let engine = CpuEngine::new(1).unwrap();
    let mut model = engine.model(&spec, &Weights::seeded(&spec, 0).unwrap(), &recipe).unwrap();
    let batch = Batch { rows: 2, width: 2, features: vec![0.1, 0.2, 0.3, 0.4], targets: vec![1.0, 2.0] };
    let first = model.evaluate(&batch).unwrap();
    assert_eq!(model.evaluate(&batch).unwrap(), first);
    assert_eq!(model.train_step(std::slice::from_ref(&batch)).unwrap(), first);
    assert!(model.evaluate(&batch).unwrap().loss < first.loss);
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
fn settings_that_cannot_train_are_refused_with_a_hint() {
    let zero: [fn(&mut Plan); 8] = [
        |plan| plan.rows = Some(0),
        |plan| plan.features = Some(0),
        |plan| plan.batch = Some(0),
        |plan| plan.epochs = 0,
        |plan| plan.threads = 0,
        |plan| plan.layers = 0,
        |plan| plan.width = 0,
        |plan| plan.kernel = 0,
    ];
    for change in zero {
        assert!(matches!(refused(change, ModelKind::Cnn), TrainError::Zero { .. }));
    }
    for share in [-0.1, 1.0, f64::NAN] {
        assert!(matches!(refused(|plan| plan.validate = share, ModelKind::Mlp), TrainError::Validate { .. }));
    }
    for lr in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            refused(|plan| plan.lr = Some(lr), ModelKind::Mlp),
            TrainError::LearningRate { .. }
        ));
    }
    assert!(matches!(refused(|plan| plan.layers = 9, ModelKind::Cnn), TrainError::ImageUsedUp { .. }));
    assert!(matches!(
        refused(|plan| plan.features = Some(9), ModelKind::Cnn),
        TrainError::NotChoosable { .. }
    ));
}

#[test]
fn sizes_that_do_not_fit_are_refused_with_a_hint() {
    let large = refused(|plan| (plan.rows, plan.batch) = (Some(10), Some(11)), ModelKind::Mlp);
    assert!(matches!(large, TrainError::BatchTooLarge { batch: 11, rows: 10 }));
    let starved = refused(|plan| (plan.rows, plan.validate) = (Some(1), 0.9), ModelKind::Linear);
    assert!(matches!(starved, TrainError::Split { .. }));
    for rows in [1 << 50, u64::MAX] {
        assert!(matches!(refused(|plan| plan.rows = Some(rows), ModelKind::Mlp), TrainError::Memory { .. }));
    }
    for kind in [ModelKind::Mlp, ModelKind::Cnn, ModelKind::Lstm, ModelKind::Transformer] {
        let deep = refused(|plan| plan.layers = usize::MAX, kind);
        assert!(matches!(deep, TrainError::OutOfRange { setting: "layers", .. }));
    }
    let long = refused(|plan| (plan.features, plan.rows) = (Some(1 << 40), Some(32)), ModelKind::Transformer);
    assert!(matches!(long, TrainError::Memory { .. }));
    let wide = refused(|plan| (plan.width, plan.layers) = (1 << 30, 2), ModelKind::Mlp);
    assert!(matches!(wide, TrainError::Memory { .. }));
}

fn with_file(text: &str, kind: ModelKind) -> TrainError {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    std::fs::write(&path, text).unwrap();
    refused(|plan| (plan.data, plan.batch) = (DataSource::File(path), None), kind)
}

#[test]
fn files_that_do_not_fit_the_model_are_refused_with_a_hint() {
    let missing = |plan: &mut Plan| plan.data = DataSource::File(Path::new("/no/such.csv").into());
    assert!(matches!(refused(missing, ModelKind::Mlp), TrainError::Open { .. }));
    assert!(matches!(with_file("1,2\n3,red\n", ModelKind::Mlp), TrainError::Open { .. }));
    assert!(matches!(with_file("1,2\n3,4\n", ModelKind::Cnn), TrainError::Width { found: 1, .. }));
    let image = vec!["0.5"; 784].join(",");
    for label in ["10", "-1", "2.5"] {
        let text = format!("{image},3\n{image},{label}\n");
        assert!(matches!(with_file(&text, ModelKind::Cnn), TrainError::Label { row: 2, .. }), "{label}");
    }
}
