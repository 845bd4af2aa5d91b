//! Segments: the names of a run's log files.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::process::ProcessIdentity;

/// Whose log it is; what its files are named after, so that no two processes write one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogName {
    /// The process that made the run, alone in its rank: `rank-RRRRR`.
    Rank(u32),
    /// A process that joined a run, one of any number in its rank: `rank-RRRRR-PID-START-N`.
    Joined {
        /// The rank.
        rank: u32,
        /// Process id.
        pid: u32,
        /// The process' start: a pid can be used again within one run.
        pid_start: u64,
        /// Which recorder of that process, from 1.
        recorder: u32,
    },
    /// The process that started the command and waits for it: `supervisor`, or `supervisor-RRRRR` where
    /// every rank has one.
    Supervisor {
        /// The rank of the command.
        rank: u32,
    },
}

impl Default for LogName {
    /// The log of a process that is alone in its run.
    fn default() -> Self {
        Self::Rank(0)
    }
}

impl LogName {
    /// The log of a process: `joined` is 0 for the one that made the run, else which recorder of the
    /// process it is.
    #[must_use]
    pub fn of(rank: u32, process: &ProcessIdentity, joined: u32) -> Self {
        match joined {
            0 => Self::Rank(rank),
            recorder => Self::Joined { rank, pid: process.pid, pid_start: process.pid_start, recorder },
        }
    }

    /// The rank that the log's blocks carry.
    #[must_use]
    pub fn rank(&self) -> u32 {
        match self {
            Self::Rank(rank) | Self::Joined { rank, .. } | Self::Supervisor { rank } => *rank,
        }
    }

    fn stem(&self) -> String {
        match self {
            Self::Rank(rank) => format!("rank-{rank:05}"),
            Self::Joined { rank, pid, pid_start, recorder } => {
                format!("rank-{rank:05}-{pid}-{pid_start}-{recorder}")
            }
            Self::Supervisor { rank: 0 } => "supervisor".to_owned(),
            Self::Supervisor { rank } => format!("supervisor-{rank:05}"),
        }
    }

    fn parse(stem: &str) -> Option<Self> {
        if let Some(rank) = stem.strip_prefix("supervisor") {
            let rank = if rank.is_empty() { 0 } else { rank.strip_prefix('-')?.parse().ok()? };
            return Some(Self::Supervisor { rank });
        }
        let mut parts = stem.strip_prefix("rank-")?.split('-');
        let rank = parts.next()?.parse().ok()?;
        let Some(pid) = parts.next() else { return Some(Self::Rank(rank)) };
        let (pid, pid_start) = (pid.parse().ok()?, parts.next()?.parse().ok()?);
        let recorder = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Self::Joined { rank, pid, pid_start, recorder })
    }
}

/// Where one segment of a log lies.
pub(crate) fn segment_path(run: &Path, log: &LogName, number: u32) -> PathBuf {
    run.join(format!("{}.{number:06}.ltlog", log.stem()))
}

/// Log and number from a segment's file name.
fn parse(name: &str) -> Option<(LogName, u32)> {
    let (stem, number) = name.strip_suffix(".ltlog")?.split_once('.')?;
    Some((LogName::parse(stem)?, number.parse().ok()?))
}

/// The segments in a run's folder, by log and then by number.
pub(crate) fn list_segments(run: &Path) -> io::Result<Vec<(LogName, u32, PathBuf)>> {
    let mut segments = Vec::new();
    for entry in fs::read_dir(run)? {
        let entry = entry?;
        if let Some((log, number)) = entry.file_name().to_str().and_then(parse) {
            segments.push((log, number, entry.path()));
        }
    }
    segments.sort();
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segments_name_says_log_and_number() {
        let joined = LogName::Joined { rank: 3, pid: 4711, pid_start: 99, recorder: 1 };
        for (log, name) in [
            (LogName::Rank(3), "rank-00003.000012.ltlog"),
            (joined, "rank-00003-4711-99-1.000012.ltlog"),
            (LogName::Supervisor { rank: 0 }, "supervisor.000012.ltlog"),
            (LogName::Supervisor { rank: 7 }, "supervisor-00007.000012.ltlog"),
        ] {
            let path = segment_path(Path::new("run"), &log, 12);
            assert_eq!(path, Path::new("run").join(name));
            assert_eq!(parse(name), Some((log, 12)));
        }
    }

    #[test]
    fn other_files_are_no_segments() {
        for name in ["rank-00003.ltlog", "run.json", "rank-1-2.000001.ltlog", "rank-1-2-3-4-5.000001.ltlog"] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
