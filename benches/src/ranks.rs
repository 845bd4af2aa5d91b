//! What a report on very many ranks takes: seconds and memory.

use std::time::Instant;

use laptime_analyse::Digest;
use laptime_core::{
    Closing, CollectiveKind, Event, FitFacts, GroupFacts, LaneState, ProcessFacts, Record, RunMeta, StageId,
    StageTotal, Status, Ticks, Track, TrackKind,
};

/// The bars for 1,000 ranks.
const BAR_S: f64 = 2.0;
const BAR_MB: f64 = 200.0;
const MS: u64 = 1_000_000;
/// The rank that is late, and by how much a step.
const LATE: (u32, u64) = (617, 10 * MS);
const COMMUNICATION: u32 = 9;

/// Folds so many ranks of so many steps, each of them as it is read, and reports on all.
pub(crate) fn run(ranks: u32, steps: u32) -> anyhow::Result<()> {
    let mut digest = Digest::new(RunMeta { ranks, ..RunMeta::default() });
    let began = Instant::now();
    let mut records = 0_u64;
    for rank in 0..ranks {
        write_rank(rank, ranks, steps, &mut |record| {
            records += 1;
            digest.take_from(rank as usize, &record);
        });
    }
    let folded = began.elapsed().as_secs_f64();
    let before_mb = memory_mb("VmRSS:")?;
    let began = Instant::now();
    let report = digest.report();
    let took = began.elapsed().as_secs_f64();
    let found = report.communication.and_then(|communication| communication.straggler);
    println!("{ranks} ranks × {steps} steps, two collectives a step");
    println!(
        "  reading: {folded:.1} s for {records} records ({:.0} ns each), {before_mb:.0} MB kept of them",
        folded / records.max(1) as f64 * 1e9
    );
    println!("  report:  {took:.2} s   (bar: {BAR_S} s)");
    println!("  memory:  {:.0} MB at most   (bar: {BAR_MB} MB)", memory_mb("VmHWM:")?);
    println!("  late:    {:?}, rank {} is", found.map(|found| (found.ranks, found.stage)), LATE.0);
    Ok(())
}

fn memory_mb(field: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib: f64 = line.and_then(|line| line.split_whitespace().next()).unwrap_or("0").parse()?;
    Ok(kib * 1024.0 / 1e6)
}

/// The log of a rank, record by record.
fn write_rank(rank: u32, ranks: u32, steps: u32, sink: &mut dyn FnMut(Record)) {
    let event = |lane, event| Record::Event { lane, event };
    let facts = ProcessFacts {
        rank,
        ns_per_tick: 1.0,
        host: Some(format!("node{}", rank / 8)),
        ..Default::default()
    };
    sink(Record::Process(facts));
    sink(Record::Track { lane: 0, track: Track::thread("main"), started: Ticks(0) });
    let track = Track { kind: TrackKind::Communication, name: "between ranks".into() };
    sink(Record::Track { lane: COMMUNICATION, track, started: Ticks(0) });
    let group =
        GroupFacts { name: "0".into(), backend: "gloo".into(), ranks: (0..ranks).collect(), purpose: None };
    sink(Record::Group { group: 0, facts: group });
    sink(Record::Fit { fit: 0, facts: Box::new(FitFacts::default()) });
    sink(event(0, Event::FitBegin { fit: 0, at: Ticks(0) }));
    sink(event(0, Event::EpochBegin { epoch: 0, at: Ticks(0) }));
    let mut chance = u64::from(rank) + 1;
    let mut backward = 0;
    for step in 0..steps {
        // All are done when the late rank is: 40 ms of work, its delay and 4 ms of exchange, whoever works less.
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let noise = (chance >> 33) % (2 * MS);
        let own = 36 * MS + noise + if rank == LATE.0 { LATE.1 } else { 0 };
        let start = u64::from(step) * 60 * MS;
        let (forward, done, end) = (start + own / 3, start + 54 * MS, start + 60 * MS);
        let span = |stage, start, end| {
            event(
                0,
                Event::Span {
                    stage,
                    start: Ticks(start),
                    end: Ticks(end),
                    own: Ticks(end - start),
                    in_evaluate: false,
                },
            )
        };
        let given = |sequence, start, end| Event::Collective {
            group: 0,
            kind: CollectiveKind::AllReduce,
            sequence,
            start: Ticks(start),
            end: Ticks(end),
            bytes: 25 << 20,
        };
        sink(span(StageId::FORWARD, start, forward));
        sink(event(COMMUNICATION, given(2 * step, start + own / 2, done - 4 * MS)));
        sink(event(COMMUNICATION, given(2 * step + 1, start + own, done)));
        sink(span(StageId::BACKWARD, forward, done));
        sink(span(StageId::OPTIMIZER, done, end));
        sink(event(0, Event::Step { start: Ticks(start), end: Ticks(end), samples: 32, loss: None }));
        backward += done - forward;
    }
    let end = Ticks(u64::from(steps) * 60 * MS);
    let total = StageTotal { stage: StageId::BACKWARD, own: Ticks(backward), count: u64::from(steps) };
    sink(event(0, Event::Total(total)));
    sink(event(0, Event::EpochEnd { epoch: 0, at: end }));
    sink(event(0, Event::FitEnd { fit: 0, at: end }));
    sink(Record::State(LaneState { lane: 0, at: end, open: Vec::new(), totals: vec![total], dropped: 0 }));
    let closing =
        Closing { status: Status::Finished, message: None, spans: u64::from(steps) * 3, span_cost_ns: 20.0 };
    sink(Record::Closed { at: end, closing });
}
