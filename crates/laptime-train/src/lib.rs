//! Reference models that train anywhere, on an engine behind a trait.
//!
//! [`Prepared::new`] checks a [`Plan`] and builds everything it needs; [`Prepared::train`] then trains
//! and records where the time went.
//!
//! ```no_run
//! use std::sync::atomic::AtomicBool;
//! use laptime_train::{ModelKind, Plan, Prepared};
//!
//! # fn example(recorder: &laptime_record::Recorder) -> Result<(), laptime_train::TrainError> {
//! let plan = Plan { epochs: 3, ..Plan::new(ModelKind::Mlp) };
//! let outcome = Prepared::new(&plan)?.train(recorder, &AtomicBool::new(false))?;
//! assert_eq!(outcome.epochs.len(), 3);
//! # Ok(())
//! # }
//! ```

mod checks;
mod cpu;
mod dtype;
mod engine;
mod epoch_result;
mod error;
mod facts;
mod fit;

mod flops;
mod generated;
mod language;
mod loss;
mod memory;
mod model;
mod model_kind;
mod optimizer;
mod plan;
mod prepared;
mod random;
mod recipe;
mod schedule;
mod shapes;
mod threads;
mod unknown_name;
mod until;
mod weight_shape;
mod weights;

pub use cpu::CpuEngine;
pub use dtype::Dtype;
pub use engine::{Engine, Model, StepResult};
pub use epoch_result::EpochResult;
pub use error::TrainError;
pub use fit::{Ended, Outcome, train};
pub use generated::generate;
pub use loss::LossKind;
pub use model::ModelSpec;
pub use model_kind::{CLASSES, IMAGE_SIDE, ModelKind, VOCABULARY};
pub use optimizer::{OptimizerKind, OptimizerSpec};
pub use plan::{DataSource, Plan};
pub use prepared::Prepared;
pub use recipe::Recipe;
pub use schedule::Schedule;
pub use unknown_name::UnknownName;
pub use until::Until;
pub use weight_shape::{Start, WeightShape};
pub use weights::{WeightTensor, Weights};
