//! What rows and slices are called.

use laptime_core::{CollectiveKind, TrackKind};

use super::axis::Timeline;
use super::{Row, Slice};

impl Timeline<'_> {
    /// The name of a slice of a log, as the user wrote it.
    #[must_use]
    pub fn slice_name(&self, log: usize, slice: Slice) -> String {
        let process = self.processes.get(log);
        match slice {
            Slice::Stage(stage) => process.map(|process| process.names.name(stage)).unwrap_or_default(),
            Slice::Step(step) => format!("step {step}"),
            Slice::Epoch(epoch) => format!("epoch {epoch}"),
            Slice::Fit(fit) => {
                let label = process.and_then(|process| process.fits.get(&fit));
                match label.map(|fit| fit.facts.label.as_str()).filter(|label| !label.is_empty()) {
                    Some(label) => format!("fit {fit}: {label}"),
                    None => format!("fit {fit}"),
                }
            }
            Slice::Collective(kind) => collective_name(kind).to_owned(),
        }
    }

    /// The name of a row of a log.
    #[must_use]
    pub fn row_name(&self, log: usize, row: Row) -> String {
        match row {
            Row::Fits { .. } => "fits".to_owned(),
            Row::Epochs { .. } => "epochs".to_owned(),
            Row::Steps { .. } => "steps".to_owned(),
            Row::Stages { lane, .. } => self.lane_name(log, lane),
            Row::Stream { lane, stream: 0 } => self.lane_name(log, lane),
            Row::Stream { lane, stream } => format!("{} stream {stream}", self.lane_name(log, lane)),
            Row::Group { group, .. } => self.group_name(log, group),
            Row::Amount(quantity) => quantity.name().to_owned(),
        }
    }

    fn lane_name(&self, log: usize, lane: u32) -> String {
        let track =
            self.processes.get(log).and_then(|process| process.lanes.get(&lane)).map(|lane| &lane.track);
        match track {
            Some(track) if !track.name.is_empty() => match track.kind {
                TrackKind::Thread => format!("thread {}", track.name),
                TrackKind::Worker => format!("worker {}", track.name),
                TrackKind::Device | TrackKind::Communication => track.name.clone(),
            },
            _ => format!("lane {lane}"),
        }
    }

    fn group_name(&self, log: usize, group: u16) -> String {
        let facts = self.processes.get(log).and_then(|process| process.groups.get(&group));
        match facts {
            Some(facts) => {
                let purpose = facts.purpose.as_deref().unwrap_or(&facts.name);
                format!("collectives {purpose} ({})", facts.backend)
            }
            None => format!("collectives of group {group}"),
        }
    }
}

fn collective_name(kind: CollectiveKind) -> &'static str {
    match kind {
        CollectiveKind::Other => "collective",
        CollectiveKind::AllReduce => "all_reduce",
        CollectiveKind::AllGather => "all_gather",
        CollectiveKind::ReduceScatter => "reduce_scatter",
        CollectiveKind::AllToAll => "all_to_all",
        CollectiveKind::Barrier => "barrier",
        CollectiveKind::Broadcast => "broadcast",
        CollectiveKind::Reduce => "reduce",
        CollectiveKind::Gather => "gather",
        CollectiveKind::Scatter => "scatter",
        CollectiveKind::Send => "send",
        CollectiveKind::Receive => "receive",
    }
}
