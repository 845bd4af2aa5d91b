//! A small run with every kind of record, the same each time; and what it was in version 1.

use std::path::Path;

use laptime_core::{
    Anchor, Closing, CollectiveKind, Counter, DeviceFacts, Event, FitFacts, Gauge, GroupFacts, LaneState,
    LayerFacts, Metric, OpenStage, ProcessFacts, Record, RunMeta, Sample, StageId, StageTotal, Status, Ticks,
    Track, TrackKind, Trouble,
};
use laptime_store::{LogWriter, RealDisk, RunReader};

pub(crate) fn anchor(seconds: u64) -> Anchor {
    let ns = seconds * 1_000_000_000;
    Anchor {
        ticks: Ticks(2 * ns),
        monotonic_ns: ns,
        real_ns: 1_790_000_000_000_000_000 + ns,
        boot_ns: ns + 5,
    }
}

pub(crate) fn records() -> Vec<Record> {
    vec![
        Record::Process(ProcessFacts {
            rank: 0,
            pid: 4242,
            boot_id: "00000000-1111-2222-3333-444444444444".into(),
            pid_start: 777,
            clock: "tsc".into(),
            ns_per_tick: 0.5,
            started: Ticks(1_000),
            ring: None,
            ..ProcessFacts::default()
        }),
        Record::Anchor(anchor(1)),
        Record::Stage { stage: StageId(32), name: "augment \u{1f3c1}".into() },
        Record::Track { lane: 0, track: Track::thread("main"), started: Ticks(1_000) },
        Record::Fit {
            fit: 0,
            facts: Box::new(FitFacts {
                label: "mlp".into(),
                framework: Some("burn".into()),
                rows: Some(100),
                batch: Some(50),
                epochs: Some(1),
                steps_per_epoch: Some(2),
                parameters: Some(705),
                settings: [("optimizer".to_owned(), "adam".to_owned())].into(),
                ..FitFacts::default()
            }),
        },
        Record::Sample(Sample {
            at: Ticks(2_000),
            readings: vec![(Gauge::ResidentBytes, 1 << 26), (Gauge::CpuUserNs, 9)],
        }),
        Record::State(LaneState {
            lane: 0,
            at: Ticks(9_000),
            open: vec![OpenStage { stage: StageId::TEAR_DOWN, start: Ticks(8_500), children: Ticks(0) }],
            totals: vec![StageTotal { stage: StageId::FORWARD, own: Ticks(600), count: 2 }],
            dropped: 3,
        }),
        Record::Trouble(Trouble::RingNotKept { because: "shared memory is scarce".into() }),
    ]
}

pub(crate) fn events() -> Vec<Event> {
    let step = |start, end, loss| Event::Step { start: Ticks(start), end: Ticks(end), samples: 50, loss };
    let span = |stage, start, end, own, in_evaluate| Event::Span {
        stage,
        start: Ticks(start),
        end: Ticks(end),
        own: Ticks(own),
        in_evaluate,
    };
    vec![
        Event::FitBegin { fit: 0, at: Ticks(3_000) },
        Event::EpochBegin { epoch: 0, at: Ticks(3_100) },
        span(StageId(32), 3_200, 3_300, 100, false),
        span(StageId::FORWARD, 3_150, 3_500, 250, false),
        step(3_110, 4_000, Some(0.75)),
        span(StageId::FORWARD, 4_100, 4_400, 300, true),
        step(4_000, 5_000, None),
        Event::Count { counter: Counter::BatchBytes, at: Ticks(5_001), amount: 12_345_678_901 },
        Event::Total(StageTotal { stage: StageId::FORWARD, own: Ticks(600), count: 2 }),
        Event::EpochEnd { epoch: 0, at: Ticks(5_100) },
        Event::Measured { metric: Metric::ValidationLoss, at: Ticks(5_200), value: 0.5 },
        Event::FitEnd { fit: 0, at: Ticks(5_300) },
    ]
}

/// What version 2 has that version 1 had not.
fn records_of_version_2() -> Vec<Record> {
    vec![
        Record::Import { name: "torch".into(), length: Ticks(500) },
        Record::Fit {
            fit: 0,
            facts: Box::new(FitFacts {
                framework_version: Some("0.22".into()),
                device: Some("cpu".into()),
                steps: Some(2),
                plan_source: Some("range(1)".into()),
                compiled_functions: vec!["train_step".into()],
                ..FitFacts::default()
            }),
        },
        Record::Trouble(Trouble::HookOff { hook: "torch.save".into(), because: "it is gone".into() }),
    ]
}

fn events_of_version_2() -> Vec<Event> {
    vec![
        Event::Cut { at: Ticks(5_400) },
        Event::Count { counter: Counter::Tokens, at: Ticks(5_401), amount: 2_048 },
    ]
}

/// What version 3 has that version 2 had not.
fn records_of_version_3() -> Vec<Record> {
    let kinds = TrackKind::ALL.into_iter().filter(|kind| *kind != TrackKind::Thread);
    let track = |(lane, kind)| Record::Track {
        lane,
        track: Track { kind, name: format!("track {lane}") },
        started: Ticks(1_000),
    };
    (1..).zip(kinds).map(track).collect()
}

/// What version 4 has that version 3 had not.
fn records_of_version_4() -> Vec<Record> {
    let memory_bytes = Some(150_754_820_096);
    let facts = DeviceFacts { name: "NVIDIA H200".into(), memory_bytes, driver: Some("580.159.04".into()) };
    let layer = LayerFacts {
        name: "0.conv1".into(),
        kind: "Conv2d".into(),
        parameters: 9_408,
        flops: Some(236_027_904),
        steps: 5,
        calls: 5,
        forward_s: 0.25,
        backward_s: Some(0.5),
        device_forward_s: Some(0.125),
        device_backward_s: None,
    };
    vec![Record::Device { lane: 1, facts }, Record::Layer { fit: 0, facts: Box::new(layer) }]
}

fn events_of_version_4() -> Vec<Event> {
    let boundary =
        |stage, host, done| Event::Boundary { stream: 0, stage, host: Ticks(host), done: Ticks(done) };
    vec![
        boundary(StageId::FORWARD, 3_150, 3_160),
        boundary(StageId::DEVICE_WAIT, 3_500, 4_900),
        Event::Measured { metric: Metric::Loss, at: Ticks(3_400), value: 0.75 },
    ]
}

/// What version 5 has that version 4 had not.
fn records_of_version_5() -> Vec<Record> {
    let ranks = vec![0, 1, 2, 3];
    let facts = GroupFacts {
        name: "dp".into(),
        backend: "gloo".into(),
        ranks,
        purpose: Some("data parallel".into()),
    };
    vec![Record::Group { group: 1, facts }]
}

fn events_of_version_5() -> Vec<Event> {
    vec![Event::Collective {
        group: 1,
        kind: CollectiveKind::AllReduce,
        sequence: 7,
        start: Ticks(4_150),
        end: Ticks(4_700),
        bytes: 26_214_400,
    }]
}

pub(crate) fn closed() -> Record {
    let closing = Closing { status: Status::Finished, message: None, spans: 3, span_cost_ns: 19.5 };
    Record::Closed { at: Ticks(9_500), closing }
}

/// Writes the story into a run's folder: eight blocks.
pub(crate) fn write(run: &Path) {
    let meta = RunMeta { id: "20260922T002640Z-0badcafe".into(), name: "story".into(), ..RunMeta::default() };
    std::fs::create_dir_all(run).unwrap();
    std::fs::write(run.join("run.json"), serde_json::to_vec_pretty(&meta).unwrap()).unwrap();
    let mut writer = LogWriter::new(Box::new(RealDisk), run, 0);
    for record in records() {
        writer.put(&record);
    }
    writer.flush(&anchor(2));
    writer.put_events(0, 0, &events()[..5]);
    writer.flush(&anchor(3));
    writer.put_events(0, 5, &events()[5..]);
    writer.flush(&anchor(4));
    records_of_version_2().iter().for_each(|record| writer.put(record));
    writer.put_events(0, events().len() as u64, &events_of_version_2());
    writer.flush(&anchor(5));
    records_of_version_3().iter().for_each(|record| writer.put(record));
    writer.flush(&anchor(6));
    records_of_version_4().iter().for_each(|record| writer.put(record));
    writer.put_events(1, 0, &events_of_version_4());
    writer.flush(&anchor(7));
    records_of_version_5().iter().for_each(|record| writer.put(record));
    writer.put_events(2, 0, &events_of_version_5());
    writer.flush(&anchor(8));
    writer.put(&closed());
    writer.flush(&anchor(9));
    assert!(writer.into_unsaved().is_none());
}

/// Everything the story's log says, in order.
pub(crate) fn expected() -> Vec<Record> {
    let mut all = expected_of_version_4();
    let closed = all.pop();
    all.extend(records_of_version_5());
    all.extend(events_of_version_5().into_iter().map(|event| Record::Event { lane: 2, event }));
    all.extend(closed);
    all
}

/// Everything it said in version 4.
pub(crate) fn expected_of_version_4() -> Vec<Record> {
    let mut all = expected_of_version_3();
    let closed = all.pop();
    all.extend(records_of_version_4());
    all.extend(events_of_version_4().into_iter().map(|event| Record::Event { lane: 1, event }));
    all.extend(closed);
    all
}

/// Everything it said in version 3.
pub(crate) fn expected_of_version_3() -> Vec<Record> {
    let mut all = expected_of_version_2();
    let closed = all.pop();
    all.extend(records_of_version_3());
    all.extend(closed);
    all
}

/// Everything it said in version 2.
pub(crate) fn expected_of_version_2() -> Vec<Record> {
    let mut all = expected_of_version_1();
    let closed = all.pop();
    all.extend(records_of_version_2());
    all.extend(events_of_version_2().into_iter().map(|event| Record::Event { lane: 0, event }));
    all.extend(closed);
    all
}

/// Everything it said in version 1.
pub(crate) fn expected_of_version_1() -> Vec<Record> {
    let mut all = records();
    all.extend(events().into_iter().map(|event| Record::Event { lane: 0, event }));
    all.push(closed());
    all
}

/// Everything a run's folder says now.
pub(crate) fn read(run: &Path) -> Vec<Record> {
    let mut found = Vec::new();
    RunReader::open(run).unwrap().poll(&mut |_, record| found.push(record)).unwrap();
    found
}
