//! Whole searches over loaders that are written down: what each is measured at, and what is chosen.

use super::*;

/// Samples a second of one process that does nothing else.
const ONE: f64 = 400.0;

fn host(cpus: u32) -> Host {
    Host { cpus, ranks: 1, memory_bytes: Some(16 << 30), cuda: false }
}

fn search(cpus: u32) -> Search {
    Search { host: host(cpus), needs: None, batches: Vec::new(), batches_per_pass: None }
}

/// What a loader does with a setting: samples a second, CPUs of the main process and of the workers.
type Script = fn(Setting, &Host) -> (f64, f64, f64);

fn computes(setting: Setting, host: &Host) -> (f64, f64, f64) {
    let workers = setting.workers.min(host.cpus);
    match workers {
        0 => (ONE, 1.0, 0.0),
        _ => (ONE * 0.97 * f64::from(workers), 0.02, f64::from(workers) * 0.98),
    }
}

fn waits(setting: Setting, _: &Host) -> (f64, f64, f64) {
    let workers = f64::from(setting.workers.max(1));
    (ONE * workers, 0.02, 0.03 * workers)
}

/// As `waits`, from a disk that gives no more than six and a half of them.
fn shares_a_disk(setting: Setting, host: &Host) -> (f64, f64, f64) {
    let (rate, main, workers) = waits(setting, host);
    (rate.min(ONE * 6.5), main, workers)
}

fn is_tiny(setting: Setting, _: &Host) -> (f64, f64, f64) {
    match setting.workers {
        0 => (300_000.0, 1.0, 0.0),
        workers => (70_000.0 * f64::from(workers.min(2)), 0.6, f64::from(workers.min(2)) * 0.4),
    }
}

/// Makes the trial of a script; every other rate is `noise` above, the rest below.
fn trial(script: Script, search: &Search, setting: Setting, at: usize, noise: f64) -> Trial {
    let (rate, main_cpus, worker_cpus) = script(setting, &search.host);
    let sign = if (at * 7 + setting.workers as usize * 3) % 4 < 2 { 1.0 } else { -1.0 };
    Trial {
        setting,
        samples_per_s: rate * (1.0 + sign * noise),
        error: Some(noise.max(0.01)),
        seconds: 1.0,
        batch_s: 32.0 / rate,
        first_batch_s: 0.05,
        main_cpus,
        worker_cpus,
        unevenness: Some(0.05),
        ended: Some(Enough::Precise),
        ..Trial::default()
    }
}

fn conducted(search: &Search, mut make: impl FnMut(Setting, usize) -> Trial) -> (Vec<Trial>, Choice) {
    let mut trials = Vec::new();
    while let Some((setting, _)) = search.next(&trials) {
        trials.push(make(setting, trials.len()));
        assert!(trials.len() < 60, "it never ends: {:?}", workers(&trials));
    }
    let choice = search.choice(&trials).unwrap();
    (trials, choice)
}

fn of_script(search: &Search, script: Script) -> (Vec<Trial>, Choice) {
    conducted(search, |setting, at| trial(script, search, setting, at, 0.0))
}

fn workers(trials: &[Trial]) -> Vec<u32> {
    trials.iter().map(|trial| trial.setting.workers).collect()
}

#[test]
fn a_loader_that_computes_gets_as_many_workers_as_cpus_and_no_more_are_tried() {
    let (trials, choice) = of_script(&search(2), computes);
    assert_eq!(workers(&trials), [0, 1, 2]);
    assert_eq!((choice.point.setting.workers, choice.more), (2, None));
    assert!(matches!(choice.limit, Limit::Cpus { cpus: 2, used, .. } if used > 1.9), "{:?}", choice.limit);
    assert!((choice.over_no_workers.unwrap() - 1.94).abs() < 1e-9);
    let (trials, choice) = of_script(&search(6), computes);
    assert_eq!((workers(&trials), choice.point.setting.workers), (vec![0, 1, 2, 4, 6], 6));
}

#[test]
fn a_loader_that_waits_gets_more_workers_than_there_are_cpus() {
    let (trials, choice) = of_script(&search(2), waits);
    assert_eq!(workers(&trials), [0, 1, 2, 4, 8]);
    assert_eq!(choice.point.setting.workers, 8);
    assert_eq!(choice.limit, Limit::Bound { most: 8, by: Bound::Cpus });
}

#[test]
fn what_workers_share_ends_their_use_and_the_fewest_that_reach_it_are_chosen() {
    let (trials, choice) = of_script(&search(4), shares_a_disk);
    assert_eq!(workers(&trials)[..7], [0, 1, 2, 4, 8, 16, 7], "{:?}", workers(&trials));
    assert_eq!(choice.point.setting.workers, 7);
    assert!(matches!(choice.limit, Limit::Waiting { each } if each < 0.1), "{:?}", choice.limit);
    assert_eq!(choice.more.unwrap().workers, 8);
}

#[test]
fn too_many_workers_that_hinder_each_other_let_a_number_between_be_tried() {
    let (trials, choice) = of_script(&search(4), |setting, host| match setting.workers {
        10.. => (ONE * 7.2, 0.02, 0.3),
        _ => waits(setting, host),
    });
    assert!(workers(&trials).contains(&12), "{:?}", workers(&trials));
    assert_eq!(choice.point.setting.workers, 8);
}

#[test]
fn workers_that_cost_more_than_they_bring_are_not_chosen() {
    let (trials, choice) = of_script(&search(16), is_tiny);
    assert_eq!(workers(&trials), [0, 1, 2, 4]);
    assert_eq!(choice.point.setting, Setting::default());
    assert_eq!(choice.limit, Limit::HandingOver { workers: 2, samples_per_s: 140_000.0 });
}

#[test]
fn noise_of_three_percent_costs_no_more_than_five_of_a_hundred_of_the_rate() {
    for (script, best) in [(computes as Script, 4.0 * ONE * 0.97), (waits, 16.0 * ONE), (is_tiny, 300_000.0)]
    {
        for noise in [0.01, 0.02, 0.03] {
            let search = search(4);
            let (_, choice) = conducted(&search, |setting, at| trial(script, &search, setting, at, noise));
            let (rate, _, _) = script(choice.point.setting, &search.host);
            assert!(rate >= best * 0.95, "{noise}: {:?}", choice.point.setting);
        }
    }
}

#[test]
fn the_cheapest_setting_that_the_model_does_not_wait_for_ends_the_search() {
    let needs = Search { needs: Some(ONE * 2.7), ..search(16) };
    let (trials, choice) = of_script(&needs, waits);
    assert_eq!(workers(&trials), [0, 1, 2, 4, 3], "4 are enough, and 3 may be");
    assert_eq!((choice.point.setting.workers, choice.meets_need), (3, Some(true)));
    assert_eq!(choice.limit, Limit::NeedMet);
}

#[test]
fn loading_between_the_steps_is_no_wait_only_where_it_takes_next_to_nothing() {
    // Without workers a loader twice as fast as the model adds half of its time to every step.
    let modest = Search { needs: Some(ONE / 2.0), ..search(4) };
    assert_eq!(of_script(&modest, computes).1.point.setting.workers, 1);
    let slow_model = Search { needs: Some(ONE / 100.0), ..search(4) };
    let (trials, choice) = of_script(&slow_model, computes);
    assert_eq!((workers(&trials), choice.limit), (vec![0], Limit::NeedMet));
}

#[test]
fn a_need_that_nothing_meets_is_said_to_be_unmet() {
    let needs = Search { needs: Some(ONE * 100.0), ..search(2) };
    let (_, choice) = of_script(&needs, computes);
    assert_eq!((choice.point.setting.workers, choice.meets_need), (2, Some(false)));
}

#[test]
fn ranks_memory_and_short_passes_bound_the_workers() {
    let most = |search: &Search| *search.rungs(&[]).last().unwrap();
    assert_eq!(most(&search(8)), 32);
    assert_eq!(most(&Search { host: Host { ranks: 4, ..host(8) }, ..search(8) }), 8);
    assert_eq!(most(&Search { batches_per_pass: Some(5), ..search(8) }), 4);
    let large = Trial { worker_bytes: Some(4 << 30), ..Trial::default() };
    assert_eq!(*search(8).rungs(&[large]).last().unwrap(), 2);
}

#[test]
fn a_cold_first_pass_is_measured_again_before_it_counts() {
    let search = search(2);
    let (trials, choice) = conducted(&search, |setting, at| {
        let usual = trial(computes, &search, setting, at, 0.0);
        match at {
            0 => Trial { samples_per_s: ONE / 4.0, disk_bytes: 200 << 20, ..usual },
            _ => usual,
        }
    });
    assert_eq!(workers(&trials), [0, 1, 2, 0]);
    assert!((choice.over_no_workers.unwrap() - 1.94).abs() < 1e-9, "{:?}", choice.over_no_workers);
}

#[test]
fn uneven_batches_try_more_prefetching_and_keep_it_only_if_it_helps() {
    let search = search(2);
    let prefetched = |gain: f64| {
        conducted(&search, |setting, at| {
            let usual = trial(computes, &search, setting, at, 0.0);
            let factor = if setting.prefetch == Some(4) { 1.0 + gain } else { 1.0 };
            Trial { samples_per_s: usual.samples_per_s * factor, unevenness: Some(0.6), ..usual }
        })
    };
    let (trials, choice) = prefetched(0.0);
    assert!(trials.iter().any(|trial| trial.setting.prefetch == Some(4)));
    assert_eq!(choice.point.setting.prefetch, Some(2));
    let (trials, choice) = prefetched(0.2);
    assert!(trials.iter().any(|trial| trial.setting.prefetch == Some(8)));
    assert_eq!(choice.point.setting.prefetch, Some(4));
}

#[test]
fn the_best_two_are_measured_again_in_turns() {
    let (trials, _) = of_script(&search(8), |setting, host| match setting.workers {
        0 => (ONE, 1.0, 0.0),
        // A disk that one worker keeps busy already.
        _ => waits(Setting { workers: 1, ..setting }, host),
    });
    assert_eq!(workers(&trials), [0, 1, 2, 0, 1]);
}

#[test]
fn workers_that_fail_leave_the_choice_among_the_others() {
    let search = search(2);
    let (trials, choice) = conducted(&search, |setting, at| match setting.workers {
        4.. => Trial { setting, failed: Some("no shared memory".into()), ..Trial::default() },
        _ => trial(waits, &search, setting, at, 0.0),
    });
    assert_eq!((workers(&trials), choice.point.setting.workers), (vec![0, 1, 2, 4], 2));
    assert_eq!(choice.limit, Limit::Failed { workers: 4, reason: "no shared memory".into() });
}

#[test]
fn batch_sizes_that_were_asked_for_are_tried_with_the_best_workers() {
    let asked = Search { batches: vec![32, 64, 128], ..search(2) };
    let (trials, choice) = conducted(&asked, |setting, at| {
        let usual = trial(computes, &asked, setting, at, 0.0);
        let factor = if setting.batch == Some(128) { 1.3 } else { 1.0 };
        Trial { samples_per_s: usual.samples_per_s * factor, ..usual }
    });
    let tried: Vec<_> = trials.iter().map(|trial| (trial.setting.workers, trial.setting.batch)).collect();
    assert_eq!(tried[..5], [(0, Some(32)), (1, Some(32)), (2, Some(32)), (2, Some(64)), (2, Some(128))]);
    assert_eq!(choice.point.setting.batch, Some(128));
}

#[test]
fn pinned_memory_is_tried_where_there_is_a_gpu_and_judged_by_the_copy() {
    let gpu = Search { host: Host { cuda: true, ..host(2) }, ..search(2) };
    let pinned = |gain: f64| {
        let (trials, choice) = conducted(&gpu, |setting, at| {
            let usual = trial(computes, &gpu, setting, at, 0.0);
            let factor = if setting.pin { 1.0 + gain } else { 1.0 };
            Trial { samples_per_s: usual.samples_per_s * factor, ..usual }
        });
        assert!(trials.iter().filter(|trial| trial.setting.copied).count() >= 2);
        choice.pin
    };
    assert_eq!((pinned(0.0), pinned(0.1)), (Some(false), Some(true)));
}

#[test]
fn a_search_that_ends_early_chooses_from_what_there_is() {
    let (trials, _) = of_script(&search(16), waits);
    let choice = search(16).choice(&trials[..3]).unwrap();
    assert_eq!((choice.point.setting.workers, choice.limit), (2, Limit::TimeOver));
    assert_eq!(search(16).choice(&[]), None);
}
