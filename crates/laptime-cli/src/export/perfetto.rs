//! Perfetto: every span of a run as a trace for ui.perfetto.dev, written as it is read.
//!
//! A process of the run is a process of the trace; its threads, steps, epochs, device streams, groups of ranks and
//! amounts over time are its tracks. Times are nanoseconds since the run's begin, and one packet says what the wall
//! clock showed then.

mod message;
mod tracks;

use std::io::{self, Write};

use crate::study::Study;
use tracks::Tracks;

/// Writes the trace.
pub(super) fn write(study: &Study, out: &mut dyn Write) -> io::Result<()> {
    let timeline = study.timeline();
    let mut marks = timeline.marks();
    study.again(&mut |log, record| marks.scan(log, record)).map_err(io::Error::other)?;
    let mut tracks = Tracks::begin(&timeline, out)?;
    let mut written = Ok(());
    let mut put = |mark| {
        if written.is_ok() {
            written = tracks.put(&mark);
        }
    };
    study.again(&mut |log, record| marks.take(log, record, &mut put)).map_err(io::Error::other)?;
    marks.finish(&mut put);
    written
}
