//! Loaders as people see them: one that computes, one with too little, one on a GPU, one cut short.

use laptime_analyse::advise::loader_search::{Enough, Host, LoaderReport, Need, Search, Setting, Trial};

use super::loader::loader_text;
use super::style::Style;

fn trial(workers: u32, rate: f64) -> Trial {
    Trial {
        setting: Setting { workers, prefetch: (workers > 0).then_some(2), ..Setting::default() },
        samples_per_s: rate,
        error: Some(0.012),
        seconds: 1.0,
        batch_s: 32.0 / rate,
        first_batch_s: 0.009 + 0.04 * f64::from(workers),
        main_cpus: if workers == 0 { 0.99 } else { 0.04 },
        worker_cpus: 0.97 * f64::from(workers.min(2)),
        unevenness: Some(0.05),
        ended: Some(Enough::Precise),
        ..Trial::default()
    }
}

fn search() -> Search {
    let host = Host { cpus: 2, ranks: 1, memory_bytes: None, cuda: false };
    Search { host, needs: None, batches: Vec::new(), batches_per_pass: None }
}

fn text(search: &Search, trials: &[Trial], change: impl FnOnce(&mut LoaderReport)) -> String {
    let mut report = LoaderReport::of(search, trials);
    report.seconds = 14.2;
    report.needs = search.needs.map(|samples_per_s| Need { samples_per_s, run: None });
    change(&mut report);
    for width in [80, 60] {
        let drawn = loader_text(&report, &Style { width, ..Style::default() });
        assert!(drawn.lines().all(|line| line.chars().count() <= width), "{drawn}");
    }
    loader_text(&report, &Style::default())
}

#[test]
fn a_loader_that_computes() {
    let search = Search { needs: Some(1240.0), batches_per_pass: Some(20), ..search() };
    let run = Some("20260301T101500Z-3f9a2c71".to_owned());
    let trials = [trial(0, 412.0), trial(1, 398.0), trial(2, 790.0)];
    insta::assert_snapshot!(text(&search, &trials, |report| {
        report.needs = Some(Need { samples_per_s: 1240.0, run });
    }));
}

#[test]
fn a_loader_that_is_faster_than_the_model() {
    let search = Search { needs: Some(300.0), ..search() };
    insta::assert_snapshot!(text(&search, &[trial(0, 412.0), trial(1, 398.0)], |_| {}));
}

#[test]
fn a_loader_whose_workers_cost_more_than_they_bring() {
    let slower = |workers, rate| Trial {
        error: Some(0.08),
        ended: Some(Enough::Behind),
        other_cpus: 0.05,
        worker_cpus: 0.9,
        ..trial(workers, rate)
    };
    let trials = [trial(0, 329_719.0), slower(1, 71_000.0), slower(2, 118_000.0), slower(4, 119_000.0)];
    insta::assert_snapshot!(text(&search(), &trials, |_| {}));
}

#[test]
fn a_loader_that_waits_for_a_cold_disk_and_whose_search_was_cut_short() {
    let waits = |workers, rate| Trial { main_cpus: 0.02, worker_cpus: 0.1, ..trial(workers, rate) };
    let cold = Trial { disk_bytes: 120 << 20, ..waits(0, 100.0) };
    let trials = [cold, waits(1, 210.0), waits(2, 420.0), waits(4, 425.0)];
    insta::assert_snapshot!(text(&search(), &trials, |report| report.out_of_time = true));
}

#[test]
fn a_loader_beside_a_gpu_with_two_batch_sizes_and_workers_that_fail() {
    let mut search = Search { batches: vec![32, 64], ..search() };
    search.host.cuda = true;
    let with = |trial: Trial, batch, copied, pin| Trial {
        setting: Setting { batch: Some(batch), copied, pin, ..trial.setting },
        worker_cpus: 0.2,
        ..trial
    };
    let failed = Trial { failed: Some("RuntimeError: no shared memory".into()), ..trial(2, 0.0) };
    let trials = [
        with(trial(0, 400.0), 32, false, false),
        with(trial(1, 800.0), 32, false, false),
        with(failed, 32, false, false),
        with(trial(1, 810.0), 64, false, false),
        with(trial(1, 700.0), 32, true, false),
        with(trial(1, 790.0), 32, true, true),
    ];
    insta::assert_snapshot!(text(&search, &trials, |_| {}));
}
