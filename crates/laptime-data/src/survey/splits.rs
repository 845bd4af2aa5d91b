//! What a Hugging Face datasets folder declares: the splits and their rows, in `dataset_info.json` or at the head of
//! its `README.md`. It is shown beside what the files themselves say, never in place of it.

use std::ffi::OsStr;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::place::Place;
use super::sized_file::SizedFile;

/// Descriptions that are looked into, those nearest to the root first, and splits that are kept.
const MOST_FILES: usize = 16;
const MOST_SPLITS: usize = 100;

/// The longest description that is read, and the longest name.
const MOST_BYTES: u64 = 4 << 20;
const LONGEST_NAME: usize = 200;

/// A part of a dataset as its description declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Split {
    /// Such as `train`; with the name of the configuration before it where the description has several.
    pub name: String,
    /// Rows, as declared.
    pub rows: u64,
    /// The description, relative to what was looked at.
    pub file: String,
}

/// Descriptions that were found on the way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Descriptions {
    files: Vec<SizedFile>,
}

impl Descriptions {
    /// Whether a file of this name may be one.
    pub(crate) fn is_name(name: &OsStr) -> bool {
        name == "dataset_info.json" || name == "README.md"
    }

    pub(crate) fn add(&mut self, file: SizedFile) {
        if file.bytes <= MOST_BYTES {
            self.files.push(file);
            self.thin();
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.files.extend(other.files);
        self.thin();
    }

    fn thin(&mut self) {
        self.files.sort_by_cached_key(|file| (file.path.components().count(), file.path.clone()));
        self.files.truncate(MOST_FILES);
    }

    /// The splits that they declare; one that several declare counts once.
    pub(crate) fn splits(&self, place: Place<'_>) -> Vec<Split> {
        let mut splits: Vec<Split> = Vec::new();
        for file in &self.files {
            // What cannot be read or understood declares nothing: it is no data.
            let text = place.open(file).ok().and_then(|stored| stored.take(0, stored.bytes()).ok());
            let text = text.and_then(|text| String::from_utf8(text).ok()).unwrap_or_default();
            let is_json = file.path.extension() == Some(OsStr::new("json"));
            let declared = if is_json { in_info(&text) } else { in_card(&text) };
            for (name, rows) in declared {
                let is_new = splits.iter().all(|split| (&split.name, split.rows) != (&name, rows));
                if is_new && splits.len() < MOST_SPLITS && name.len() <= LONGEST_NAME {
                    splits.push(Split { name, rows, file: shown(&file.path) });
                }
            }
        }
        splits
    }
}

/// The name of a file and the folder it is in.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Whether this is what the library keeps of an intermediate step beside the data: `cache-….arrow`.
pub(crate) fn is_cache(name: &OsStr) -> bool {
    let middle = name.to_str().and_then(|name| name.strip_prefix("cache-")?.strip_suffix(".arrow"));
    middle.is_some_and(|middle| {
        middle.len() >= 16 && middle.bytes().take(16).all(|byte| byte.is_ascii_hexdigit())
    })
}

/// The splits in a `dataset_info.json`.
fn in_info(text: &str) -> Vec<(String, u64)> {
    let Ok(Value::Object(info)) = serde_json::from_str(text) else { return Vec::new() };
    let splits = info.get("splits").and_then(Value::as_object);
    let rows = |split: &Value| split.get("num_examples")?.as_u64();
    splits
        .map(|splits| splits.iter().filter_map(|(name, split)| Some((name.clone(), rows(split)?))).collect())
        .unwrap_or_default()
}

/// The splits in the lines between two `---` at the head of a `README.md`, where they are written in one way:
///
/// ```text
/// dataset_info:
/// - config_name: en
///   splits:
///   - name: train
///     num_examples: 60000
/// ```
fn in_card(text: &str) -> Vec<(String, u64)> {
    let mut lines = text.lines();
    if lines.next() != Some("---") {
        return Vec::new();
    }
    let (mut splits, mut inside) = (Vec::new(), false);
    let (mut config, mut name) = (None, None);
    for line in lines.take_while(|line| *line != "---") {
        if !line.starts_with([' ', '-']) {
            inside = line.trim_end() == "dataset_info:";
            continue;
        }
        let Some((key, value)) = line.trim_start_matches([' ', '-']).split_once(':') else { continue };
        let value = value.trim().trim_matches(['"', '\'']);
        match key {
            "config_name" if inside => config = Some(value.to_owned()),
            "name" if inside => name = Some(value.to_owned()),
            "num_examples" if inside => {
                let named = name.take().map(|name| match &config {
                    Some(config) => format!("{config}/{name}"),
                    None => name,
                });
                splits.extend(named.zip(value.parse().ok()));
            }
            _ => {}
        }
    }
    splits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::survive_in_memory;

    const INFO: &str =
        r#"{"splits": {"train": {"name": "train", "num_examples": 60000}, "test": {"num_bytes": 3}}}"#;

    const CARD: &str = "---
license: mit
dataset_info:
- config_name: en
  features:
  - name: text
    dtype: string
  splits:
  - name: train
    num_bytes: 4689
    num_examples: 60000
- config_name: 'de'
  splits:
  - name: test
    num_examples: 7
configs:
- config_name: en
---
num_examples: 9
";

    #[test]
    fn splits_and_their_rows_are_read_from_either_description() {
        assert_eq!(in_info(INFO), [("train".into(), 60_000)]);
        assert_eq!(in_card(CARD), [("en/train".into(), 60_000), ("de/test".into(), 7)]);
        assert_eq!(in_card("# A readme of something else\nnum_examples: 9\n"), []);
    }

    #[test]
    fn intermediate_steps_are_no_data() {
        assert!(is_cache(OsStr::new("cache-0123456789abcdef_00001_of_00004.arrow")));
        assert!(!is_cache(OsStr::new("data-00000-of-00001.arrow")) && !is_cache(OsStr::new("cache-x.arrow")));
    }

    #[test]
    fn no_damaged_description_panics_or_takes_much_memory() {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        survive_in_memory(&[INFO.into()], |bytes| in_info(&text(bytes)).len() == 1);
        survive_in_memory(&[CARD.into()], |bytes| in_card(&text(bytes)).len() == 2);
    }
}
