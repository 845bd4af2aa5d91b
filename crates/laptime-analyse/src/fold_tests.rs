//! Very many epochs: what is folded adds up, what a finding is about stays, and every one can be had.

use std::collections::BTreeMap;

use laptime_core::{FitFacts, Metric, Record, RunMeta, StageId, Status};

use crate::script::Script;
use crate::{Digest, EpochSummary, LapKind, Report};

/// Rows that a report has at most.
const MOST: usize = 10_000;

/// A finished fit of so many epochs of two steps, whose times and losses all differ.
fn fit_of(script: &mut Script, epochs: u64, facts: FitFacts) {
    script.fit(facts);
    for epoch in 0..epochs {
        script.epoch();
        for step in 0..2 {
            let stages =
                [(StageId::DATA_WAIT, 100 + epoch % 17), (StageId::FORWARD, 1_000 + epoch * 7 % 101)];
            script.step(&stages[..], 8 + step);
        }
        script.end_epoch().stage(StageId::EVALUATE, 50).measure(Metric::Loss, 1.0 / (1.0 + epoch as f64));
        script.pass(10 + epoch % 5);
    }
    script.end_fit();
}

fn digest_of(script: &Script) -> Digest {
    let mut digest = Digest::new(RunMeta { ranks: 1, ..RunMeta::default() });
    script.records.iter().for_each(|record| digest.take(record));
    digest
}

/// The report, and every epoch of it by itself.
fn both(script: &Script) -> (Report, Vec<EpochSummary>) {
    let digest = digest_of(script);
    let report = digest.report();
    let mut every = Vec::new();
    let mut stream = digest.every_epoch(report.epochs.clone()).unwrap();
    script.records.iter().for_each(|record| stream.take(record, &mut |epoch| every.push(epoch.clone())));
    stream.finish(&mut |window| every.push(window.clone()));
    (report, every)
}

fn stages(laps: &[EpochSummary]) -> BTreeMap<&str, f64> {
    let mut sums = BTreeMap::new();
    for (stage, seconds) in laps.iter().flat_map(|lap| &lap.stages) {
        *sums.entry(stage.as_str()).or_default() += seconds;
    }
    sums
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * other.abs().max(1e-9)
}

fn sum(laps: &[EpochSummary], of: impl Fn(&EpochSummary) -> f64) -> f64 {
    laps.iter().map(of).sum()
}

#[test]
fn folded_epochs_add_up_to_the_same_as_every_one() {
    let mut script = Script::new();
    fit_of(&mut script, 25_000, FitFacts::default());
    let (report, every) = both(script.close());
    let rows = &report.epochs;
    assert!(rows.len() <= MOST && rows.len() > MOST / 4, "{} rows", rows.len());
    assert_eq!(every.len(), 25_000);
    assert!(every.iter().all(|epoch| epoch.kind == LapKind::Epoch && epoch.count == 1));
    for of in [
        |lap: &EpochSummary| lap.count as f64,
        |lap: &EpochSummary| lap.steps as f64,
        |lap: &EpochSummary| lap.samples.unwrap_or(0) as f64,
        |lap: &EpochSummary| lap.wall_s,
        |lap: &EpochSummary| lap.evaluate_s,
    ] {
        assert!(is_near(sum(rows, of), sum(&every, of)), "{} {}", sum(rows, of), sum(&every, of));
    }
    let (folded, single) = (stages(rows), stages(&every));
    assert_eq!(folded.keys().collect::<Vec<_>>(), single.keys().collect::<Vec<_>>());
    assert!(folded.iter().all(|(stage, seconds)| is_near(*seconds, single[stage])), "{folded:?} {single:?}");
    let fit = &report.fits[0];
    let walls: Vec<f64> = every.iter().map(|epoch| epoch.wall_s).collect();
    assert_eq!((fit.epochs, fit.epoch_s.first), (25_000, Some(walls[0])));
    assert!(is_near(fit.epoch_s.mean.unwrap(), walls.iter().sum::<f64>() / 25_000.0));
    assert!(is_near(fit.epoch_s.steady.unwrap(), walls[1..].iter().sum::<f64>() / 24_999.0));
}

#[test]
fn every_row_closes_follows_the_one_before_and_has_the_loss_of_its_last_epoch() {
    let mut script = Script::new();
    fit_of(&mut script, 12_000, FitFacts::default());
    let (report, every) = both(script.close());
    let (mut epochs, mut steps) = (0, 0);
    for row in &report.epochs {
        assert_eq!((u64::from(row.index), row.first_step), (epochs, steps));
        assert!(is_near(row.stages.values().sum(), row.wall_s), "{row:?}");
        assert_eq!(row.kind == LapKind::Folded, row.count > 1);
        (epochs, steps) = (epochs + row.count, row.last_step());
        let last = &every[epochs as usize - 1];
        assert_eq!((row.loss, row.ended_s, row.last_step()), (last.loss, last.ended_s, last.last_step()));
    }
    let (first, last) = (&report.epochs[..3], &report.epochs[report.epochs.len() - 3..]);
    assert!(first.iter().chain(last).all(|row| row.count == 1), "the ends stay as they are");
    assert!(report.epochs.iter().any(|row| row.count == 2));
}

#[test]
fn ten_thousand_epochs_stay_as_they_are_and_the_stream_gives_the_same() {
    let mut script = Script::new();
    fit_of(&mut script, MOST as u64, FitFacts { epochs: Some(20_000), ..FitFacts::default() });
    let (report, every) = both(script.close());
    assert_eq!(report.epochs.len(), MOST);
    assert_eq!(format!("{:?}", report.epochs), format!("{every:?}"));
}

#[test]
fn the_epoch_that_reached_the_goal_and_the_first_without_a_finite_loss_stay_apart() {
    let mut script = Script::new();
    let settings = [("until_loss".to_owned(), "0.5".to_owned())].into();
    script.fit(FitFacts { settings, ..FitFacts::default() });
    for epoch in 0..15_000 {
        script.epoch().step(&[(StageId::FORWARD, 1_000)], 8).end_epoch();
        let loss = match epoch {
            7_001 | 9_000 => 0.25,
            8_002 | 9_500 => f64::NAN,
            _ => 1.0,
        };
        script.measure(Metric::Loss, loss);
    }
    let report = script.end_fit().close().report();
    let target = report.fits[0].target.clone().unwrap();
    assert_eq!((target.reached, target.epochs, target.steps), (true, Some(7_002), Some(7_002)));
    assert_eq!(target.best, Some(0.25));
    let lost = report.findings.iter().find(|finding| finding.id == "loss_not_a_number").unwrap();
    assert!(lost.text.contains("in epoch 8003"), "{}", lost.text);
    assert!(report.epochs.len() <= MOST);
}

#[test]
fn many_fits_share_the_room_and_those_of_few_epochs_have_nothing_to_fold() {
    let mut script = Script::new();
    (0..25).for_each(|_| fit_of(&mut script, 1_000, FitFacts::default()));
    let report = script.close().report();
    assert!(report.epochs.len() <= MOST, "{} rows", report.epochs.len());
    for fit in &report.fits {
        let rows = report.epochs.iter().filter(|row| row.fit == fit.index);
        assert_eq!((fit.epochs, rows.map(|row| row.count).sum::<u64>()), (1_000, 1_000));
    }
    let mut script = Script::new();
    (0..3_600).for_each(|_| fit_of(&mut script, 3, FitFacts::default()));
    assert!(script.close().report().epochs.iter().all(|row| row.kind == LapKind::Epoch));
}

#[test]
fn epochs_that_were_cut_short_are_counted_apart_also_when_folded() {
    let mut script = Script::new();
    script.fit(FitFacts::default());
    for epoch in 0..12_000 {
        script.epoch().step(&[(StageId::FORWARD, 1_000 + epoch % 2 * 500)], 8);
        // The end of every second epoch is never recorded.
        if epoch % 2 == 0 {
            script.end_epoch();
        }
    }
    let report = script.end_fit().close().report();
    assert_eq!((report.fits[0].epochs, report.fits[0].steps), (6_000, 12_000));
    assert!(is_near(report.fits[0].epoch_s.mean.unwrap(), 1e-6), "{:?}", report.fits[0].epoch_s);
    assert!(report.epochs.iter().any(|row| row.count > 1 && !row.complete));
}

#[test]
fn laps_of_a_fit_without_epochs_stand_before_the_epochs_of_the_next() {
    let mut script = Script::new();
    script.fit_of_steps(FitFacts::default());
    for _ in 0..40 {
        script.step(&[(StageId::FORWARD, 1_000)], 8).between_steps();
    }
    script.end_fit();
    fit_of(&mut script, 12_000, FitFacts::default());
    let (report, every) = both(script.close());
    let windows = report.epochs.iter().take_while(|lap| lap.kind == LapKind::Window).count();
    assert!(windows > 1 && every.len() == windows + 12_000);
    assert_eq!(
        format!("{:?}", every[..windows].to_vec()),
        format!("{:?}", report.epochs[..windows].to_vec())
    );
    assert!(every[windows..].iter().all(|lap| (lap.fit, lap.kind) == (1, LapKind::Epoch)));
}

#[test]
fn of_a_run_that_grew_meanwhile_the_stream_gives_what_the_report_knows() {
    let mut script = Script::new();
    fit_of(&mut script, 12_000, FitFacts::default());
    let known = script.records.len() * 11 / 12;
    let mut digest = Digest::new(RunMeta::default());
    script.records[..known].iter().for_each(|record| digest.take(record));
    digest.take(&Record::Ended { status: Status::Running });
    let report = digest.report();
    let mut every = Vec::new();
    let mut stream = digest.every_epoch(report.epochs.clone()).unwrap();
    script.records.iter().for_each(|record| stream.take(record, &mut |epoch| every.push(epoch.clone())));
    assert_eq!(every.len() as u64, report.epochs.iter().map(|row| row.count).sum::<u64>());
    let ends = |laps: &[EpochSummary]| format!("{:?}", laps[laps.len() - 3..].to_vec());
    assert_eq!(ends(&every), ends(&report.epochs));
}
