//! The words of laptime. No I/O, no clock, no threads: every other crate speaks in these types.

mod change;
mod collective;
pub mod command_line;
mod counter;
mod estimate;
mod event;
mod fit;
mod gauge;
mod lane;
mod layer;
mod machine;
mod metric;
pub mod proc;
mod profile;
mod record;
mod run;
mod stage;
mod text;
mod time;
mod track;
pub mod units;

pub use change::{CHANGES, Change};
pub use collective::{CollectiveKind, GroupFacts};
pub use counter::Counter;
pub use estimate::Estimate;
pub use event::Event;
pub use fit::{FitFacts, Goal, is_detail};
pub use gauge::{Gauge, Sample};
pub use lane::{LaneState, OpenStage, StageTotal};
pub use layer::LayerFacts;
pub use machine::MachineReading;
pub use metric::Metric;
pub use profile::{
    CallNode, ProfileCost, ProfileFacts, ProfileRecord, ProfileTrouble, SampledFunction, SampledProcess,
    SampledThread, Sighting,
};
pub use record::{ProcessFacts, Record, Role};
pub use run::{Closing, Machine, RunMeta, Status, Trouble};
pub use stage::{BUILT_IN_STAGES, FIRST_USER_STAGE, MAX_STAGES, StageId};
pub use text::display_name;
pub use time::{Anchor, Ticks, Timebase};
pub use track::{DeviceFacts, Track, TrackKind};
