//! Time every epoch of a training and see where each second went.
//!
//! Start a [`Recorder`], name the stages, and finish. `laptime report` then shows the ledger: exclusive
//! times of every stage that add up to the wall time.
//!
//! ```
//! use laptime::{FitFacts, Options, Recorder, Status, stage};
//!
//! # let folder = std::env::temp_dir().join("laptime-doc-light");
//! # let options = Options { root: Some(folder.clone()), ..Options::default() };
//! # #[cfg(any())]
//! let options = Options::default(); // runs are kept in .laptime
//! let recorder = Recorder::start(&options);
//! let mut fit = recorder.fit(FitFacts { label: "my model".into(), rows: Some(96), ..FitFacts::default() });
//! for _ in 0..3 {
//!     let epoch = fit.epoch();
//!     let batches = [[0.0_f64; 32]; 3];
//!     for batch in epoch.batches(batches, |batch| batch.len() as u32) {
//!         let prediction = {
//!             let _forward = stage!("forward");
//!             batch.iter().sum::<f64>()
//!         };
//!         let _update = stage!("optimizer");
//!         epoch.loss(prediction * prediction);
//!     }
//! }
//! drop(fit);
//! recorder.finish(Status::Finished, None);
//! # std::fs::remove_dir_all(folder).ok();
//! ```

#[cfg(feature = "tracing")]
mod tracing_layer;

/// Packs, the Loader of their samples, and what it does to images.
#[cfg(feature = "load")]
pub use laptime_load::{image, loader, pack};
pub use laptime_record::{
    BatchLog, Batches, Counter, Epoch, Finished, Fit, FitFacts, Metric, Options, ProgramStart, Recorder,
    RunMeta, Stage, StageGuard, StageId, Status, Ticks, Track, TrackKind, TrackLog, count, enter_stage,
    measured, now, stage, stage_id,
};
#[cfg(feature = "tracing")]
pub use tracing_layer::TracingLayer;
