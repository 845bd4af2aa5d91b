//! Runs on disk: the log format, its writer and its reader, the ring that survives a kill, and the
//! catalogue of runs. Nothing here computes; analysis folds the records a reader yields.

mod block;
mod bytes;
mod catalogue;
mod collections;
mod disk;
mod entry;
mod error;
mod events;
mod forecast_record;
mod format;
mod lane_memory;
mod launch;
mod parts;
mod process;
mod profile_file;
mod profile_format;
mod random_name;
mod reader;
mod ring;
mod run_rings;
mod salvage;
#[cfg(test)]
mod scripted_disk;
mod segment;
mod shared_memory;

mod text_memory;
mod writer;

pub use block::{BlockScan, Scanned};
pub use catalogue::{Catalogue, RunEntry, Selected};
pub use collections::{Collection, CollectionKind, Collections};
pub use disk::{Disk, RealDisk, Segment};
pub use entry::Entry;
pub use error::StoreError;
pub use forecast_record::{ForecastRecord, Grade};
pub use format::LOG_VERSION;
pub use lane_memory::{FRAMES, Frame, LaneMemory, RING_ENTRIES, TotalMemory};
pub use parts::parts_of_run;
pub use process::{ProcessIdentity, boot_id, process_start};
pub use profile_file::{ProfileReader, ProfileWriter};
pub use reader::RunReader;
pub use ring::{RING_LANES, Ring, RingHeader, RingIdentity, detach_ring};
pub use run_rings::RunRings;
pub use salvage::{clear_rings_of, salvage_rings};
pub use segment::LogName;
pub use shared_memory::ring_directory;
pub use writer::{LogWriter, Unsaved};
