//! TensorBoard: the epochs of a run as event files, one TensorBoard run for each fit. A fit without epochs has a
//! point every 10 s.
//!
//! `DIR/<name>-<id>/fit-<n>…/events.out.tfevents.laptime`. The file's name does not change, so that exporting
//! a run again replaces what is there instead of drawing every point twice.

mod board;
mod epoch_cursor;
mod event;
mod event_file;
mod feed;
mod folder;
mod points;
mod record;
mod replaced;
mod scalars;
mod stream;

use std::path::Path;

use crate::one_line::shown_path;

pub(crate) use board::Board;
pub use feed::{EpochFeed, EpochPoint};
pub(crate) use folder::check_folder;
use points::Counted;
pub(crate) use replaced::export;

/// What TensorBoard has now, and how to look at it.
pub(crate) fn on_the_board(dir: &Path, written: Counted) -> String {
    let dir = shown_path(dir);
    match written.is_nothing() {
        true => format!("TensorBoard: nothing in {dir}, because no epoch ended"),
        false => format!("TensorBoard: {} in {dir}; tensorboard --logdir {dir}", written.counted()),
    }
}
