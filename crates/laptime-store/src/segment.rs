//! Segments: the names of a run's log files.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Where one segment of one rank's log lies.
pub(crate) fn segment_path(run: &Path, rank: u32, number: u32) -> PathBuf {
    run.join(format!("rank-{rank:05}.{number:06}.ltlog"))
}

/// Rank and number from a segment's file name.
fn parse(name: &str) -> Option<(u32, u32)> {
    let (rank, number) = name.strip_prefix("rank-")?.strip_suffix(".ltlog")?.split_once('.')?;
    Some((rank.parse().ok()?, number.parse().ok()?))
}

/// The segments in a run's folder, by rank and then by number.
pub(crate) fn list_segments(run: &Path) -> io::Result<Vec<(u32, u32, PathBuf)>> {
    let mut segments = Vec::new();
    for entry in fs::read_dir(run)? {
        let entry = entry?;
        if let Some((rank, number)) = entry.file_name().to_str().and_then(parse) {
            segments.push((rank, number, entry.path()));
        }
    }
    segments.sort();
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segments_name_says_rank_and_number() {
        let path = segment_path(Path::new("run"), 3, 12);
        assert_eq!(parse(path.file_name().unwrap().to_str().unwrap()), Some((3, 12)));
        assert_eq!(parse("rank-00003.ltlog"), None);
        assert_eq!(parse("run.json"), None);
    }
}
