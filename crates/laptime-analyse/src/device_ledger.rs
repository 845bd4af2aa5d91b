//! Device ledger: what the devices worked on, from their tracks.

use laptime_core::TrackKind;

use crate::report::{DeviceRow, TrackSummary};

/// The ledgers of all devices; `None` where none was recorded.
pub(crate) fn device_ledger(tracks: &[TrackSummary]) -> Option<Vec<DeviceRow>> {
    let devices = tracks.iter().filter(|track| track.kind == TrackKind::Device);
    let rows: Vec<DeviceRow> = devices.flat_map(device_rows).collect();
    (!rows.is_empty()).then_some(rows)
}

fn device_rows(track: &TrackSummary) -> impl Iterator<Item = DeviceRow> {
    track.ledger.iter().map(|row| DeviceRow {
        device: track.name.clone(),
        row: row.stage.clone(),
        seconds: row.seconds,
        share: row.share,
    })
}
