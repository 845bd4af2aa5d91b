//! The file of a profile: what was put is read, while it grows, after a kill, and around damage.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use laptime_core::{
    CallNode, ProfileCost, ProfileFacts, ProfileRecord, ProfileTrouble, SampledFunction, SampledProcess,
    SampledThread, Sighting, StageId,
};
use laptime_store::{ProfileReader, ProfileWriter};

/// Mutations of the whole file; each is read in full.
const MUTATIONS: u64 = 20_000;

fn records() -> Vec<ProfileRecord> {
    let name = "SlowSet.__getitem__".to_owned();
    vec![
        ProfileRecord::Began(ProfileFacts { rank: 3, rate_hz: 97.0 }),
        ProfileRecord::Process(SampledProcess {
            process: 0,
            pid: 4711,
            pid_start: 99,
            runtime: "Python 3.12".into(),
        }),
        ProfileRecord::Thread(SampledThread { thread: 0, process: 0, tid: 4711, lane: None }),
        ProfileRecord::Thread(SampledThread { thread: 1, process: 0, tid: 4711, lane: Some(0) }),
        ProfileRecord::Function(SampledFunction { function: 0, name, file: "/ä/train.py".into(), line: 14 }),
        ProfileRecord::Node(CallNode { node: 0, caller: None, function: 0 }),
        ProfileRecord::Node(CallNode { node: 1, caller: Some(0), function: 0 }),
        ProfileRecord::Seen(Sighting {
            thread: 1,
            stage: Some(StageId::UNACCOUNTED),
            waiting: true,
            node: 1,
            samples: 300,
            micros: 3_000_000,
        }),
        ProfileRecord::Seen(Sighting { node: u32::MAX, micros: u64::MAX, ..Sighting::default() }),
        ProfileRecord::Cost(ProfileCost { wall_ns: 5, cpu_ns: 4, samples: 3, unread: 2, rate_mhz: 1 }),
        ProfileRecord::Trouble(ProfileTrouble::Forbidden { pid: 7, because: "no".into() }),
        ProfileRecord::Trouble(ProfileTrouble::NoPython),
    ]
}

/// Writes the records in three blocks.
fn write(run: &Path) -> PathBuf {
    let mut writer = ProfileWriter::create(run, 3).unwrap();
    for part in records().chunks(4) {
        part.iter().for_each(|record| writer.put(record).unwrap());
        writer.flush().unwrap();
    }
    let path = run.join("profile-00003.ltprof");
    assert_eq!(fs::metadata(&path).unwrap().len(), writer.bytes());
    path
}

fn read(run: &Path) -> Vec<ProfileRecord> {
    let mut found = Vec::new();
    ProfileReader::of(run).poll(&mut |_, record| found.push(record)).unwrap();
    found
}

fn folder() -> tempfile::TempDir {
    // In memory where there is such a folder: thousands of files are written.
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

#[test]
fn what_was_put_is_read_back() {
    let run = folder();
    write(run.path());
    assert_eq!(read(run.path()), records());
}

#[test]
fn a_profile_that_grows_is_read_on_from_where_it_was() {
    let run = folder();
    let whole = fs::read(write(run.path())).unwrap();
    let path = run.path().join("profile-00003.ltprof");
    let (mut reader, mut found) = (ProfileReader::of(run.path()), Vec::new());
    for end in 0..=whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        reader.poll(&mut |_, record| found.push(record)).unwrap();
    }
    assert_eq!(found, records());
}

#[test]
fn many_records_take_many_blocks_and_one_that_is_too_long_is_left_out() {
    let run = folder();
    let mut writer = ProfileWriter::create(run.path(), 0).unwrap();
    let function = |number: u32, letters: usize| {
        let name = "n".repeat(letters);
        ProfileRecord::Function(SampledFunction { function: number, name, ..SampledFunction::default() })
    };
    let kept: Vec<_> = (0..2000).map(|number| function(number, 200)).collect();
    kept.iter().for_each(|record| writer.put(record).unwrap());
    writer.put(&function(9999, 100_000)).unwrap();
    writer.flush().unwrap();
    assert_eq!(read(run.path()), kept);
    assert!(ProfileWriter::create(run.path(), 0).is_err());
}

#[test]
fn a_bad_block_costs_that_block_alone() {
    let run = folder();
    let path = write(run.path());
    let mut bytes = fs::read(&path).unwrap();
    let second = (8..bytes.len()).find(|at| bytes[*at..].starts_with(b"\x89LTLOG\r\n")).unwrap();
    bytes[second + 70] ^= 1;
    fs::write(&path, bytes).unwrap();
    let all = records();
    assert_eq!(read(run.path()), [&all[..4], &all[8..]].concat());
}

#[test]
fn mutated_profiles_give_no_record_that_was_not_put_and_never_a_panic() {
    let run = folder();
    let path = write(run.path());
    let (whole, known) = (fs::read(&path).unwrap(), records());
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..MUTATIONS {
        let mut bytes = whole.clone();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            bytes[at] = random(256) as u8;
        }
        bytes.truncate(random(bytes.len()) + 1);
        fs::write(&path, &bytes).unwrap();
        assert!(read(run.path()).iter().all(|record| known.contains(record)));
    }
}
