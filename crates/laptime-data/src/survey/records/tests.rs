//! Files of records, walked and sampled, damaged and hostile.

use std::time::Duration;

use super::super::SurveyOptions;
use super::*;
use crate::mutation::survive_in_memory;

fn effort(exact: bool) -> Effort {
    let patience = Duration::from_secs(600);
    Effort::of(&SurveyOptions { exact, patience, ..SurveyOptions::default() }, 1, true)
}

fn rows(file: &[u8], format: Format, exact: bool) -> Result<Contents, FileProblem> {
    measure_records(&file.to_vec(), format, effort(exact), &Watch::default())
        .map(|measured| measured.contents)
}

/// A member as GNU tar and Python write it.
fn member(name: &str, data: &[u8], kind: u8) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..135].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
    header[148..156].fill(b' ');
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header.extend(data);
    header.resize(header.len().next_multiple_of(512), 0);
    header
}

fn tar(members: &[(&str, usize)]) -> Vec<u8> {
    let mut file: Vec<u8> =
        members.iter().flat_map(|(name, bytes)| member(name, &vec![7; *bytes], b'0')).collect();
    file.extend([0; 1024]);
    file
}

#[test]
fn samples_are_the_names_up_to_the_first_dot() {
    let file = tar(&[("a/1.jpg", 3_000), ("a/1.cls", 1), ("a/2.jpg", 700), ("a/2.cls", 1), ("b/2.jpg", 5)]);
    let contents = rows(&file, Format::Tar, false).unwrap();
    assert_eq!((contents.rows, contents.decoded_bytes, contents.relative_error), (3, 3_707, 0.0));
}

#[test]
fn names_that_lead_elsewhere_or_hide_are_only_compared() {
    let file = tar(&[("../../etc/x.jpg", 10), ("/root/x.jpg", 10), ("\u{1b}[31m.jpg", 10), (".hidden", 10)]);
    assert_eq!(rows(&file, Format::Tar, true).unwrap().rows, 3);
}

/// The beginning of a PNG file of that many pixels, and as many bytes.
fn png(width: u32, height: u32, bytes: usize) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    file.extend(width.to_be_bytes());
    file.extend(height.to_be_bytes());
    file.extend([8, 2, 0, 0, 0]);
    file.resize(bytes, 0);
    file
}

#[test]
fn images_in_an_archive_are_known_by_their_headers() {
    let mut file = Vec::new();
    for index in 0..200_u32 {
        let image = png(40, 20 + index % 3, 700);
        file.extend(member(&format!("{index}.png"), &image, b'0'));
        file.extend(member(&format!("{index}.cls"), b"7", b'0'));
    }
    let contents = rows(&file, Format::Tar, true).unwrap();
    let truth: u64 = (0..200).map(|index| 40 * (20 + index % 3) * 3).sum();
    let near = |number: u64| (number as f64 / truth as f64 - 1.0).abs() < 0.03;
    assert!(contents.rows == 200 && near(contents.decoded_bytes) && near(contents.numbers), "{contents:?}");
    assert!(contents.relative_error == 0.0 && contents.decoded_error > 0.0, "{contents:?}");
    let resized = Effort { side: Some(10), ..effort(true) };
    let contents = measure_records(&file, Format::Tar, resized, &Watch::default()).unwrap().contents;
    assert!(contents.numbers.abs_diff(200 * 300) <= 2, "{contents:?}");
}

#[test]
fn long_names_and_folders_between_the_members_are_understood() {
    let long = format!("{}.jpg", "n".repeat(300));
    let file = [
        member("folder/", b"", b'5'),
        member("././@LongLink", long.as_bytes(), b'L'),
        member("cut off name", b"image", b'0'),
        member("pax", format!("{} path={long}\n", 9 + long.len() + 1).as_bytes(), b'x'),
        member("cut off name", b"image", b'0'),
    ]
    .concat();
    assert_eq!(rows(&file, Format::Tar, true).unwrap().rows, 1);
}

#[test]
fn an_archive_without_its_end_gives_the_samples_before() {
    let file = tar(&[("1.jpg", 3_000), ("2.jpg", 3_000), ("3.jpg", 3_000)]);
    let measured =
        measure_records(&file[..6_000].to_vec(), Format::Tar, effort(false), &Watch::default()).unwrap();
    assert_eq!(measured.contents.rows, 1);
    assert!(matches!(measured.missing, Some(FileProblem::Truncated)));
    assert!(matches!(rows(&b"no archive".repeat(99), Format::Tar, false), Err(FileProblem::NotThat(_))));
    assert!(matches!(rows(&b"no records".repeat(99), Format::TfRecord, false), Err(FileProblem::NotThat(_))));
    assert!(matches!(
        rows(b"\x1f\x8b\x08 and so on", Format::TfRecord, false),
        Err(FileProblem::NotUnderstood(_))
    ));
}

#[test]
fn records_too_many_to_walk_are_estimated_within_their_interval() {
    // Records grow fourfold; so short that each header would cost a whole read.
    let records = tfrecord::written((0..60_000).map(|index| vec![index as u8; 60 + index / 333]));
    let archive = tar(&(0..9_000)
        .flat_map(|index| {
            let name: &'static str = Box::leak(format!("{index}.txt").into_boxed_str());
            let label: &'static str = Box::leak(format!("{index}.cls").into_boxed_str());
            [(name, 100 + index / 3), (label, 1)]
        })
        .collect::<Vec<_>>());
    for (file, format, truth) in [(records, Format::TfRecord, 60_000.0), (archive, Format::Tar, 9_000.0)] {
        let counted = rows(&file, format, true).unwrap();
        assert_eq!((counted.rows as f64, counted.relative_error), (truth, 0.0));
        let begun = walk::Begun { members: 64, bytes: file.len() as u64 / 200 };
        let met = match format {
            Format::TfRecord => {
                sampled::estimate::<TfRecord>(&file, &begun, effort(false), &Watch::default())
            }
            _ => sampled::estimate::<Tar>(&file, &begun, effort(false), &Watch::default()),
        };
        let estimate = met.and_then(|met| met.contents(&file, effort(false))).unwrap();
        let error = (estimate.rows as f64 / truth - 1.0).abs();
        assert!(estimate.relative_error > 0.0 && error < 0.05, "{error} of {estimate:?}");
        assert!(error < 3.0 * estimate.relative_error, "{error} of {estimate:?}");
    }
}

#[test]
fn no_damaged_records_panic_or_take_much_memory() {
    let seeds = [tfrecord::written([vec![1; 30], vec![2; 40]]), tfrecord::written([b"a record".to_vec()])];
    let whole = |bytes: &[u8], format| {
        let bytes = bytes.to_vec();
        let begun = walk::Begun { members: 1, bytes: 100 };
        // Sampling meets what walking does not: places without a header.
        let watch = Watch::default();
        let sampled = match format {
            Format::TfRecord => sampled::estimate::<TfRecord>(&bytes, &begun, effort(false), &watch),
            _ => sampled::estimate::<Tar>(&bytes, &begun, effort(false), &watch),
        };
        drop(sampled);
        measure_records(&bytes, format, effort(true), &watch).is_ok_and(|found| found.missing.is_none())
    };
    survive_in_memory(&seeds, |bytes| whole(bytes, Format::TfRecord));
    let image = member("a.png", &png(4, 4, 600), b'0');
    let archives = [tar(&[("a.jpg", 30), ("a.cls", 1)]), image, member("././@LongLink", b"name.jpg\0", b'L')];
    survive_in_memory(&archives, |bytes| whole(bytes, Format::Tar));
}
