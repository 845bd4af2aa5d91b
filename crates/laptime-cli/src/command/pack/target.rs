//! Where a pack is written.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The name of the source, ending in `.pack`: beside a file or folder, here for a Python dataset.
pub(super) fn default_target(sources: &[PathBuf]) -> PathBuf {
    let Some(first) = sources.first() else { return PathBuf::from("data.pack") };
    let text = first.to_string_lossy();
    if let Some((_, name)) = text.rsplit_once(':').filter(|(file, _)| file.ends_with(".py")) {
        return PathBuf::from(format!("{name}.pack"));
    }
    let Some(stem) = first.file_stem() else { return PathBuf::from("data.pack") };
    let stem = stem.to_string_lossy();
    // Of shards the part of the name that they share.
    let shared = match sources.len() {
        1 => &*stem,
        _ => stem.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches(['-', '_', '.']),
    };
    let name = if shared.is_empty() { "data" } else { shared };
    first.with_file_name(format!("{name}.pack"))
}

/// The path without a slash at its end, which would make what is written beside it lie within it.
pub(super) fn tidy(target: &Path) -> PathBuf {
    target.components().collect()
}

/// Whether there is a pack; anything else is never replaced.
pub(super) fn is_pack(target: &Path) -> bool {
    target.join("_manifest.json").is_file()
}

/// Where finished parts of a pack are that has no name yet, if any are.
pub(super) fn partial_of(target: &Path) -> Option<PathBuf> {
    let mut name = OsString::from(target);
    name.push(".partial");
    Some(PathBuf::from(name)).filter(|partial| partial.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_is_called_like_its_source() {
        let target = |names: &[&str]| default_target(&names.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(target(&["data/train.csv"]), Path::new("data/train.pack"));
        assert_eq!(target(&["images/"]), Path::new("images.pack"));
        assert_eq!(target(&["data.py:dataset"]), Path::new("dataset.pack"));
        assert_eq!(target(&["shards-000.tar", "shards-001.tar"]), Path::new("shards.pack"));
        assert_eq!(target(&["000.tar", "001.tar"]), Path::new("data.pack"));
        assert_eq!(target(&["."]), Path::new("data.pack"));
    }
}
