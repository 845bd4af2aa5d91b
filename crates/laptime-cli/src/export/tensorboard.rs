//! TensorBoard: the epochs of a run as event files, one TensorBoard run for each fit. A fit without epochs has a
//! point every 10 s.
//!
//! `DIR/<name>-<id>/fit-<n>…/events.out.tfevents.laptime`. The file's name does not change, so that exporting
//! a run again replaces what is there instead of drawing every point twice.

mod board;
mod event;
mod event_file;
mod feed;
mod folder;
mod handed;
mod points;
mod record;
mod replaced;
mod scalars;
mod stream;

pub(crate) use board::Board;
pub use feed::{EpochFeed, EpochPoint};
pub(crate) use folder::check_folder;
pub(crate) use points::Counted;
pub(crate) use replaced::export;
