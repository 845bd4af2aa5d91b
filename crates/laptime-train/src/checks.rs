//! What of a plan and its data can be found wrong before anything is trained.

use std::path::Path;

use laptime_load::{Dataset, Order};

use crate::{DataSource, ModelKind, Plan, TrainError, Until};

/// Rows looked at together when labels are checked.
const CHECKED_AT_ONCE: usize = 1024;

/// A mistyped number should not list the weights of a billion layers.
const MOST_LAYERS: usize = 1_000;

/// Refuses settings that cannot train, whatever the data.
pub(crate) fn check_settings(plan: &Plan) -> Result<(), TrainError> {
    check_counts(plan)?;
    check_numbers(plan)?;
    check_combinations(plan)
}

fn check_counts(plan: &Plan) -> Result<(), TrainError> {
    let hidden = plan.model != ModelKind::Linear;
    let counts = [
        ("rows", plan.rows == Some(0)),
        ("features", plan.features == Some(0)),
        ("batch", plan.batch == Some(0)),
        ("epochs", plan.epochs == 0),
        ("threads", plan.threads == 0),
        ("layers", hidden && plan.layers == 0),
        ("width", hidden && plan.width == 0),
        ("kernel", plan.model == ModelKind::Cnn && plan.kernel == 0),
        ("accumulate", plan.accumulate == 0),
        ("early-stop", plan.early_stop == Some(0)),
        ("checkpoint-every", plan.checkpoint_every == Some(0)),
    ];
    match counts.into_iter().find(|(_, zero)| *zero) {
        Some((setting, _)) => Err(TrainError::Zero { setting }),
        None => Ok(()),
    }
}

fn check_numbers(plan: &Plan) -> Result<(), TrainError> {
    if !(0.0..1.0).contains(&plan.validate) {
        return Err(TrainError::Validate { share: plan.validate });
    }
    if let Some(lr) = plan.lr.filter(|lr| !(lr.is_finite() && *lr > 0.0)) {
        return Err(TrainError::LearningRate { lr });
    }
    let outside = |setting, value: Option<f64>, allowed, inside: fn(f64) -> bool| {
        let wrong = value.filter(|value| !inside(*value));
        wrong.map_or(Ok(()), |value| Err(TrainError::OutOfRange { setting, value, allowed }))
    };
    let layers = Some(plan.layers as f64);
    let (loss, accuracy) = match plan.until {
        Some(Until::Loss(loss)) => (Some(loss), None),
        Some(Until::Accuracy(accuracy)) => (None, Some(accuracy)),
        None => (None, None),
    };
    outside("layers", layers, "at most 1000", |layers| layers <= MOST_LAYERS as f64)?;
    outside("dropout", Some(plan.dropout), "from 0 to below 1", |share| (0.0..1.0).contains(&share))?;
    outside("clip", plan.clip, "a number above 0", |norm| norm.is_finite() && norm > 0.0)?;
    outside("weight-decay", plan.weight_decay, "a number of at least 0", |x| x.is_finite() && x >= 0.0)?;
    outside("until-loss", loss, "a number of at least 0", |loss| loss.is_finite() && loss >= 0.0)?;
    outside("until-accuracy", accuracy, "above 0 and at most 1", |share| share > 0.0 && share <= 1.0)
}

fn check_combinations(plan: &Plan) -> Result<(), TrainError> {
    let model = plan.model;
    if let Some(loss) = plan.loss.filter(|loss| !loss.fits(model)) {
        return Err(TrainError::LossMisfit { loss, model });
    }
    if matches!(plan.until, Some(Until::Accuracy(_))) && !model.classifies() {
        return Err(TrainError::NoAccuracy { model });
    }
    let fixed = |setting, place: String| Err(TrainError::NotChoosable { setting, place });
    if plan.dropout > 0.0 && model == ModelKind::Linear {
        return fixed("dropout", "the linear model, which has nothing to drop".to_owned());
    }
    if plan.rows.is_some() && plan.data != DataSource::Generated {
        return fixed("rows", "a file".to_owned());
    }
    Ok(())
}

/// Refuses a file whose labels or tokens are not those that the model knows.
pub(crate) fn check_labels(model: ModelKind, path: &Path, data: &Dataset) -> Result<(), TrainError> {
    let Some(classes) = model.classes() else { return Ok(()) };
    let mut before = 0;
    for batch in data.batches(CHECKED_AT_ONCE, Order::AsStored) {
        let batch = batch.map_err(|source| TrainError::Open { path: path.to_owned(), source })?;
        if model.reads_tokens() {
            check_whole(&batch.features, batch.width, classes, before, "token")?;
        }
        let what = if model.reads_tokens() { "token" } else { "label" };
        check_whole(&batch.targets, 1, classes, before, what)?;
        before += batch.rows as u64;
    }
    Ok(())
}

/// Refuses numbers that are not among so many classes, `before` rows having been looked at already.
pub(crate) fn check_whole(
    values: &[f32],
    width: usize,
    count: usize,
    before: u64,
    what: &'static str,
) -> Result<(), TrainError> {
    let known = |value: &f32| value.fract() == 0.0 && (0.0..count as f32).contains(value);
    match values.iter().position(|value| !known(value)) {
        Some(at) => {
            let row = before + (at / width) as u64 + 1;
            Err(TrainError::Label { row, what, value: values[at], count })
        }
        None => Ok(()),
    }
}
