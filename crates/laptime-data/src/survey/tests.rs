//! Whole folders: what is counted, what is reported as trouble, and that hostile ones take little memory.

use std::fs;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;
use crate::allocation::largest_during;
use crate::mutation::npy;
use crate::source::{LocalSource, Object};

const OPTIONS: SurveyOptions = SurveyOptions {
    epochs: 1,
    dtype: ElementType::Float32,
    size: None,
    exact: false,
    measure_disk: false,
    max_files: None,
    patience: Duration::ZERO,
};

fn survey(path: &Path) -> Survey {
    Survey::of(&[path.to_owned()], &OPTIONS, &Watch::default())
}

fn png(width: u32, height: u32, filler: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 2, 0, 0, 0]);
    bytes.resize(bytes.len() + filler, 0);
    bytes
}

fn problems(survey: &Survey) -> Vec<&str> {
    survey.troubles.iter().map(|trouble| trouble.problem.as_str()).collect()
}

#[test]
fn images_with_labels_beside_them_are_samples_once() {
    let folder = tempfile::tempdir().unwrap();
    for index in 0..10 {
        fs::write(folder.path().join(format!("{index}.png")), png(10, 20, 3_000)).unwrap();
    }
    fs::write(folder.path().join("labels.csv"), "file,label\n0.png,1\n1.png,0\n").unwrap();
    fs::write(folder.path().join("README.md"), "about").unwrap();
    let survey = survey(folder.path());
    assert_eq!(survey.format, Some(Format::Images));
    assert_eq!(survey.samples, Some(Amount::counted(10)));
    assert_eq!((survey.files, survey.parts.len(), survey.trouble_count), (12, 3, 0));
    assert_eq!(survey.sample_bytes_decoded, Some(600.0));
    let label_bytes = 2.0 * 4.0;
    assert_eq!(survey.epoch_bytes.host_to_device.unwrap().mean, 10.0 * 600.0 * 4.0 + label_bytes);
    assert_eq!(survey.epoch_bytes.storage, 12 * 4096);
}

#[test]
fn size_and_type_decide_what_images_move_to_the_device() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.png"), png(500, 400, 3_000)).unwrap();
    let options = SurveyOptions { size: Some(224), dtype: ElementType::Uint8, epochs: 3, ..OPTIONS };
    let survey = Survey::of(&[folder.path().to_owned()], &options, &Watch::default());
    assert_eq!(survey.epoch_bytes.host_to_device.unwrap().mean, 3.0 * 224.0 * 224.0);
    assert_eq!(survey.least.device_bytes, Some(3.0 * 3.0 * 224.0 * 224.0));
    assert_eq!(survey.decoded_bytes.unwrap().mean, 500.0 * 400.0 * 3.0);
}

#[test]
fn more_images_than_are_looked_into_are_estimated_with_an_interval() {
    let folder = tempfile::tempdir().unwrap();
    for index in 0..1_500_u32 {
        fs::write(folder.path().join(format!("{index}.png")), png(10 + index % 50, 20, 30)).unwrap();
    }
    let survey = survey(folder.path());
    let truth: u64 = (0..1_500).map(|index| u64::from(10 + index % 50_u32) * 20 * 3).sum();
    let decoded = survey.decoded_bytes.unwrap();
    assert!(!decoded.exact && (decoded.low..=decoded.high).contains(&(truth as f64)), "{decoded:?}");
    // None that was looked into is broken, but not all were looked into.
    let samples = survey.samples.unwrap();
    assert!(!samples.exact && samples.mean == 1_500.0 && samples.high == 1_500.0, "{samples:?}");
    assert!((1_480.0..1_500.0).contains(&samples.low), "{samples:?}");
    let exact = survey_exactly(folder.path());
    assert_eq!(exact.decoded_bytes, Some(Amount::counted(truth)));
    assert_eq!(exact.samples, Some(Amount::counted(1_500)));
}

fn survey_exactly(folder: &Path) -> Survey {
    let options = SurveyOptions { exact: true, ..OPTIONS };
    Survey::of(&[folder.to_owned()], &options, &Watch::default())
}

#[test]
fn broken_images_are_counted_and_those_in_a_sample_stand_for_others() {
    let folder = tempfile::tempdir().unwrap();
    for index in 0..3_000_u32 {
        let bytes = if index % 10 == 0 { b"no image".to_vec() } else { png(10 + index % 50, 20, 30) };
        fs::write(folder.path().join(format!("{index}.png")), bytes).unwrap();
    }
    let sampled = survey(folder.path());
    let part = &sampled.parts[0];
    assert!((500..=1_000).contains(&part.looked_into), "{part:?}");
    assert!(part.broken > 0 && part.broken == sampled.trouble_count, "{part:?}");
    let holds = |estimate: Amount, truth: f64| {
        !estimate.exact && (estimate.low..=estimate.high).contains(&truth) && estimate.high < truth * 1.1
    };
    assert!(holds(sampled.samples.unwrap(), 2_700.0), "{:?}", sampled.samples);
    let exact = survey_exactly(folder.path());
    let truth = exact.decoded_bytes.unwrap();
    assert!(truth.exact && holds(sampled.decoded_bytes.unwrap(), truth.mean), "{:?}", sampled.decoded_bytes);
    assert_eq!((exact.samples, exact.parts[0].broken), (Some(Amount::counted(2_700)), 300));
    assert_eq!((exact.parts[0].looked_into, exact.trouble_count), (3_000, 300));
}

#[test]
fn text_in_many_files_counts_each_without_its_header() {
    let folder = tempfile::tempdir().unwrap();
    for index in 0..30 {
        fs::write(folder.path().join(format!("{index}.csv")), "x,y\n1,\"a\nb\"\n\n2,c").unwrap();
    }
    let survey = survey(folder.path());
    assert_eq!(survey.samples, Some(Amount::counted(60)));
}

#[test]
fn rows_beside_large_files_that_end_without_a_line_end_are_estimated() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("x,y\n{}1,2", "12,34\n".repeat(4_000_000));
    fs::write(folder.path().join("large.csv"), &text).unwrap();
    fs::write(folder.path().join("small.csv"), "x,y\n1,2\n").unwrap();
    let rows = survey(folder.path()).samples.unwrap();
    assert!(!rows.exact && (rows.low..=rows.high).contains(&4_000_002.0), "{rows:?}");
    let options = SurveyOptions { exact: true, ..OPTIONS };
    let exact = Survey::of(&[folder.path().to_owned()], &options, &Watch::default());
    assert_eq!(exact.samples, Some(Amount::counted(4_000_002)));
}

#[test]
fn links_are_followed_once_and_loops_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("a/b");
    fs::create_dir_all(&inner).unwrap();
    fs::write(inner.join("x.npy"), npy(1, "<f4", "(8, 3)", &[0; 96])).unwrap();
    symlink(folder.path(), inner.join("back")).unwrap();
    symlink("itself", inner.join("itself")).unwrap();
    symlink("nowhere", inner.join("dead")).unwrap();
    symlink(inner.join("x.npy"), folder.path().join("linked.npy")).unwrap();
    let survey = survey(folder.path());
    assert_eq!((survey.files, survey.folders), (2, 3));
    assert_eq!(survey.samples, Some(Amount::counted(16)));
    assert_eq!(survey.trouble_count, 3);
    assert!(problems(&survey).contains(&"links to a folder that is already counted"));
    assert!(problems(&survey).contains(&"is a dangling link"));
}

#[test]
fn hostile_and_broken_files_are_reported_and_the_others_counted() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("bomb.png", &png(65_000, 65_000, 200));
    write("good.png", &png(10, 10, 200));
    write("short.npy", &npy(1, "<f4", "(1000000000, 3)", &[0; 96]));
    write("good.npy", &npy(1, "<f4", "(8, 3)", &[0; 96]));
    write("text.parquet", b"not parquet but text");
    write("empty.arrow", b"");
    write("empty.npz", b"");
    write("empty.csv", b"");
    write("zeros.csv", &[0; 10_000]);
    let mut survey = None;
    let largest = largest_during(|| survey = Some(self::survey(folder.path())));
    let survey = survey.unwrap();
    assert!(largest < 16 << 20, "{largest} bytes at once");
    assert_eq!(survey.files, 9);
    assert_eq!(survey.trouble_count, 5, "{:?}", survey.troubles);
    let npy = survey.parts.iter().find(|part| part.format == Format::Npy).unwrap();
    assert_eq!((npy.samples, npy.broken), (Some(Amount::counted(8)), 1));
    let images = survey.parts.iter().find(|part| part.format == Format::Images).unwrap();
    assert_eq!((images.samples, images.broken), (Some(Amount::counted(1)), 1));
    assert_eq!(images.decoded_bytes, Some(Amount::counted(300)));
}

#[test]
fn a_thousand_endings_are_not_a_thousand_rows() {
    let folder = tempfile::tempdir().unwrap();
    for index in 0..1_000 {
        fs::write(folder.path().join(format!("a.e{index}")), "x").unwrap();
    }
    let survey = survey(folder.path());
    assert_eq!((survey.files, survey.samples), (1_000, None));
    assert!(survey.parts.len() < 700, "{}", survey.parts.len());
}

#[test]
fn a_stopped_survey_says_that_it_is_not_complete() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.csv"), "1,2\n").unwrap();
    let watch = Watch::default();
    watch.stop();
    let survey = Survey::of(&[folder.path().to_owned()], &OPTIONS, &watch);
    assert!(!survey.complete);
    assert_eq!(survey.samples, None);
}

#[test]
fn a_file_is_known_by_its_first_bytes_when_its_name_tells_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    fs::write(&path, npy(1, "<f4", "(8, 3)", &[0; 96])).unwrap();
    assert_eq!(survey(&path).format, Some(Format::Npy));
}

/// The same folder looked at as a source, of which ranges are read.
fn survey_of_source(path: &Path) -> Survey {
    let source = LocalSource::open(path).unwrap();
    Survey::of_source(&source, &OPTIONS, &Watch::default()).unwrap()
}

#[test]
fn a_source_gives_what_the_same_files_give_here() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    fs::create_dir(folder.path().join("a")).unwrap();
    let columnar = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/columnar");
    for name in ["mixed.parquet", "mixed.feather", "arrays.npz", "compressed.npz"] {
        fs::copy(columnar.join(name), folder.path().join("a").join(name)).unwrap();
    }
    write("x.npy", &npy(1, "<f4", "(8, 3)", &[0; 96]));
    write("y.npy", &npy(1, "<f4", "(8,)", &[0; 32]));
    write("a/good.png", &png(10, 10, 9_000));
    write("a/broken.png", b"no image");
    write("table.csv", &b"x,y\n".repeat(4_000));
    write("notes.txt", b"about");
    let (here, there) = (survey(folder.path()), survey_of_source(folder.path()));
    assert_eq!((there.bytes, there.files, there.trouble_count), (here.bytes, 10, here.trouble_count));
    for (here, there) in here.parts.iter().zip(&there.parts) {
        let same = |part: &Part| (part.format, part.files, part.samples, part.decoded_bytes, part.broken);
        assert_eq!(same(here), same(there));
    }
    let arrays = there.parts.iter().find(|part| part.format == Format::Npy).unwrap();
    assert_eq!(arrays.samples, Some(Amount::counted(8)));
    assert!(there.link.is_none() && there.complete);
}

#[test]
fn rows_at_a_source_are_estimated_from_two_per_cent_of_the_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let text: String =
        (0..1_000_000_u64).map(|row| format!("{row},{}\n", "9".repeat((row % 40) as usize))).collect();
    fs::write(folder.path().join("long.csv"), &text).unwrap();
    let survey = survey_of_source(&folder.path().join("long.csv"));
    let rows = survey.samples.unwrap();
    assert!(!rows.exact && (rows.low..=rows.high).contains(&1_000_000.0), "{rows:?}");
    assert!((rows.mean / 1e6 - 1.0).abs() < 0.03, "{rows:?}");
    assert!(survey.read_bytes * 50 <= survey.bytes, "{} of {}", survey.read_bytes, survey.bytes);
}

#[test]
fn a_source_of_a_million_objects_is_known_by_some_of_them() {
    let watch = Watch::default();
    let survey = Survey::of_source(&Million, &OPTIONS, &watch).unwrap();
    assert_eq!((survey.files, survey.folders, survey.bytes), (1_000_000, 1_000, 4_096_000_000));
    let rows = survey.samples.unwrap();
    let truth: u64 = (0..1_000_000).map(rows_of).sum();
    assert!(!rows.exact && (rows.low..=rows.high).contains(&(truth as f64)), "{rows:?}");
    assert!(survey.parts[0].looked_into <= 500 && survey.read_bytes < 4 << 20, "{survey:?}");
}

/// A million arrays of a few rows in a thousand folders.
struct Million;

fn rows_of(index: u64) -> u64 {
    6 + index % 5
}

impl Source for Million {
    fn place(&self) -> String {
        "a million".into()
    }

    fn list(&self, found: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<(), SourceError> {
        for index in 0..1_000_000 {
            let name = format!("{}/part-{index}.npy", index / 1_000);
            if found(Object { name, bytes: Some(4_096) }).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn read(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        let index = name.rsplit_once('-').and_then(|(_, end)| end.strip_suffix(".npy")?.parse().ok());
        let mut file = npy(1, "<f4", &format!("({}, 3)", rows_of(index.unwrap())), &[0; 120]);
        file.resize(4_096, 0);
        Ok(file[range.start as usize..range.end as usize].to_vec())
    }
}

/// A source that lists one file and reads none of it.
struct Failing;

impl Source for Failing {
    fn place(&self) -> String {
        "failing".into()
    }

    fn list(&self, found: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<(), SourceError> {
        let _ = found(Object { name: "a.csv".into(), bytes: Some(1 << 40) });
        let _ = found(Object { name: "b.npy".into(), bytes: None });
        Err(SourceError::TimedOut(15))
    }

    fn read(&self, _: &str, _: Range<u64>) -> Result<Vec<u8>, SourceError> {
        Err(SourceError::NoRanges)
    }
}

#[test]
fn a_source_that_fails_leaves_what_is_known_and_says_why() {
    let survey = Survey::of_source(&Failing, &OPTIONS, &Watch::default()).unwrap();
    assert_eq!((survey.files, survey.bytes, survey.samples), (1, 1 << 40, None));
    let mut problems = problems(&survey);
    problems.sort_unstable();
    assert_eq!(
        problems,
        [
            "cannot be listed any further: did not answer within 15 s",
            "cannot be read: does not serve ranges of an object",
            "has a length that is not known",
        ]
    );
}

#[test]
fn more_files_than_asked_for_are_a_sample_with_an_interval() {
    let folder = tempfile::tempdir().unwrap();
    for index in 0..300_u64 {
        let rows = 10 + index % 9;
        let bytes = npy(1, "<f4", &format!("({rows}, 1)"), &vec![0; rows as usize * 4]);
        fs::write(folder.path().join(format!("{index}.npy")), bytes).unwrap();
    }
    let truth: u64 = (0..300).map(|index| 10 + index % 9).sum();
    let options = SurveyOptions { max_files: Some(100), ..OPTIONS };
    let survey = Survey::of(&[folder.path().to_owned()], &options, &Watch::default());
    let rows = survey.samples.unwrap();
    assert!((50..=100).contains(&survey.parts[0].looked_into), "{:?}", survey.parts[0]);
    assert!(!rows.exact && (rows.low..=rows.high).contains(&(truth as f64)), "{rows:?}");
    assert_eq!(survey_exactly(folder.path()).samples, Some(Amount::counted(truth)));
}

#[test]
fn a_hugging_face_folder_tells_its_splits_and_its_caches_are_no_samples() {
    let folder = tempfile::tempdir().unwrap();
    let train = folder.path().join("train");
    fs::create_dir(&train).unwrap();
    let arrow = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/columnar/mixed.arrow");
    for name in ["data-00000-of-00001.arrow", "cache-0123456789abcdef.arrow"] {
        fs::copy(&arrow, train.join(name)).unwrap();
    }
    fs::write(train.join("dataset_info.json"), r#"{"splits": {"train": {"num_examples": 100}}}"#).unwrap();
    for survey in [survey(folder.path()), survey_of_source(folder.path())] {
        assert_eq!(survey.samples, Some(Amount::counted(100)));
        let declared: Vec<_> = survey.declared.iter().map(|split| (&*split.name, split.rows)).collect();
        assert_eq!(declared, [("train", 100)]);
    }
}
