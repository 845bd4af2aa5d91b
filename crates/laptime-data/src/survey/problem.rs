//! Why a file or folder gives no answer, or only part of one.

use std::io;
use std::path::Path;

use laptime_core::display_name;
use serde::Serialize;

use crate::source::SourceError;

/// Problems listed one by one; of more only the number is kept.
const MOST_LISTED: usize = 100;

/// Why one file or folder gives no answer, or only part of one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileProblem {
    /// The system does not let it be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// Its first or last bytes are not those of the format its name promises.
    #[error("is not {0}, despite its name")]
    NotThat(&'static str),
    /// It ends before all that it declares.
    #[error("is cut short: its end is missing")]
    Truncated,
    /// Its description contradicts itself or cannot be understood.
    #[error("is damaged: {0}")]
    Damaged(&'static str),
    /// It is of a kind that laptime does not read.
    #[error("is not supported: {0}")]
    NotUnderstood(&'static str),
    /// It declares more than its bytes can hold.
    #[error("claims more than its {bytes} bytes can hold: {claim}")]
    Implausible {
        /// What it claims.
        claim: String,
        /// What it has.
        bytes: u64,
    },
    /// A place that does not list all it has.
    #[error("cannot be listed any further: {0}")]
    Unlisted(#[source] SourceError),
    /// An object whose length its place does not tell.
    #[error("has a length that is not known")]
    UnknownLength,
    /// A link that leads to a folder that was counted already, above it or elsewhere.
    #[error("links to a folder that is already counted")]
    CountedAlready,
    /// A link to nothing.
    #[error("is a dangling link")]
    DeadLink,
    /// A pipe, a socket or a device.
    #[error("is a pipe, a socket or a device: it has no size")]
    NotAFile,
}

/// What could not be read, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// The file or folder; what of its name is no text is replaced.
    pub path: String,
    /// What is wrong with it, as in "is cut short".
    pub problem: String,
}

/// All that went wrong: how much, and the first of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Troubles {
    pub(crate) listed: Vec<Trouble>,
    pub(crate) count: u64,
}

impl Troubles {
    pub(crate) fn add(&mut self, path: &Path, problem: &FileProblem) {
        self.count += 1;
        if self.listed.len() < MOST_LISTED {
            let problem = display_name(&problem.to_string());
            self.listed.push(Trouble { path: path.to_string_lossy().into_owned(), problem });
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.listed.extend(other.listed);
        self.listed.sort_by(|a, b| a.path.cmp(&b.path));
        self.listed.truncate(MOST_LISTED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_problems_take_the_room_of_a_hundred() {
        let mut troubles = Troubles::default();
        for _ in 0..1_000_000 {
            troubles.add(Path::new("a"), &FileProblem::Truncated);
        }
        assert_eq!((troubles.count, troubles.listed.len()), (1_000_000, MOST_LISTED));
        assert_eq!(troubles.listed[0].problem, "is cut short: its end is missing");
    }
}
