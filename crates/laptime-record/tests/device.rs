//! Device times, with a library that stands in for the driver: a scripted device, opened as the real one is.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "the stand-in is a C library, and a fork is tested")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use laptime_core::{Anchor, Event, Record, StageId, Status, Ticks, Timebase, TrackKind, Trouble};
use laptime_record::device::{self, LossKind};
use laptime_record::{Metric, Options, Recorder, anchor, now};
use laptime_store::RunReader;

const STREAM: usize = 0x5000;
const OTHER: usize = 0x6000;
const HOUR_NS: f64 = 3.6e12;

macro_rules! stand_in {
    ($($field:ident = $symbol:literal ($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The stand-in's own functions.
        struct StandIn { path: CString, $($field: extern "C" fn($($argument),*) $(-> $result)?,)* }

        impl StandIn {
            fn find(path: CString, library: *mut c_void) -> Self {
                Self {
                    path,
                    // SAFETY: the functions have these types, as the stand-in's source says.
                    $($field: unsafe {
                        std::mem::transmute::<*mut c_void, extern "C" fn($($argument),*) $(-> $result)?>(
                            symbol(library, $symbol),
                        )
                    },)*
                }
            }
        }
    };
}

stand_in! {
    reset = c"stand_in_reset" (f64, f64);
    use_device = c"stand_in_use" (c_int);
    used = c"stand_in_used" (c_int);
    work = c"stand_in_work" (usize, f64) -> f64;
    happens = c"stand_in_happens" (usize) -> f64;
    wait = c"stand_in_wait" (usize, usize);
    faults = c"stand_in_faults" (u64, u64);
    answer = c"stand_in_answer" (c_int);
    answers = c"stand_in_answers" () -> c_int;
    injected = c"stand_in_injected" () -> u64;
    calls = c"stand_in_calls" () -> u64;
    capture = c"stand_in_capture" (usize, c_int);
    captured = c"stand_in_captured" () -> u64;
    current_device = c"cuCtxGetDevice" (*mut c_int) -> c_int;
    is_capturing = c"cuStreamIsCapturing" (usize, *mut c_int) -> c_int;
    record = c"cuEventRecord" (usize, usize) -> c_int;
}

/// Compiles the stand-in, once for all tests of a process.
fn build() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in_driver/driver.rs");
    let (made, place) =
        (folder.join(format!("stand-in-{}.so", std::process::id())), folder.join("libstand_in_driver.so"));
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let options = ["--edition=2024", "--crate-type=cdylib", "-O", "-Cpanic=abort", "-Cstrip=symbols"];
    let done = Command::new(rustc).args(options).arg("-o").arg(&made).arg(source).status().unwrap();
    assert!(done.success());
    std::fs::rename(made, &place).unwrap();
    place
}

fn stand_in() -> &'static StandIn {
    static STAND_IN: OnceLock<StandIn> = OnceLock::new();
    STAND_IN.get_or_init(|| {
        let path = CString::new(build().into_os_string().into_encoded_bytes()).unwrap();
        // SAFETY: the path ends with a zero, and the library has no constructors.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null());
        StandIn::find(path, library)
    })
}

fn symbol(library: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: the library is open, and the name ends with a zero.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!found.is_null(), "{name:?}");
    found
}

/// A process has one recorder and one driver, so these tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A recorder with a device whose clock differs so from the host's.
struct Recording {
    recorder: Recorder,
    began: Anchor,
    _folder: tempfile::TempDir,
}

impl Recording {
    fn start(offset_ns: f64, drift: f64) -> Self {
        (stand_in().reset)(offset_ns, drift);
        (stand_in().use_device)(0);
        device::begin_with(&stand_in().path, 0);
        Self::go_on()
    }

    /// A recorder with the device as it is.
    fn go_on() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let began = anchor();
        let recorder =
            Recorder::start(&Options { root: Some(folder.path().to_owned()), ..Options::default() });
        Self { recorder, began, _folder: folder }
    }

    fn finish(self) -> Recorded {
        let finished = self.recorder.finish(Status::Finished, None);
        let mut records = Vec::new();
        let mut reader = RunReader::open(&finished.run.unwrap()).unwrap();
        reader.poll(&mut |_, record| records.push(record)).unwrap();
        let end = anchor();
        Recorded { records, began: self.began, rate: Timebase::between(&self.began, &end).unwrap(), end }
    }
}

/// A run that was read back.
struct Recorded {
    records: Vec<Record>,
    began: Anchor,
    rate: Timebase,
    end: Anchor,
}

#[derive(Clone, Copy, Debug)]
struct Boundary {
    stream: u16,
    stage: StageId,
    host: Ticks,
    done: Ticks,
}

impl Recorded {
    fn lane_of(&self, name: &str) -> Option<u32> {
        self.records.iter().find_map(|record| match record {
            Record::Track { lane, track, .. } if track.kind == TrackKind::Device && track.name == name => {
                Some(*lane)
            }
            _ => None,
        })
    }

    fn boundaries_of(&self, name: &str) -> Vec<Boundary> {
        let of = self.lane_of(name);
        let boundary = |record: &Record| match *record {
            Record::Event { lane, event: Event::Boundary { stream, stage, host, done } }
                if Some(lane) == of =>
            {
                Some(Boundary { stream, stage, host, done })
            }
            _ => None,
        };
        self.records.iter().filter_map(boundary).collect()
    }

    fn boundaries(&self) -> Vec<Boundary> {
        self.boundaries_of("cuda:0")
    }

    /// `CLOCK_MONOTONIC` at some ticks.
    fn ns(&self, at: Ticks) -> f64 {
        self.began.monotonic_ns as f64 + (at.0 as f64 - self.began.ticks.0 as f64) * self.rate.ns_per_tick
    }

    fn troubles(&self) -> Vec<&str> {
        let trouble = |record| match record {
            &Record::Trouble(Trouble::DeviceTimesOff { ref because }) => Some(because.as_str()),
            _ => None,
        };
        self.records.iter().filter_map(trouble).collect()
    }

    fn missed(&self) -> u64 {
        let lane = self.lane_of("cuda:0").unwrap();
        let mut states = self.records.iter().filter_map(|record| match record {
            Record::State(state) if state.lane == lane => Some(state.dropped),
            _ => None,
        });
        states.next_back().unwrap_or(0)
    }

    /// Nothing happened before the host asked for it, after the run's end, or out of its stream's order.
    fn check_order(&self) {
        let mut last: BTreeMap<u16, Ticks> = BTreeMap::new();
        for boundary in self.boundaries() {
            assert!(boundary.done >= boundary.host, "{boundary:?}");
            assert!(boundary.done <= self.end.ticks, "{boundary:?}");
            let before = last.insert(boundary.stream, boundary.done);
            assert!(before <= Some(boundary.done), "{before:?} {boundary:?}");
        }
    }

    /// Every boundary's time is the truth, within this many nanoseconds; and so is each stretch between two.
    fn check(&self, truths: &[f64], within_ns: f64) {
        self.check_order();
        let boundaries = self.boundaries();
        assert_eq!(boundaries.len(), truths.len());
        let errors: Vec<f64> =
            boundaries.iter().zip(truths).map(|(boundary, truth)| self.ns(boundary.done) - truth).collect();
        assert!(errors.iter().all(|error| error.abs() < within_ns), "{errors:?}");
        assert_eq!(self.missed(), 0);
        assert_eq!(self.troubles(), [""; 0]);
    }
}

/// A boundary; gives the truth of when the device comes there, by the host's clock.
fn boundary(stream: usize, stage: StageId) -> f64 {
    device::boundary(stream, stage);
    (stand_in().happens)(stream)
}

fn far_ahead(offset_ns: f64, drift: f64) {
    let recording = Recording::start(offset_ns, drift);
    assert!(device::is_on());
    let mut truths = vec![boundary(STREAM, StageId::FORWARD)];
    let before = Instant::now();
    for _ in 0..10 {
        (stand_in().work)(STREAM, 2e7);
        truths.push(boundary(STREAM, StageId::BACKWARD));
    }
    assert!(before.elapsed() < Duration::from_millis(100), "a boundary waits for nothing");
    // Device lengths of 20 ms: 1 % of them.
    recording.finish().check(&truths, 2e5);
}

#[test]
fn a_host_far_ahead_of_the_device_does_not_hide_when_the_device_is_done() {
    let _turn = turn();
    far_ahead(0.0, 0.0);
}

#[test]
fn clocks_hours_apart_that_drift_are_mapped() {
    let _turn = turn();
    far_ahead(5.0 * HOUR_NS, 15e-6);
    far_ahead(-3.0 * HOUR_NS, -15e-6);
}

#[test]
fn a_host_that_is_late_shows_when_the_device_was_idle() {
    let _turn = turn();
    let recording = Recording::start(HOUR_NS, 5e-6);
    let mut truths = Vec::new();
    for _ in 0..30 {
        truths.push(boundary(STREAM, StageId::FORWARD));
        (stand_in().work)(STREAM, 5e6);
        truths.push(boundary(STREAM, StageId::UNACCOUNTED));
        sleep(Duration::from_millis(8));
    }
    let recorded = recording.finish();
    recorded.check(&truths, 5e4);
    for pair in recorded.boundaries().chunks(2) {
        let (begin, end) = (recorded.ns(pair[0].done), recorded.ns(pair[1].done));
        assert!((end - begin) > 4.9e6, "{}", end - begin);
        assert_eq!([pair[0].stage, pair[1].stage], [StageId::FORWARD, StageId::UNACCOUNTED]);
    }
}

#[test]
fn streams_are_numbered_as_first_seen_and_each_keeps_its_order() {
    let _turn = turn();
    let recording = Recording::start(-HOUR_NS, 0.0);
    let mut truths: Vec<(u16, f64)> = Vec::new();
    for _ in 0..5 {
        (stand_in().work)(OTHER, 3e7);
        truths.push((0, boundary(OTHER, StageId::HOST_TO_DEVICE)));
        (stand_in().work)(STREAM, 1e7);
        truths.push((1, boundary(STREAM, StageId::FORWARD)));
    }
    (stand_in().wait)(STREAM, OTHER);
    truths.push((1, boundary(STREAM, StageId::OPTIMIZER)));
    let recorded = recording.finish();
    recorded.check_order();
    for number in [0, 1] {
        let of = |stream: u16| stream == number;
        let read: Vec<f64> = recorded
            .boundaries()
            .iter()
            .filter(|one| of(one.stream))
            .map(|one| recorded.ns(one.done))
            .collect();
        let truths: Vec<f64> = truths.iter().filter(|(stream, _)| of(*stream)).map(|(_, at)| *at).collect();
        assert_eq!(read.len(), truths.len());
        assert!(
            read.iter().zip(&truths).all(|(read, truth)| (read - truth).abs() < 1e5),
            "{read:?} {truths:?}"
        );
    }
}

#[test]
fn a_device_has_a_track_with_its_facts_and_another_one_has_its_own() {
    let _turn = turn();
    let recording = Recording::start(0.0, 0.0);
    boundary(STREAM, StageId::FORWARD);
    (stand_in().use_device)(3);
    boundary(STREAM, StageId::FORWARD);
    (stand_in().use_device)(-1);
    device::boundary(STREAM, StageId::FORWARD);
    let recorded = recording.finish();
    for (name, device) in [("cuda:0", "Stand-in 0"), ("cuda:3", "Stand-in 3")] {
        assert_eq!(recorded.boundaries_of(name).len(), 1);
        let of = recorded.lane_of(name).unwrap();
        let facts = recorded.records.iter().find_map(|record| match record {
            Record::Device { lane, facts } if *lane == of => Some(facts),
            _ => None,
        });
        assert_eq!(
            facts.map(|facts| (facts.name.as_str(), facts.memory_bytes)),
            Some((device, Some(1 << 30)))
        );
        assert!(facts.is_some_and(|facts| facts.driver.is_some()));
    }
}

#[test]
fn nothing_is_put_into_a_graph_that_is_captured() {
    let _turn = turn();
    let recording = Recording::start(0.0, 0.0);
    let loss = 0.5_f32;
    let address = std::ptr::from_ref(&loss) as u64;
    boundary(STREAM, StageId::FORWARD);
    (stand_in().capture)(STREAM, 1);
    for stream in [STREAM, 0] {
        device::boundary(stream, StageId::BACKWARD);
        device::loss(stream, address, LossKind::F32);
    }
    device::boundary(OTHER, StageId::LOSS);
    // Long enough for the flusher to look at events meanwhile.
    sleep(Duration::from_millis(150));
    (stand_in().capture)(STREAM, 0);
    boundary(STREAM, StageId::OPTIMIZER);
    assert_eq!((stand_in().captured)(), 0);
    let recorded = recording.finish();
    let stages: Vec<StageId> = recorded.boundaries().iter().map(|boundary| boundary.stage).collect();
    assert_eq!(stages, [StageId::FORWARD, StageId::LOSS, StageId::OPTIMIZER]);
    assert_eq!(recorded.troubles(), [""; 0]);
}

#[test]
fn losses_arrive_with_the_time_at_which_the_host_asked() {
    let _turn = turn();
    let recording = Recording::start(0.0, 0.0);
    let (single, double, brain) = (0.75_f32, 1.0 / 3.0_f64, 0x4049_u16);
    let losses = [
        (std::ptr::from_ref(&single) as u64, LossKind::F32, 0.75),
        (std::ptr::from_ref(&double) as u64, LossKind::F64, double),
        (std::ptr::from_ref(&brain) as u64, LossKind::BF16, 3.140_625),
    ];
    let mut asked = Vec::new();
    for (address, kind, value) in losses {
        (stand_in().work)(STREAM, 1e7);
        let before = now();
        device::loss(STREAM, address, kind);
        asked.push((before, now(), value));
    }
    let recorded = recording.finish();
    let lane_of_device = recorded.lane_of("cuda:0");
    let measured: Vec<(Ticks, f64)> = recorded
        .records
        .iter()
        .filter_map(|record| match *record {
            Record::Event { lane, event: Event::Measured { metric: Metric::Loss, at, value } }
                if Some(lane) == lane_of_device =>
            {
                Some((at, value))
            }
            _ => None,
        })
        .collect();
    assert_eq!(measured.len(), asked.len());
    for ((at, value), (before, after, expected)) in measured.into_iter().zip(asked) {
        assert!((before..=after).contains(&at));
        assert_eq!(value, expected);
    }
}

#[test]
fn more_than_a_lane_holds_is_all_on_record_and_what_is_too_much_is_counted() {
    let _turn = turn();
    let recording = Recording::start(0.0, 0.0);
    (stand_in().work)(STREAM, 4e8);
    for _ in 0..20 {
        for _ in 0..1000 {
            device::boundary(STREAM, StageId::FORWARD);
        }
        // The flusher makes more events when few are left.
        sleep(Duration::from_millis(8));
    }
    let recorded = recording.finish();
    recorded.check_order();
    let on_record = recorded.boundaries().len() as u64;
    assert_eq!(on_record + recorded.missed(), 20_000);
    assert!((8_193..=16_384).contains(&on_record), "{on_record}");
}

#[test]
fn a_second_recorder_goes_on_with_the_device_and_has_only_its_own() {
    let _turn = turn();
    let first = Recording::start(0.0, 0.0);
    boundary(STREAM, StageId::FORWARD);
    assert_eq!(first.finish().boundaries().len(), 1);
    boundary(STREAM, StageId::FORWARD);
    let second = Recording::go_on();
    boundary(STREAM, StageId::BACKWARD);
    let stages: Vec<StageId> = second.finish().boundaries().iter().map(|one| one.stage).collect();
    assert_eq!(stages, [StageId::BACKWARD]);
}

#[test]
fn a_driver_that_is_absent_or_too_old_is_on_record_and_nothing_is_called() {
    let _turn = turn();
    for (library, reason) in
        [(c"/nowhere/libcuda.so.1", "cannot be opened"), (c"libc.so.6", "the driver is too old")]
    {
        device::begin_with(library, 0);
        assert!(!device::is_on());
        let recording = Recording::go_on();
        device::begin(0);
        device::boundary(STREAM, StageId::FORWARD);
        device::loss(STREAM, 0, LossKind::F32);
        let recorded = recording.finish();
        assert_eq!(recorded.troubles().len(), 1);
        assert!(recorded.troubles()[0].contains(reason), "{:?}", recorded.troubles());
        assert_eq!(recorded.lane_of("cuda:0"), None);
    }
}

#[test]
fn a_context_that_breaks_turns_device_times_off_with_the_reason() {
    let _turn = turn();
    let recording = Recording::start(0.0, 0.0);
    boundary(STREAM, StageId::FORWARD);
    sleep(Duration::from_millis(150));
    (stand_in().answer)(700);
    device::boundary(STREAM, StageId::BACKWARD);
    assert!(!device::is_on());
    let recorded = recording.finish();
    assert_eq!(recorded.troubles(), ["the driver answered CUDA_ERROR_ILLEGAL_ADDRESS"]);
    assert_eq!(recorded.boundaries().len(), 1);
}

#[test]
fn a_device_that_nobody_uses_is_left_alone_and_may_begin_later() {
    let _turn = turn();
    (stand_in().reset)(0.0, 0.0);
    (stand_in().used)(0);
    device::begin_with(&stand_in().path, 0);
    assert!(!device::is_on());
    let recording = Recording::go_on();
    (stand_in().used)(1);
    (stand_in().use_device)(0);
    device::begin(0);
    assert!(device::is_on());
    boundary(STREAM, StageId::FORWARD);
    let recorded = recording.finish();
    assert_eq!((recorded.boundaries().len(), recorded.troubles().len()), (1, 0));
}

#[test]
fn events_of_a_device_that_was_reset_are_not_touched() {
    let _turn = turn();
    let recording = Recording::start(0.0, 0.0);
    boundary(STREAM, StageId::FORWARD);
    sleep(Duration::from_millis(150));
    (stand_in().work)(STREAM, 1e9);
    boundary(STREAM, StageId::BACKWARD);
    (stand_in().used)(0);
    let recorded = recording.finish();
    assert_eq!(recorded.boundaries().len(), 1);
    assert_eq!(recorded.troubles(), ["the device was reset"]);
}

#[test]
fn boundaries_of_several_threads_are_on_record_or_counted() {
    let _turn = turn();
    let recording = Recording::start(0.0, 0.0);
    std::thread::scope(|threads| {
        for stream in 1..=3 {
            threads.spawn(move || {
                (stand_in().use_device)(0);
                (0..300).for_each(|_| device::boundary(stream, StageId::FORWARD));
            });
        }
    });
    let recorded = recording.finish();
    recorded.check_order();
    assert_eq!(recorded.boundaries().len() as u64 + recorded.missed(), 900);
}

#[test]
fn calls_that_only_ever_fail_turn_device_times_off() {
    let _turn = turn();
    let recording = Recording::start(0.0, 0.0);
    (stand_in().answer)(400);
    for _ in 0..200 {
        device::boundary(STREAM, StageId::BACKWARD);
    }
    assert!(!device::is_on());
    let recorded = recording.finish();
    assert_eq!(recorded.troubles().len(), 1);
    assert!(recorded.troubles()[0].ends_with("the last with CUDA_ERROR_INVALID_HANDLE"));
}

#[test]
fn a_driver_that_shuts_down_with_the_process_is_no_trouble() {
    let _turn = turn();
    let recording = Recording::start(0.0, 0.0);
    (stand_in().work)(STREAM, 1e10);
    boundary(STREAM, StageId::FORWARD);
    (stand_in().answer)(4);
    let before = Instant::now();
    let recorded = recording.finish();
    assert!(before.elapsed() < Duration::from_millis(500));
    assert_eq!(recorded.troubles(), [""; 0]);
    assert_eq!(recorded.missed(), 1);
}

#[test]
fn work_that_never_ends_holds_the_finish_up_for_a_second_at_most() {
    let _turn = turn();
    let recording = Recording::start(0.0, 0.0);
    boundary(STREAM, StageId::FORWARD);
    (stand_in().work)(STREAM, 1e12);
    boundary(STREAM, StageId::BACKWARD);
    let before = Instant::now();
    let recorded = recording.finish();
    assert!(before.elapsed() < Duration::from_millis(1_800), "{:?}", before.elapsed());
    assert_eq!((recorded.boundaries().len(), recorded.missed()), (1, 1));
}

#[test]
fn a_forked_child_calls_nothing_of_the_driver() {
    let _turn = turn();
    let recording = Recording::start(0.0, 0.0);
    boundary(STREAM, StageId::FORWARD);
    // SAFETY: the child calls what is tested and ends without unwinding into the test.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let before = (stand_in().calls)();
        device::begin(0);
        device::boundary(STREAM, StageId::BACKWARD);
        device::loss(STREAM, 0, LossKind::F32);
        let called = (stand_in().calls)() != before || device::is_on();
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(c_int::from(called)) };
    }
    let mut status = -1;
    // SAFETY: waits for the child above.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    boundary(STREAM, StageId::LOSS);
    assert_eq!(recording.finish().boundaries().len(), 2);
}

/// One training under random faults; gives the boundaries on record.
fn train_with_faults(seed: u64) -> usize {
    let per_mille = [2, 20, 100, 300][(seed % 4) as usize];
    (stand_in().reset)(0.0, 0.0);
    (stand_in().use_device)(0);
    if seed % 10 == 9 {
        // Also while the device begins.
        (stand_in().faults)(seed, 1);
    }
    device::begin_with(&stand_in().path, 0);
    let recording = Recording::go_on();
    (stand_in().faults)(seed, per_mille);
    let loss = 0.25_f32;
    for step in 0..300_usize {
        (stand_in().use_device)(0);
        let stream = [STREAM, OTHER][step % 2];
        (stand_in().work)(stream, 20_000.0);
        device::boundary(stream, StageId::FORWARD);
        device::loss(stream, std::ptr::from_ref(&loss) as u64, LossKind::F32);
        device::boundary(stream, StageId::BACKWARD);
    }
    if ![0, 4].contains(&(stand_in().answers)()) {
        device::boundary(STREAM, StageId::OPTIMIZER);
    }
    let was_on = device::is_on();
    let answers = (stand_in().answers)();
    let recorded = recording.finish();
    recorded.check_order();
    assert!(recorded.troubles().len() <= 1);
    if ![0, 4].contains(&answers) {
        assert!(
            !was_on && recorded.troubles().len() == 1,
            "seed {seed}: {answers} {:?}",
            recorded.troubles()
        );
    }
    recorded.boundaries().len()
}

#[test]
fn ten_thousand_random_faults_harm_nothing() {
    let _turn = turn();
    let (mut faults, mut on_record, mut seed) = (0, 0, 0);
    while faults < 10_000 {
        on_record += train_with_faults(seed);
        faults += (stand_in().injected)();
        seed += 1;
        assert!(seed < 2_000, "{faults} faults");
    }
    println!("{faults} faults in {seed} trainings, {on_record} boundaries on record");
    assert!(on_record > 1_000, "{on_record}");
}

/// The real driver, as a framework uses it.
struct RealDriver(*mut c_void);

impl RealDriver {
    fn open() -> Self {
        // SAFETY: the name ends with a zero; the driver's constructors are meant to run in any process.
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null());
        let driver = Self(library);
        let mut context = 0;
        driver.call(c"cuInit", [0; 4]);
        driver.call(c"cuDevicePrimaryCtxRetain", [&raw mut context as usize, 0, 0, 0]);
        driver.call(c"cuCtxSetCurrent", [context, 0, 0, 0]);
        driver
    }

    /// Calls a function whose arguments are all words.
    fn call(&self, name: &CStr, [one, two, three, four]: [usize; 4]) {
        type Function = extern "C" fn(usize, usize, usize, usize) -> c_int;
        // SAFETY: a C function with fewer arguments leaves the further registers alone.
        let function = unsafe { std::mem::transmute::<*mut c_void, Function>(symbol(self.0, name)) };
        assert_eq!(function(one, two, three, four), 0, "{name:?}");
    }

    /// What a function gives through its first argument.
    fn get(&self, name: &CStr, rest: [usize; 3]) -> usize {
        let mut value = 0;
        self.call(name, [&raw mut value as usize, rest[0], rest[1], rest[2]]);
        value
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_real_device_is_timed_as_its_own_synchronized_clock_has_it() {
    const BYTES: usize = 4 << 30;
    let _turn = turn();
    let driver = RealDriver::open();
    device::begin_with(c"libcuda.so.1", 0);
    let recording = Recording::go_on();
    let memory = driver.get(c"cuMemAlloc_v2", [BYTES, 0, 0]);
    let [stream, busy] = [(); 2].map(|()| driver.get(c"cuStreamCreate", [1, 0, 0]));
    let work = |stream, times| {
        (0..times).for_each(|_| driver.call(c"cuMemsetD8Async", [memory, 7, BYTES, stream]));
    };
    work(stream, 3);
    driver.call(c"cuStreamSynchronize", [stream, 0, 0, 0]);
    // The device falls far behind; its own events say when the host can know of each step's end.
    let events: Vec<usize> = (0..12).map(|_| driver.get(c"cuEventCreate", [0; 3])).collect();
    for event in &events {
        work(stream, 20);
        device::boundary(stream, StageId::FORWARD);
        driver.call(c"cuEventRecord", [*event, stream, 0, 0]);
    }
    let enqueued = now();
    let mut seen = Vec::new();
    for event in &events {
        driver.call(c"cuEventSynchronize", [*event, 0, 0, 0]);
        seen.push(now());
    }
    driver.call(c"cuMemsetD32Async", [memory, 0x3f40_0000, 1, stream]);
    device::loss(stream, memory as u64, LossKind::F32);
    // A capture while the flusher looks at events of another stream.
    work(busy, 300);
    device::boundary(busy, StageId::LOSS);
    driver.call(c"cuStreamBeginCapture_v2", [stream, 0, 0, 0]);
    work(stream, 2);
    device::boundary(stream, StageId::BACKWARD);
    sleep(Duration::from_millis(250));
    let (mut graph, mut nodes) = (0_usize, 0_usize);
    driver.call(c"cuStreamEndCapture", [stream, &raw mut graph as usize, 0, 0]);
    driver.call(c"cuGraphGetNodes", [graph, 0, &raw mut nodes as usize, 0]);
    assert_eq!(nodes, 2, "only the work is in the graph");
    let mut costs: Vec<f64> = (0..100).map(|_| real_costs(&driver, busy, events[0])).collect();
    costs.sort_by(f64::total_cmp);
    let recorded = recording.finish();
    recorded.check_order();
    assert_eq!((recorded.troubles(), recorded.missed()), (vec![], 0));
    let steps: Vec<Boundary> = recorded
        .boundaries()
        .into_iter()
        .filter(|one| one.stage == StageId::FORWARD && one.stream == 0)
        .collect();
    let late: Vec<f64> =
        steps.iter().zip(&seen).map(|(step, seen)| recorded.ns(*seen) - recorded.ns(step.done)).collect();
    let length = (recorded.ns(steps[11].done) - recorded.ns(steps[1].done)) / 10.0;
    println!(
        "steps of {:.3} ms, enqueued {:.0} ms ahead",
        length / 1e6,
        (recorded.ns(steps[11].done) - recorded.ns(enqueued)) / 1e6
    );
    println!(
        "seen by a synchronize so many us after `done`: {:.1?}",
        late.iter().map(|ns| ns / 1e3).collect::<Vec<_>>()
    );
    println!("{:.0} ns a boundary beside the driver's record", costs[50]);
    assert_eq!(steps.len(), 12);
    assert!(late.iter().all(|late| late.abs() < length / 100.0));
    let losses = recorded.records.iter().filter_map(|record| match record {
        Record::Event { event: Event::Measured { value, .. }, .. } => Some(*value),
        _ => None,
    });
    assert_eq!(losses.collect::<Vec<_>>(), [0.75]);
}

/// Nanoseconds of a boundary without those of the driver's record.
fn real_costs(driver: &RealDriver, stream: usize, event: usize) -> f64 {
    let measure = |body: &dyn Fn()| {
        let before = Instant::now();
        (0..100).for_each(|_| body());
        before.elapsed().as_nanos() as f64 / 100.0
    };
    let with = measure(&|| device::boundary(stream, StageId::FORWARD));
    sleep(Duration::from_millis(2));
    with - measure(&|| driver.call(c"cuEventRecord", [event, stream, 0, 0]))
}

#[test]
#[ignore = "measures; shows the cost of a boundary without the driver's own"]
fn what_a_boundary_costs() {
    let _turn = turn();
    let recording = Recording::start(0.0, 0.0);
    let measure = |body: &mut dyn FnMut()| {
        let before = Instant::now();
        (0..200).for_each(|_| body());
        before.elapsed().as_nanos() as f64 / 200.0
    };
    let (mut with, mut bare, mut off) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..50 {
        let mut number = 0;
        with.push(measure(&mut || device::boundary(STREAM, StageId::FORWARD)));
        bare.push(measure(&mut || {
            let driver = stand_in();
            (driver.current_device)(&raw mut number);
            (driver.is_capturing)(OTHER, &raw mut number);
            (driver.record)(1, OTHER);
        }));
        sleep(Duration::from_millis(5));
    }
    assert_eq!(recording.finish().missed(), 0);
    for _ in 0..50 {
        off.push(measure(&mut || device::boundary(STREAM, StageId::FORWARD)));
    }
    for costs in [&mut with, &mut bare, &mut off] {
        costs.sort_by(f64::total_cmp);
    }
    println!(
        "{:.0} ns a boundary, {:.0} of them the stand-in's; {:.1} when off",
        with[25], bare[25], off[25]
    );
}
