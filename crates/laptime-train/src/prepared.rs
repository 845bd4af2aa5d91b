//! A plan that was checked and has all it needs, so that bad input is found before anything is recorded.

use laptime_core::FitFacts;
use laptime_load::{Dataset, Limits};

use crate::checks::{check_labels, check_settings};
use crate::facts::facts;
use crate::generated::generate;
use crate::memory::available_bytes;
use crate::{
    CpuEngine, DataSource, Dtype, Engine, LossKind, Model, ModelKind, ModelSpec, OptimizerSpec, Plan, Recipe,
    Schedule, TrainError, Until, Weights,
};

/// A training that is ready to start: checked, with its data at hand and its model built.
///
/// It belongs to the thread that made it, because that thread's number of threads was set.
pub struct Prepared {
    pub(crate) model: Box<dyn Model>,
    pub(crate) train: Dataset,
    pub(crate) held_out: Option<Dataset>,
    pub(crate) batch: usize,
    pub(crate) epochs: u64,
    pub(crate) seed: u64,
    pub(crate) lr: f64,
    pub(crate) schedule: Schedule,
    pub(crate) accumulate: usize,
    pub(crate) early_stop: Option<u64>,
    pub(crate) until: Option<Until>,
    pub(crate) checkpoint_every: Option<u64>,
    facts: FitFacts,
    engine: String,
    threads: u32,
    peak_flops_per_s: Option<f64>,
}

impl Prepared {
    /// Checks a plan and builds its data and its model for the CPU.
    pub fn new(plan: &Plan) -> Result<Self, TrainError> {
        check_settings(plan)?;
        Self::with_engine(plan, &CpuEngine::new(plan.threads)?)
    }

    /// Checks a plan and builds its data and its model for a given engine, which also decides the threads.
    pub fn with_engine(plan: &Plan, engine: &dyn Engine) -> Result<Self, TrainError> {
        check_settings(plan)?;
        let data = dataset(plan)?;
        let spec = spec(plan, data.width());
        if data.rows() == 0 {
            return Err(TrainError::NoRows);
        }
        let (train, held_out) = split(data, plan.validate)?;
        let batch = batch_size(plan, train.rows())?;
        check_memory(0, &spec, batch, plan.dtype)?;
        let recipe = recipe(plan);
        let model = engine.model(&spec, &Weights::seeded(&spec, plan.seed)?, &recipe)?;
        let mut facts = facts(plan, &spec, &recipe, (train.rows(), batch))?;
        facts.parameters = Some(model.parameters());
        Ok(Self {
            model,
            train,
            held_out,
            batch,
            epochs: plan.epochs,
            seed: plan.seed,
            lr: recipe.optimizer.lr,
            schedule: plan.schedule,
            accumulate: plan.accumulate,
            early_stop: plan.early_stop,
            until: plan.until,
            checkpoint_every: plan.checkpoint_every,
            facts,
            engine: engine.name(),
            threads: engine.threads(),
            peak_flops_per_s: engine.peak_flops_per_s(plan.dtype),
        })
    }

    /// What is recorded about this training.
    #[must_use]
    pub fn facts(&self) -> &FitFacts {
        &self.facts
    }

    /// The engine's name and version.
    #[must_use]
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// The most floating-point operations a second that its threads can do together, where the engine knows.
    #[must_use]
    pub fn peak_flops_per_s(&self) -> Option<f64> {
        self.peak_flops_per_s
    }

    /// Threads it computes with.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.threads
    }
}

fn spec(plan: &Plan, features: usize) -> ModelSpec {
    ModelSpec { kind: plan.model, features, layers: plan.layers, width: plan.width, kernel: plan.kernel }
}

fn recipe(plan: &Plan) -> Recipe {
    let usual = OptimizerSpec::new(plan.optimizer);
    let optimizer = OptimizerSpec {
        kind: plan.optimizer,
        lr: plan.lr.unwrap_or(usual.lr),
        weight_decay: plan.weight_decay.unwrap_or(usual.weight_decay),
    };
    Recipe {
        loss: plan.loss.unwrap_or_else(|| LossKind::default_of(plan.model)),
        optimizer,
        dtype: plan.dtype,
        dropout: plan.dropout,
        clip: plan.clip,
        seed: plan.seed,
    }
}

/// The data, with a width that fits the model and labels that are classes where the model needs them.
fn dataset(plan: &Plan) -> Result<Dataset, TrainError> {
    let default = Plan::default_features(plan.model);
    let asked = if plan.model == ModelKind::Cnn { Some(default) } else { plan.features };
    if plan.model == ModelKind::Cnn && plan.features.is_some_and(|features| features != default) {
        return Err(TrainError::NotChoosable { setting: "features", place: "the cnn model".to_owned() });
    }
    match &plan.data {
        DataSource::Generated => generated(plan, asked.unwrap_or(default)),
        DataSource::File(path) => {
            let open = |source| TrainError::Open { path: path.clone(), source };
            let data = Dataset::open(path, &Limits::default()).map_err(open)?;
            if let Some(expected) = asked.filter(|expected| *expected != data.width()) {
                return Err(TrainError::Width { model: plan.model, expected, found: data.width() });
            }
            check_labels(plan.model, path, &data)?;
            Ok(data)
        }
    }
}

fn generated(plan: &Plan, features: usize) -> Result<Dataset, TrainError> {
    let rows = plan.rows.unwrap_or_else(|| Plan::default_rows(plan.model));
    let values = rows.saturating_mul(features as u64 + 1);
    // Twice: the rows, and a copy of them where some are held out.
    let (bytes, batch) = (values.saturating_mul(2 * 4), plan.batch.unwrap_or(0));
    check_memory(bytes, &spec(plan, features), batch, plan.dtype)?;
    let rows = usize::try_from(rows).map_err(|_| too_large(u64::MAX, 0))?;
    Ok(Dataset::from_table(generate(plan.model, rows, features, plan.seed)))
}

/// Where gradients take more than this, there are fewer shards.
const MOST_GRADIENT_BYTES: u64 = 256 << 20;

/// Refuses what cannot fit rather than letting the system end the process half-way.
fn check_memory(data_bytes: u64, spec: &ModelSpec, batch: usize, dtype: Dtype) -> Result<(), TrainError> {
    // Weights, their gradients, two moments and a copy while they are laid out; gradients of further shards.
    let weights = spec.parameters()?.saturating_mul(4);
    let weights =
        weights.saturating_mul(5).saturating_add(weights.saturating_mul(7).min(MOST_GRADIENT_BYTES));
    let activations = spec.bytes_per_row().saturating_mul(batch as u64);
    let of_training = weights.saturating_add(activations).saturating_mul(dtype.memory_factor());
    let needed = data_bytes.saturating_add(of_training);
    match available_bytes() {
        Some(available) if needed > available => Err(too_large(needed, available)),
        _ => Ok(()),
    }
}

fn too_large(needed_bytes: u64, available_bytes: u64) -> TrainError {
    TrainError::Memory { needed_bytes, available_bytes }
}

fn split(data: Dataset, share: f64) -> Result<(Dataset, Option<Dataset>), TrainError> {
    if share == 0.0 {
        return Ok((data, None));
    }
    let rows = data.rows();
    let starves = |starved| TrainError::Split { share, rows, starved };
    match data.split(share) {
        (train, _) if train.rows() == 0 => Err(starves("train on")),
        (train, Some(held_out)) if held_out.rows() > 0 => Ok((train, Some(held_out))),
        _ => Err(starves("validate on")),
    }
}

fn batch_size(plan: &Plan, rows: u64) -> Result<usize, TrainError> {
    let Some(batch) = plan.batch else {
        return usize::try_from(rows).map_err(|_| too_large(u64::MAX, 0));
    };
    if batch as u64 > rows { Err(TrainError::BatchTooLarge { batch, rows }) } else { Ok(batch) }
}
