//! What is recorded about a training, so that every run says what it measured.

use laptime_core::{FitFacts, Goal};

use crate::{DataSource, Dtype, ModelKind, ModelSpec, Plan, Recipe, Schedule, TrainError, Until};

/// The facts of a fit over so many rows in batches of so many; what has its usual value is left out.
pub(crate) fn facts(
    plan: &Plan,
    spec: &ModelSpec,
    recipe: &Recipe,
    (rows, batch): (u64, usize),
) -> Result<FitFacts, TrainError> {
    let mut settings = of_model(spec);
    settings.extend(of_training(plan, recipe));
    let goal = plan.until.map(|until| match until {
        Until::Loss(loss) => Goal::Loss(loss),
        Until::Accuracy(accuracy) => Goal::Accuracy(accuracy),
    });
    let batches = rows.div_ceil(batch as u64);
    Ok(FitFacts {
        label: spec.kind.to_string(),
        framework: Some("laptime".to_owned()),
        rows: Some(rows),
        batch: Some(batch as u64),
        epochs: Some(plan.epochs),
        steps_per_epoch: Some(batches.div_ceil(plan.accumulate as u64)),
        precision: (plan.dtype != Dtype::F32).then(|| plan.dtype.to_string()),
        flops_per_sample: Some(spec.flops_per_sample()?),
        goal,
        patience: plan.early_stop,
        settings: settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        ..FitFacts::default()
    })
}

type Setting = (&'static str, String);

fn of_model(spec: &ModelSpec) -> Vec<Setting> {
    let mut settings = vec![("features", spec.features.to_string())];
    if spec.kind != ModelKind::Linear {
        settings.extend([("layers", spec.layers.to_string()), ("width", spec.width.to_string())]);
    }
    if spec.kind == ModelKind::Cnn {
        settings.push(("kernel", spec.kernel.to_string()));
    }
    settings
}

fn of_training(plan: &Plan, recipe: &Recipe) -> Vec<Setting> {
    let data = match &plan.data {
        DataSource::Generated => "generated".to_owned(),
        DataSource::File(path) => path.display().to_string(),
    };
    let set = |name, value: String, unusual: bool| unusual.then_some((name, value));
    let given = |name, value: Option<String>| value.map(|value| (name, value));
    let decay = recipe.optimizer.weight_decay;
    [
        set("data", data, true),
        set("optimizer", recipe.optimizer.kind.to_string(), true),
        set("lr", recipe.optimizer.lr.to_string(), true),
        set("seed", plan.seed.to_string(), true),
        set("validate", plan.validate.to_string(), plan.validate > 0.0),
        given("loss", plan.loss.map(|loss| loss.to_string())),
        set("schedule", plan.schedule.to_string(), plan.schedule != Schedule::Constant),
        set("accumulate", plan.accumulate.to_string(), plan.accumulate > 1),
        given("clip", plan.clip.map(|norm| norm.to_string())),
        set("dropout", plan.dropout.to_string(), plan.dropout > 0.0),
        set("weight_decay", decay.to_string(), plan.weight_decay.is_some()),
        given("checkpoint_every", plan.checkpoint_every.map(|epochs| epochs.to_string())),
    ]
    .into_iter()
    .flatten()
    .collect()
}
