//! Tracks: where spans lie.

use serde::{Deserialize, Serialize};

/// What a track is of. The number is what the log stores and never changes meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u16)]
#[serde(rename_all = "snake_case")]
pub enum TrackKind {
    /// A thread of the host.
    #[default]
    Thread = 0,
    /// A device, all its streams together.
    Device = 1,
    /// Exchange between ranks.
    Communication = 2,
    /// A worker that loads data.
    Worker = 3,
}

impl TrackKind {
    /// Every kind, at the index that is its number.
    pub const ALL: [Self; 4] = [Self::Thread, Self::Device, Self::Communication, Self::Worker];

    /// The kind with this number; `None` for one from a newer version.
    #[must_use]
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// Where spans lie: each track has a ledger of its own. Tracks overlap, stages within one do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// What it is of.
    pub kind: TrackKind,
    /// The name of the thread, device or worker.
    pub name: String,
}

impl Track {
    /// A thread of the host.
    #[must_use]
    pub fn thread(name: impl Into<String>) -> Self {
        Self { kind: TrackKind::Thread, name: name.into() }
    }
}

/// What is known of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceFacts {
    /// What its maker calls it.
    pub name: String,
    /// Its memory, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The version of its driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_number() {
        for kind in TrackKind::ALL {
            assert_eq!(TrackKind::from_number(kind as u16), Some(kind));
        }
        assert_eq!(TrackKind::from_number(TrackKind::ALL.len() as u16), None);
    }
}
