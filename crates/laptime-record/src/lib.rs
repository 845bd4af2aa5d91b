//! The recorder that runs inside a training process.
//!
//! It is loaded into other people's programs, so it stays small, prints nothing, and after its start
//! never fails, blocks or ends the process: trouble is counted and shown in the report.
//!
//! ```
//! use laptime_record::{FitFacts, Options, Recorder, Status, stage};
//!
//! let folder = std::env::temp_dir().join("laptime-doc");
//! let recorder = Recorder::start(&Options { root: Some(folder.clone()), ..Options::default() });
//! let mut fit = recorder.fit(FitFacts { label: "tiny".into(), ..FitFacts::default() });
//! for _ in 0..2 {
//!     let epoch = fit.epoch();
//!     for batch in epoch.batches([1.0, 2.0, 3.0], |_| 1) {
//!         let _forward = stage!("forward");
//!         epoch.loss(batch * 0.5);
//!     }
//! }
//! drop(fit);
//! let finished = recorder.finish(Status::Finished, None);
//! assert!(finished.run.is_some());
//! # std::fs::remove_dir_all(folder).ok();
//! ```

mod active;
mod batch_log;
mod clock;
mod communication;
mod count;
pub mod device;
mod explicit;
mod fit;
mod fit_log;
mod flusher;
mod fork;
mod guard;
mod imports;
mod join;
mod lane;
mod lap;
mod layers;
mod machine;
mod mark;
mod moment;
mod options;
mod place;
pub mod probe;
mod process_recorder;
mod program_start;
mod rank;
mod recorder;
mod session;
mod span_cost;
mod stage;
mod start;
mod stretch;
mod task_spans;
mod thread_lane;
mod track;
mod training;
mod trouble;
mod worker;

pub use batch_log::BatchLog;
pub use clock::{anchor, calibrate, now, source_name};
pub use communication::{
    CollectiveId, GroupNumber, add_group, collective_begin, collective_end, collectives_not_seen,
};
pub use count::count;
pub use explicit::{
    book_since, enter, enter_if_recording, epoch_begin, epoch_end, exit, fit_begin, fit_end, fit_is_open,
    fit_update,
};
pub use fit::{Batches, Epoch, Fit, measured};
pub use guard::guarded;
pub use imports::{import_begins, imported};
pub use join::{BEGAN_VARIABLE, RUN_VARIABLE, began_text};
pub use lap::lap;
pub use laptime_core::{
    CollectiveKind, Counter, FitFacts, GroupFacts, LayerFacts, Metric, RunMeta, StageId, Status, Ticks,
    Track, TrackKind,
};
pub use layers::{layers_off, record_layer};
pub use machine::host;
pub use mark::{MarkId, mark};
pub use options::Options;
pub use place::{MadeRun, make_run};
pub use program_start::ProgramStart;
pub use rank::{Launch, rank_from_environment};
pub use recorder::{FINISH_PATIENCE, Finished, Recorder};
pub use session::{arm, be_rank, finish, is_active, run_folder, run_to_join, start};
pub use stage::{Stage, StageGuard, enter_stage, stage_id};
pub use task_spans::{Owner, enter_owned, enter_unless_open, exit_owned, has_owned};
pub use track::TrackLog;
pub use training::{
    Address, Before, Call, MANUAL, Modes, ModuleKind, PassId, Request, Training, Update, current_stream,
    is_inside, streams_from, training, training_in_worker,
};
pub use trouble::hook_off;
pub use worker::be_worker;
