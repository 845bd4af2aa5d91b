//! Arrays in files of their own that belong together: `x.npy` beside `y.npy` is one dataset.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;

use super::columnar::Contents;
use super::sized_file::SizedFile;

/// What arrays of the same rows are called, as a part of their names.
const ROLES: [&str; 18] = [
    "x", "y", "data", "label", "labels", "target", "targets", "image", "images", "feature", "features",
    "input", "inputs", "output", "outputs", "mask", "masks", "weights",
];

/// A name with its role replaced, which is the same for all files that belong together: `x_train.npy` and
/// `y_train.npy` both give `*_train`.
pub(crate) fn name_without_role(name: &OsStr) -> String {
    let stem = Path::new(name).file_stem().unwrap_or(name).to_string_lossy().to_lowercase();
    let is_role = |word: &str| ROLES.contains(&word);
    stem.split_inclusive(['_', '-', '.', ' '])
        .map(|word| {
            let (plain, rest) = word.split_at(word.trim_end_matches(['_', '-', '.', ' ']).len());
            if is_role(plain) { format!("*{rest}") } else { word.to_owned() }
        })
        .collect()
}

/// Counts the rows of arrays that belong together once: those in one folder whose names differ by their role, and
/// that have the same number of rows.
pub(crate) fn count_pairs_once(looked: &mut [(&SizedFile, Contents)]) {
    let mut counted = HashSet::new();
    for (file, contents) in looked {
        let pattern = name_without_role(file.path.file_name().unwrap_or_default());
        let folder = file.path.parent().unwrap_or(Path::new(""));
        if pattern.contains('*') && !counted.insert((folder, pattern, contents.rows)) {
            contents.rows = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(files: &[(&str, u64)]) -> u64 {
        let sized: Vec<SizedFile> =
            files.iter().map(|(path, _)| SizedFile { path: path.into(), bytes: 1 }).collect();
        let contents = |rows: u64| Contents { rows, ..Contents::default() };
        let mut looked: Vec<_> =
            sized.iter().zip(files).map(|(file, (_, rows))| (file, contents(*rows))).collect();
        count_pairs_once(&mut looked);
        looked.iter().map(|(_, contents)| contents.rows).sum()
    }

    #[test]
    fn features_and_labels_beside_each_other_are_one_dataset() {
        assert_eq!(rows(&[("a/x.npy", 60), ("a/y.npy", 60)]), 60);
        assert_eq!(
            rows(&[("X_train.npy", 60), ("y_train.npy", 60), ("X_test.npy", 9), ("y_test.npy", 9)]),
            69
        );
        assert_eq!(rows(&[("train-images.npy", 60), ("train-labels.npy", 60)]), 60);
    }

    #[test]
    fn arrays_that_only_look_alike_are_several() {
        assert_eq!(rows(&[("a/x.npy", 60), ("b/y.npy", 60)]), 120);
        assert_eq!(rows(&[("x.npy", 60), ("y.npy", 61)]), 121);
        assert_eq!(rows(&[("part-0.npy", 60), ("part-1.npy", 60)]), 120);
    }
}
