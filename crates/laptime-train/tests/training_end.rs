//! How a training ends: with results, when asked to stop, or with an error that says where.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail by panicking")]

use std::sync::atomic::AtomicBool;

use laptime_record::{Options, Recorder};
use laptime_train::{Ended, ModelKind, Outcome, Plan, TrainError, train};

/// Trains with a recorder of its own; several at once are fine, all but the first are idle.
fn outcome(plan: &Plan, stop: bool) -> Result<Outcome, TrainError> {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&Options { root: Some(folder.path().into()), ..Options::default() });
    train(plan, &recorder, &AtomicBool::new(stop))
}

fn small(model: ModelKind) -> Plan {
    Plan { rows: Some(100), epochs: 3, ..Plan::new(model) }
}

#[test]
fn a_finished_training_tells_the_loss_of_every_epoch() {
    let outcome = outcome(&small(ModelKind::Mlp), false).unwrap();
    assert_eq!((outcome.epochs.len(), outcome.steps, outcome.ended), (3, 3 * 4, Ended::AsPlanned));
    assert!(outcome.epochs[2].loss < outcome.epochs[0].loss);
    assert_eq!(outcome.epochs[0].validation_loss, None);
    assert_eq!(outcome.epochs[0].accuracy, None);
}

#[test]
fn held_out_rows_are_evaluated_after_every_epoch() {
    let outcome = outcome(&Plan { validate: 0.2, ..small(ModelKind::Cnn) }, false).unwrap();
    assert_eq!(outcome.steps, 3 * 3);
    for epoch in &outcome.epochs {
        assert!(epoch.validation_loss.is_some());
        assert!((0.0..=1.0).contains(&epoch.validation_accuracy.unwrap()));
        assert!((0.0..=1.0).contains(&epoch.accuracy.unwrap()));
    }
}

#[test]
fn a_training_that_is_asked_to_stop_ends_after_the_step() {
    let outcome = outcome(&small(ModelKind::Mlp), true).unwrap();
    assert_eq!((outcome.epochs.len(), outcome.steps, outcome.ended), (0, 1, Ended::Interrupted));
}

#[test]
fn a_loss_that_is_no_number_any_more_ends_the_training_and_says_where() {
    let error = outcome(&Plan { lr: Some(1e30), ..small(ModelKind::Linear) }, false).unwrap_err();
    assert!(matches!(error, TrainError::Diverged { epoch: 2, step: 1, .. }), "{error:?}");
    assert!(!error.is_bad_request());
    assert!(error.hint().unwrap().contains("--lr"));
}
