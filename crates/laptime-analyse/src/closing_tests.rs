//! Whatever is recorded, and wherever it is cut, every ledger closes.

use std::collections::BTreeMap;

use laptime_core::{
    Anchor, Closing, Counter, Event, FitFacts, Gauge, LaneState, Metric, OpenStage, ProcessFacts, Record,
    RunMeta, Sample, StageId, StageTotal, Status, Ticks, Track, TrackKind, Trouble,
};
use proptest::prelude::*;

use crate::script::Script;
use crate::{Digest, LapKind, Report};

#[derive(Clone, Copy, Debug)]
enum Act {
    Pass(u64),
    Begin(u16),
    End,
    Fit,
    FitOfSteps,
    Cut,
    Epoch,
    Step,
    State,
    Full(bool),
    /// Does nothing without a device.
    Boundary(u16, u16),
    Work(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0_u64..1_000_000).prop_map(Act::Pass),
        4 => prop_oneof![2_u16..12, 32_u16..36].prop_map(Act::Begin),
        4 => Just(Act::End),
        1 => Just(Act::Fit),
        1 => Just(Act::FitOfSteps),
        2 => Just(Act::Cut),
        2 => Just(Act::Epoch),
        2 => Just(Act::Step),
        1 => Just(Act::State),
        1 => any::<bool>().prop_map(Act::Full),
    ]
}

fn act_on_device() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => act(),
        2 => (0_u16..3, prop_oneof![0_u16..20, 32_u16..34]).prop_map(|(stream, stage)| Act::Boundary(stream, stage)),
        2 => (0_u64..3_000_000).prop_map(Act::Work),
    ]
}

fn play(script: &mut Script, act: Act) {
    match act {
        Act::Pass(ticks) => script.pass(ticks),
        Act::Begin(stage) => script.begin(StageId(stage)),
        Act::End => script.end(),
        Act::Fit | Act::FitOfSteps if script.in_epoch => script.end_epoch(),
        Act::Fit | Act::FitOfSteps if script.in_fit => script.end_fit(),
        Act::FitOfSteps => script.fit_of_steps(FitFacts::default()),
        Act::Cut => script.between_steps(),
        Act::Fit => script.fit(FitFacts::default()),
        Act::Epoch if script.in_epoch => script.end_epoch(),
        Act::Epoch if script.in_fit => script.epoch(),
        Act::Epoch => script,
        Act::Step => script.step(&[(StageId::DATA_WAIT, 300), (StageId::FORWARD, 700)], 4),
        Act::State => script.state(),
        Act::Full(full) => {
            script.full = full;
            script
        }
        Act::Boundary(stream, stage) => script.boundary_of(stream, StageId(stage)),
        Act::Work(ticks) => script.launch(0, StageId::FORWARD, ticks / 3, ticks),
    };
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs().max(1e-9)
}

/// What must hold of every report, whatever it was made from.
fn check(report: &Report) {
    let sum: f64 = report.ledger.iter().map(|row| row.seconds).sum();
    assert!(near(sum, report.wall_s), "the ledger sums to {sum}, the wall time is {}", report.wall_s);
    let tracks = report.tracks.iter().flat_map(|track| &track.ledger);
    for row in report.ledger.iter().chain(tracks) {
        assert!(row.seconds >= 0.0 && (0.0..=1.0).contains(&row.share), "{row:?}");
    }
    assert_eq!(report.ledger.last().unwrap().stage, "unaccounted");
    for epoch in &report.epochs {
        let sum: f64 = epoch.stages.values().sum();
        assert!(near(sum, epoch.wall_s), "epoch {epoch:?}");
    }
    let laps = report.epochs.iter().chain(&report.stretches).map(|lap| (&lap.device_stages, lap.wall_s));
    let fits = report.fits.iter().map(|fit| (&fit.device_stages, fit.wall_s));
    for (rows, wall_s) in laps.chain(fits) {
        let Some(rows) = rows else { continue };
        assert!(
            near(rows.values().sum(), wall_s) && rows.values().all(|row| *row >= 0.0),
            "{rows:?} {wall_s}"
        );
    }
    for stretch in &report.stretches {
        assert!(near(stretch.stages.values().sum(), stretch.wall_s), "stretch {stretch:?}");
    }
    for fit in &report.fits {
        assert!(near(fit.stages.values().sum(), fit.wall_s), "fit {fit:?}");
    }
    for track in &report.tracks {
        assert!(near(track.ledger.iter().map(|row| row.seconds).sum(), track.wall_s), "{track:?}");
    }
    let text = format!("{report:?}");
    let odd = |word: &str| word == "NaN" || word == "inf";
    assert!(!text.split(|letter: char| !letter.is_alphanumeric()).any(odd), "{text}");
    assert!(!report.findings.is_empty());
}

fn seconds(truth: &BTreeMap<StageId, u64>) -> BTreeMap<String, f64> {
    let name = |stage: &StageId| stage.built_in_name().map_or(format!("stage {}", stage.0), str::to_owned);
    truth
        .iter()
        .filter(|(_, ticks)| **ticks > 0)
        .map(|(stage, ticks)| (name(stage), *ticks as f64 * 1e-9))
        .collect()
}

fn assert_same(found: &BTreeMap<String, f64>, truth: &BTreeMap<StageId, u64>) {
    let truth = seconds(truth);
    assert_eq!(found.keys().collect::<Vec<_>>(), truth.keys().collect::<Vec<_>>());
    assert!(
        found.values().zip(truth.values()).all(|(found, truth)| near(*found, *truth)),
        "{found:?} {truth:?}"
    );
}

/// When the device had done what it was given until the begin and the end of every epoch that ended.
fn epoch_bounds(script: &Script) -> Vec<(u64, u64)> {
    let events = || {
        script.records.iter().filter_map(|record| match record {
            Record::Event { event, .. } => Some(*event),
            _ => None,
        })
    };
    let done = |at: Ticks| {
        let passed = events().filter_map(|event| match event {
            Event::Boundary { host, done, .. } if host <= at => Some(done),
            _ => None,
        });
        passed.max().unwrap_or(at).max(at).0
    };
    let (mut began, mut bounds) = (0, Vec::new());
    for event in events() {
        match event {
            Event::EpochBegin { at, .. } => began = done(at),
            Event::EpochEnd { at, .. } => bounds.push((began, done(at))),
            _ => {}
        }
    }
    bounds
}

/// Where the time between the cuts of a fit went that are laps: nothing where no step ended.
fn trained(script: &Script, fit: u32) -> BTreeMap<StageId, u64> {
    let mut truth = BTreeMap::new();
    let (mut any, mut steps) = (false, 0);
    for part in script.between.iter().filter(|part| part.fit == fit) {
        let spent = |stage| part.truth.get(&stage).is_some_and(|ticks| *ticks > 0);
        let paused = spent(StageId::EVALUATE) || spent(StageId::CHECKPOINT);
        let is_open = !part.is_last && std::ptr::eq(part, script.between.last().unwrap());
        let pauses = part.steps == 0 && (part.is_last || paused && (any || !is_open));
        if pauses {
            continue;
        }
        (any, steps) = (true, steps + part.steps);
        for (stage, ticks) in &part.truth {
            let stage = if *stage == StageId::BETWEEN_EPOCHS { StageId::UNACCOUNTED } else { *stage };
            *truth.entry(stage).or_default() += ticks;
        }
    }
    if steps > 0 { truth } else { BTreeMap::new() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_killed_run_tells_where_every_tick_went(acts in prop::collection::vec(act(), 0..120), finished: bool) {
        let mut script = Script::new();
        acts.into_iter().for_each(|act| play(&mut script, act));
        if finished { script.close() } else { script.cut(Status::Killed) };
        let report = script.report();
        check(&report);
        let mut truth = script.truth.clone();
        if report.fits.is_empty() {
            let lost = truth.remove(&StageId::START_UP).unwrap_or(0);
            let lost = lost + truth.remove(&StageId::BETWEEN_EPOCHS).unwrap_or(0);
            *truth.entry(StageId::UNACCOUNTED).or_default() += lost;
        }
        let rows = report.ledger.iter().filter(|row| row.seconds > 0.0);
        assert_same(&rows.map(|row| (row.stage.clone(), row.seconds)).collect(), &truth);
        let epochs = report.epochs.iter().filter(|lap| lap.kind == LapKind::Epoch);
        for (epoch, truth) in epochs.clone().zip(&script.epochs) {
            assert_same(&epoch.stages, truth);
        }
        assert_eq!(epochs.count(), script.epochs.len());
    }

    #[test]
    fn windows_hold_every_step_and_all_time_that_is_not_a_pause(
        acts in prop::collection::vec(act(), 0..120), finished: bool, lap in prop::option::of(1_u64..9)
    ) {
        let mut script = Script::new();
        acts.into_iter().filter(|act| !matches!(act, Act::Epoch)).for_each(|act| play(&mut script, act));
        if finished { script.close() } else { script.cut(Status::Killed) };
        let mut digest = Digest::new(RunMeta::default()).with_lap(lap);
        script.records.iter().for_each(|record| digest.take(record));
        let report = digest.report();
        check(&report);
        for fit in &report.fits {
            let windows = || report.epochs.iter().filter(|lap| lap.fit == fit.index);
            assert_eq!(windows().map(|window| window.steps).sum::<u64>(), fit.steps);
            let mut found: BTreeMap<String, f64> = BTreeMap::new();
            for (stage, seconds) in windows().flat_map(|window| &window.stages) {
                *found.entry(stage.clone()).or_default() += seconds;
            }
            assert_same(&found, &trained(&script, fit.index));
        }
    }

    #[test]
    fn a_log_cut_after_any_record_closes(acts in prop::collection::vec(act(), 0..60), cut in 0.0..1.0_f64) {
        let mut script = Script::new();
        acts.into_iter().for_each(|act| play(&mut script, act));
        script.close();
        let keep = (script.records.len() as f64 * cut) as usize;
        script.records.truncate(keep);
        script.records.push(Record::Ended { status: Status::Killed });
        check(&script.report());
    }

    #[test]
    fn whatever_a_device_does_every_ledger_closes_and_laps_never_overlap(
        acts in prop::collection::vec(act_on_device(), 0..160), cut in 0.0..1.5_f64, on_device_from in 0_usize..20
    ) {
        let mut script = Script::new();
        for (at, act) in acts.into_iter().enumerate() {
            if at == on_device_from {
                script.on_device();
            }
            play(&mut script, act);
        }
        script.close();
        let keep = (script.records.len() as f64 * cut) as usize;
        if keep < script.records.len() {
            script.records.truncate(keep);
            script.records.push(Record::Ended { status: Status::Killed });
        }
        let report = script.report();
        check(&report);
        let epochs: Vec<_> = report.epochs.iter().filter(|lap| lap.kind == LapKind::Epoch).collect();
        for two in epochs.windows(2).filter(|two| two[0].fit == two[1].fit) {
            let (ended, next) = (two[0].ended_s.unwrap(), two[1].ended_s.map(|ended| ended - two[1].wall_s));
            assert!(next.is_none_or(|began| ended <= began + 1e-9), "{two:?}");
        }
        if let Some(rows) = &report.device_ledger {
            let wall: f64 = rows.iter().map(|row| row.seconds).sum();
            assert!(near(wall, report.wall_s), "{rows:?}");
        }
    }

    #[test]
    fn the_hosts_ledger_of_an_epoch_is_what_the_host_did_until_the_device_was_done(
        acts in prop::collection::vec(act_on_device(), 0..160)
    ) {
        let mut script = Script::new();
        script.on_device();
        let is_lossless = |act: &Act| !matches!(act, Act::Full(_) | Act::FitOfSteps | Act::Boundary(1.., _));
        for act in acts.into_iter().filter(is_lossless) {
            // What follows a fit is called otherwise when another one begins.
            let is_another = matches!(act, Act::Fit) && !script.in_fit && !script.between.is_empty();
            if is_another {
                continue;
            }
            if matches!(act, Act::Epoch | Act::Fit) {
                script.boundary(StageId::PREPARE);
            }
            play(&mut script, act);
        }
        script.close();
        let report = script.report();
        check(&report);
        let bounds = epoch_bounds(&script);
        let complete = report.epochs.iter().filter(|lap| lap.complete && lap.kind == LapKind::Epoch);
        for (epoch, (began, ended)) in complete.zip(bounds) {
            let mut truth: BTreeMap<StageId, u64> = BTreeMap::new();
            for (from, until, stage) in &script.timeline {
                let length = (*until).min(ended).saturating_sub((*from).max(began));
                *truth.entry(*stage).or_default() += length;
            }
            // Whether a fit follows is not known when one ends.
            let torn = truth.remove(&StageId::TEAR_DOWN).unwrap_or(0);
            *truth.entry(StageId::BETWEEN_EPOCHS).or_default() += torn;
            let mut stages = epoch.stages.clone();
            let torn = stages.remove("tear_down").unwrap_or(0.0);
            if torn > 0.0 {
                *stages.entry("between_epochs".into()).or_default() += torn;
            }
            assert_same(&stages, &truth);
        }
    }

    #[test]
    fn records_that_make_no_sense_never_panic_and_still_close(records in prop::collection::vec(record(), 0..80)) {
        let mut digest = Digest::new(RunMeta { started_real_ns: u64::MAX, ..RunMeta::default() });
        for record in &records {
            digest.take(record);
        }
        check(&digest.report());
    }
}

fn ticks() -> impl Strategy<Value = Ticks> {
    let wild = prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(u64::MAX / 2), any::<u64>()];
    prop_oneof![3 => 0_u64..10_000, 1 => wild].prop_map(Ticks)
}

fn stage() -> impl Strategy<Value = StageId> {
    prop_oneof![4 => 0_u16..40, 1 => any::<u16>()].prop_map(StageId)
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 0_u32..3, 1 => any::<u32>()]
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-1.0), Just(f64::MAX), 0.0..2.0]
}

fn total() -> impl Strategy<Value = StageTotal> {
    (stage(), ticks(), any::<u64>()).prop_map(|(stage, own, count)| StageTotal { stage, own, count })
}

fn event() -> impl Strategy<Value = Event> {
    let metric = prop::sample::select(Metric::ALL.to_vec());
    let counter = prop::sample::select(Counter::ALL.to_vec());
    prop_oneof![
        (stage(), ticks(), ticks(), ticks(), any::<bool>()).prop_map(
            |(stage, start, end, own, in_evaluate)| Event::Span { stage, start, end, own, in_evaluate }
        ),
        (ticks(), ticks(), any::<u32>(), value()).prop_map(|(start, end, samples, loss)| Event::Step {
            start,
            end,
            samples,
            loss: Some(loss)
        }),
        (number(), ticks()).prop_map(|(fit, at)| Event::FitBegin { fit, at }),
        (number(), ticks()).prop_map(|(fit, at)| Event::FitEnd { fit, at }),
        (number(), ticks()).prop_map(|(epoch, at)| Event::EpochBegin { epoch, at }),
        (number(), ticks()).prop_map(|(epoch, at)| Event::EpochEnd { epoch, at }),
        ticks().prop_map(|at| Event::Cut { at }),
        (0_u16..3, stage(), ticks(), ticks()).prop_map(|(stream, stage, host, done)| Event::Boundary {
            stream,
            stage,
            host,
            done
        }),
        total().prop_map(Event::Total),
        (counter, ticks(), any::<u64>()).prop_map(|(counter, at, amount)| Event::Count {
            counter,
            at,
            amount
        }),
        (metric, ticks(), value()).prop_map(|(metric, at, value)| Event::Measured { metric, at, value }),
    ]
}

fn state() -> impl Strategy<Value = LaneState> {
    let open =
        (stage(), ticks(), ticks()).prop_map(|(stage, start, children)| OpenStage { stage, start, children });
    let (open, totals) = (prop::collection::vec(open, 0..5), prop::collection::vec(total(), 0..5));
    (number(), ticks(), open, totals, any::<u64>()).prop_map(|(lane, at, open, totals, dropped)| LaneState {
        lane,
        at,
        open,
        totals,
        dropped,
    })
}

fn facts() -> impl Strategy<Value = FitFacts> {
    let amount = || prop::option::of(prop_oneof![Just(0), Just(u64::MAX), 1_u64..50]);
    (amount(), amount(), amount(), amount()).prop_map(|(rows, batch, epochs, parameters)| FitFacts {
        rows,
        batch,
        epochs,
        parameters,
        ..FitFacts::default()
    })
}

fn record() -> impl Strategy<Value = Record> {
    let gauge = (prop::sample::select(Gauge::ALL.to_vec()), any::<u64>());
    let sample = (ticks(), prop::collection::vec(gauge, 0..4));
    let anchor = (ticks(), any::<u64>(), any::<u64>(), any::<u64>());
    prop_oneof![
        1 => (ticks(), value()).prop_map(|(started, ns_per_tick)| {
            Record::Process(ProcessFacts { started, ns_per_tick, ..ProcessFacts::default() })
        }),
        1 => (stage(), "[a-c]{0,2}").prop_map(|(stage, name)| Record::Stage { stage, name }),
        1 => (number(), prop::sample::select(TrackKind::ALL.to_vec()), ticks()).prop_map(
            |(lane, kind, started)| Record::Track { lane, track: Track { kind, name: "t".into() }, started }
        ),
        2 => (number(), facts()).prop_map(|(fit, facts)| Record::Fit { fit, facts: Box::new(facts) }),
        20 => (number(), event()).prop_map(|(lane, event)| Record::Event { lane, event }),
        4 => state().prop_map(Record::State),
        1 => sample.prop_map(|(at, readings)| Record::Sample(Sample { at, readings })),
        1 => anchor.prop_map(|(ticks, monotonic_ns, real_ns, boot_ns)| {
            Record::Anchor(Anchor { ticks, monotonic_ns, real_ns, boot_ns })
        }),
        1 => any::<u64>().prop_map(|threads| Record::Trouble(Trouble::ThreadsNotRecorded { threads })),
        1 => (ticks(), value(), any::<u64>()).prop_map(|(at, span_cost_ns, spans)| Record::Closed {
            at,
            closing: Closing { status: Status::Failed, message: None, spans, span_cost_ns },
        }),
        1 => Just(Record::Ended { status: Status::Running }),
    ]
}
