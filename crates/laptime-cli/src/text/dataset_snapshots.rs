//! What `laptime data` shows, for datasets of every kind.

use laptime_core::Estimate;
use laptime_data::survey::{
    Amount, ElementType, EpochBytes, Format, Least, Link, Memory, Origin, Part, Sides, Survey, Trouble,
};

use super::{Style, dataset_text};

fn estimate(mean: f64, share: f64) -> Amount {
    let (low, high) = (mean * (1.0 - share), mean * (1.0 + share));
    Amount { estimate: Estimate { mean, low, high, level: 0.95 }, exact: share == 0.0 }
}

fn part(format: Format, files: u64, bytes: u64, samples: Option<Amount>) -> Part {
    Part {
        format,
        compression: None,
        ending: None,
        files,
        looked_into: files,
        broken: 0,
        bytes,
        storage_bytes: bytes,
        samples,
        decoded_bytes: samples.map(|_| estimate(bytes as f64 * 4.0, 0.01)),
        device_bytes: samples.map(|_| estimate(bytes as f64 * 16.0, 0.01)),
        other_columns: 0,
        sides: None,
    }
}

fn photos() -> Survey {
    let images = Part {
        sides: Some(Sides { smallest: (75, 60), largest: (4_288, 4_000) }),
        looked_into: 640,
        broken: 1,
        ..part(Format::Images, 1_281_167, 147_897_477_120, Some(estimate(1_279_165.0, 0.001)))
    };
    let other = Part { ending: Some("xml".into()), ..part(Format::Other, 544_546, 553_000_000, None) };
    let bytes_per_s =
        Amount { estimate: Estimate { mean: 1.8e9, low: 1.7e9, high: 1.9e9, level: 0.95 }, exact: false };
    Survey {
        schema: "laptime.dataset/1",
        source: "/data/imagenet/train".into(),
        format: Some(Format::Images),
        files: 1_825_713,
        folders: 1_001,
        bytes: 148_450_477_120,
        samples: images.samples,
        sample_bytes_stored: Some(115_440.0),
        sample_bytes_decoded: Some(597_000.0),
        decoded_bytes: images.decoded_bytes,
        epoch_bytes: EpochBytes {
            storage: 151_000_000_000,
            files: 148_450_477_120,
            host_to_device: images.device_bytes,
        },
        link: Some(Link {
            protocol: "file",
            latency_s: Some(83e-6),
            bytes_per_s,
            streams: 8,
            origin: Origin::Storage,
            measured_bytes: 160 << 20,
        }),
        transfer_s: Some(estimate(83.0, 0.05)),
        least: Least {
            cached_share: Some(0.1),
            storage_bytes: 151e9 * 82.0,
            device_bytes: Some(2e14),
            first_epoch_s: Some(79.0),
            later_epoch_s: Some(71.0),
            total_s: Some(6_468.0),
        },
        memory: Some(Memory { limit_bytes: 64 << 30, available_bytes: 61 << 30, limited_by_cgroup: true }),
        dtype: ElementType::Float32,
        size: Some(224),
        epochs: 90,
        parts: vec![images, other],
        declared: Vec::new(),
        trouble_count: 7,
        troubles: vec![
            Trouble { path: "train/n01/a.jpg".into(), problem: "is cut short: its end is missing".into() },
            Trouble { path: "train/n02".into(), problem: "cannot be read: Permission denied".into() },
        ],
        complete: true,
        read_bytes: 0,
    }
}

fn table() -> Survey {
    let rows = estimate(48_210_557.0, 0.004);
    let csv = Part { other_columns: 3, ..part(Format::Csv, 1, 5_600_000_000, Some(rows)) };
    Survey {
        source: "train.csv".into(),
        format: Some(Format::Csv),
        files: 1,
        bytes: csv.bytes,
        samples: csv.samples,
        sample_bytes_stored: Some(116.0),
        sample_bytes_decoded: Some(464.0),
        decoded_bytes: csv.decoded_bytes,
        epoch_bytes: EpochBytes { storage: csv.bytes, files: csv.bytes, host_to_device: csv.device_bytes },
        link: None,
        transfer_s: None,
        least: Least::default(),
        size: None,
        epochs: 1,
        parts: vec![csv],
        trouble_count: 0,
        troubles: Vec::new(),
        ..photos()
    }
}

#[test]
fn images_with_a_disk_too_slow_for_them() {
    insta::assert_snapshot!(dataset_text(&photos(), &Style::default()));
}

#[test]
fn rows_that_were_estimated_and_a_disk_that_was_not_measured() {
    insta::assert_snapshot!(dataset_text(&table(), &Style::default()));
}

#[test]
fn a_survey_that_was_stopped_says_so() {
    let stopped = Survey { complete: false, samples: None, ..table() };
    insta::assert_snapshot!(dataset_text(&stopped, &Style::default()));
}

#[test]
fn a_disk_that_may_be_a_cache_is_not_called_a_disk() {
    let link = photos().link.map(|link| Link { origin: Origin::Unknown, streams: 1, ..link });
    let text = dataset_text(&Survey { link, ..table() }, &Style::default());
    assert!(text.contains("cannot tell whether a cache had it"), "{text}");
}

#[test]
fn a_narrow_terminal_without_unicode_shows_what_matters() {
    let style = Style { width: 44, unicode: false, ..Style::default() };
    let text = dataset_text(&photos(), &style);
    assert!(text.lines().all(|line| line.chars().count() <= 44), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn no_line_is_wider_than_the_terminal_and_none_has_escape_codes() {
    let hostile = Survey { source: "a\x1b[31m".repeat(40), ..photos() };
    for width in [40, 60, 80, 100] {
        let text = dataset_text(&hostile, &Style { width, ..Style::default() });
        assert!(!text.contains('\x1b'));
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
}
