//! Collectives: exchange between the ranks of a group.

use serde::{Deserialize, Serialize};

/// What a collective does. The number is what the log stores and never changes meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
#[serde(rename_all = "snake_case")]
pub enum CollectiveKind {
    /// One of a newer version, or of a library that does not say.
    #[default]
    Other = 0,
    /// Everybody gets the sum of all parts.
    AllReduce = 1,
    /// Everybody gets all parts.
    AllGather = 2,
    /// Everybody gets its share of the sum.
    ReduceScatter = 3,
    /// Everybody gives everybody a part.
    AllToAll = 4,
    /// Everybody waits for all others.
    Barrier = 5,
    /// One gives to all.
    Broadcast = 6,
    /// One gets the sum of all parts.
    Reduce = 7,
    /// One gets all parts.
    Gather = 8,
    /// One gives everybody a part.
    Scatter = 9,
    /// One gives to one other.
    Send = 10,
    /// One gets from one other.
    Receive = 11,
}

impl CollectiveKind {
    /// Every kind, at the index that is its number.
    pub const ALL: [Self; 12] = [
        Self::Other,
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllToAll,
        Self::Barrier,
        Self::Broadcast,
        Self::Reduce,
        Self::Gather,
        Self::Scatter,
        Self::Send,
        Self::Receive,
    ];

    /// The kind with this number; [`Self::Other`] for one from a newer version.
    #[must_use]
    pub fn from_number(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or_default()
    }

    /// Whether nobody is done before all have given their part, so that all ranks leave together.
    #[must_use]
    pub const fn ends_together(self) -> bool {
        matches!(
            self,
            Self::AllReduce | Self::AllGather | Self::ReduceScatter | Self::AllToAll | Self::Barrier
        )
    }
}

/// A group of ranks that exchange with each other, as one process knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupFacts {
    /// Its name, the same in all its ranks.
    pub name: String,
    /// What exchanges, such as `gloo` or `nccl`.
    pub backend: String,
    /// Its ranks within the run, in the order of their ranks within the group.
    pub ranks: Vec<u32>,
    /// What it is for, where the script says so, such as the name of a mesh's dimension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_number() {
        for kind in CollectiveKind::ALL {
            assert_eq!(CollectiveKind::from_number(kind as u8), kind);
        }
        assert_eq!(CollectiveKind::from_number(CollectiveKind::ALL.len() as u8), CollectiveKind::Other);
    }
}
