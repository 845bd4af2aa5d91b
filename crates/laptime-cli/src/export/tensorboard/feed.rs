//! Feed: the epochs of a growing run for a writer of somebody else's.

use std::path::Path;

use laptime_store::StoreError;

use super::epoch_cursor::EpochCursor;
use super::points::{points, step};
use super::scalars::{moment, scalars};
use crate::study::Study;

/// Reads a run and gives each epoch once, as soon as its pass has ended; of a fit without epochs, every 10 s.
pub struct EpochFeed {
    study: Study,
    cursor: EpochCursor,
}

/// The numbers of one epoch, as TensorBoard shows them.
#[derive(Clone, Debug, PartialEq)]
pub struct EpochPoint {
    /// The fit it belongs to, from 0.
    pub fit: u32,
    /// Its number within the fit, from 0, or the steps so far of a fit without epochs: the step in TensorBoard.
    pub epoch: u32,
    /// When the pass ended, seconds since 1970.
    pub unix_s: f64,
    /// Tag and number.
    pub scalars: Vec<(String, f64)>,
}

impl EpochFeed {
    /// Begins before the first epoch of the run in a folder.
    ///
    /// # Errors
    /// When the folder holds no run.
    pub fn open(run: &Path) -> Result<Self, StoreError> {
        Ok(Self { study: Study::open(run)?, cursor: EpochCursor::default() })
    }

    /// The epochs that ended since the last call. What follows a pass, such as its evaluation, counts as far
    /// as it is known now.
    ///
    /// # Errors
    /// When the run cannot be read.
    pub fn next_epochs(&mut self) -> Result<Vec<EpochPoint>, StoreError> {
        let report = self.study.report()?;
        let mut handed = Vec::new();
        self.cursor.hand_on(
            &points(&report),
            |epoch| epoch.ended_s.is_some(),
            |epoch| {
                let scalars = scalars(epoch).into_iter().map(|scalar| (scalar.tag, scalar.value)).collect();
                handed.extend(moment(epoch).map(|unix_s| EpochPoint {
                    fit: epoch.fit,
                    epoch: u32::try_from(step(epoch)).unwrap_or(u32::MAX),
                    unix_s,
                    scalars,
                }));
                Ok::<(), StoreError>(())
            },
        )?;
        Ok(handed)
    }
}
