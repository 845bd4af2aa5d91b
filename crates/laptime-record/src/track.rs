//! Tracks beside the threads: what a device or a network did, put on record after it happened.

use laptime_core::{StageId, Ticks, Track};

use crate::active::{Shared, generation, wake_flusher};
use crate::lane::{Lane, Pushed};
use crate::recorder::Recorder;

/// The log of one track beside the threads, such as a device's. Its spans lie in the past and have their own
/// ledger, which runs from the recorder's start.
pub struct TrackLog {
    place: Option<(&'static Shared, Lane)>,
    /// Where the time that is booked so far ends.
    booked_until: Ticks,
}

impl Recorder {
    /// Begins a track; it ends when the log is dropped.
    pub fn track(&self, track: &Track) -> TrackLog {
        let place = self.shared.and_then(|shared| Some((shared, shared.claim_track(track)?)));
        TrackLog { place, booked_until: Ticks(0) }
    }
}

impl TrackLog {
    /// Puts a span on record that has ended. Time that an earlier span has is not counted again, so work that
    /// overlaps, as on several streams, adds up to the time in which there was any.
    pub fn span(&mut self, stage: StageId, start: Ticks, end: Ticks) {
        let Some((shared, lane)) = self.place else { return };
        if shared.generation != generation() {
            return;
        }
        let own_from = start.max(self.booked_until);
        self.booked_until = self.booked_until.max(end);
        if lane.book_past(stage, own_from, end) == Pushed::Wake {
            wake_flusher();
        }
    }
}

impl Drop for TrackLog {
    fn drop(&mut self) {
        if let Some((shared, lane)) =
            self.place.take().filter(|(shared, _)| shared.generation == generation())
        {
            shared.track_ended(lane);
        }
    }
}
