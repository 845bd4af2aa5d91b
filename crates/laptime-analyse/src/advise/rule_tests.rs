//! Rules on runs with one planted fault each: what they say, and that what they predict is what the physics gives.

use laptime_core::{FitFacts, StageId};

use super::planted::{advised, computing, holds, item, loading, made, waiting, workers};
use crate::compare::ComparedRun;
use crate::report::{EpochSummary, LedgerRow, LoadingSummary, WorkerSummary};

fn torch_setting(run: &mut ComparedRun, name: &str, value: &str) {
    run.report.fits[0].settings.insert(name.to_owned(), value.to_owned());
}

#[test]
fn a_healthy_training_gets_no_advice_and_is_told_what_was_checked() {
    let run = made(workers(2), |_| waiting(0.2, 40.0));
    let advice = advised(&run);
    assert!(advice.items.is_empty(), "{:?}", advice.items);
    for subject in ["loader workers", "garbage collection", "drift", "batch size"] {
        assert!(advice.fine.contains(&subject), "{subject}: {:?}", advice.fine);
    }
}

#[test]
fn what_takes_little_of_the_training_is_fine_however_unsure_its_gain_is() {
    let little = |at: StageId| made(workers(2), move |_| [computing(100.0), vec![(at, 2.0)]].concat());
    for (stage, subject) in [
        (StageId::EVALUATE, "evaluation"),
        (StageId::CHECKPOINT, "checkpoints"),
        (StageId::CALLBACKS, "callbacks and logging"),
    ] {
        let advice = advised(&little(stage));
        assert!(advice.items.is_empty(), "{subject}: {:?}", advice.items);
        assert!(advice.fine.contains(&subject), "{subject}: {:?}", advice.fine);
    }
}

#[test]
fn a_checkpoint_at_the_end_is_none_too_many() {
    let run = made(workers(2), |step| {
        let saved = (step == 199).then_some((StageId::CHECKPOINT, 4_000.0));
        computing(100.0).into_iter().chain(saved).collect()
    });
    assert!(item(&run, "checkpoint").is_none(), "{:?}", item(&run, "checkpoint"));
}

#[test]
fn without_workers_loading_that_computes_gets_as_many_as_there_are_cpus_for() {
    let mut run = made(workers(0), |_| waiting(60.0, 40.0));
    run.passes.own_loading = loading(60.0, 0.0, 1.0);
    let found = item(&run, "workers").expect("the model waits 60 %");
    assert_eq!(found.title, "load with 2 workers");
    assert_eq!(found.injects.as_deref(), Some("num_workers=2,persistent_workers=1"));
    assert!(holds(&found, 2.0), "100 ms of work on two CPUs: {:?}", found.speedup);
    torch_setting(&mut run, "torch.persistent_workers", "yes");
    let found = item(&run, "workers").expect("the model waits 60 %");
    assert_eq!(found.injects.as_deref(), Some("num_workers=2"), "they are kept already");
}

#[test]
fn loading_that_waits_gets_more_workers_than_cpus() {
    let mut run = made(workers(0), |_| waiting(200.0, 40.0));
    run.passes.own_loading = loading(5.0, 195.0, 1.0);
    (run.passes.own.cpu_s, run.passes.tree.cpu_s) = (Some(200.0 * 0.045), Some(200.0 * 0.045));
    let found = item(&run, "workers").expect("the model waits");
    assert!(found.because.contains("2.5 % of it computing"), "{}", found.because);
    assert!(holds(&found, 240.0 / 44.5), "hidden but for the first batches: {:?}", found.speedup);
}

#[test]
fn loading_that_was_not_timed_leaves_the_number_of_workers_open() {
    let run = made(workers(0), |_| waiting(60.0, 40.0));
    let advice = advised(&run);
    assert!(advice.unknown.iter().any(|(subject, _)| *subject == "loader workers"), "{:?}", advice.unknown);
}

#[test]
fn more_workers_on_cpus_that_are_all_busy_are_not_advised() {
    let mut run = made(workers(2), |_| waiting(40.0, 40.0));
    run.passes.worker_loading = loading(120.0, 0.0, 1.0);
    assert!(item(&run, "workers").is_none());
}

#[test]
fn workers_that_hand_over_what_is_quickly_loaded_are_given_up() {
    let mut run = made(workers(2), |_| waiting(1.5, 1.0));
    run.passes.worker_loading = loading(0.2, 0.0, 0.05);
    (run.passes.own.cpu_s, run.passes.tree.cpu_s) = (Some(200.0 * 0.001), Some(200.0 * 0.0014));
    let found = item(&run, "fewer_workers").expect("1.2 ms without them");
    assert_eq!(found.injects.as_deref(), Some("num_workers=0"));
    assert!(holds(&found, 2.5 / 1.2), "{:?}", found.speedup);
    run.passes.worker_loading = loading(1.6, 0.0, 0.05);
    assert!(item(&run, "fewer_workers").is_none(), "loading beside the model is worth it");
}

#[test]
fn samples_that_are_loaded_anew_in_each_epoch_can_be_packed() {
    let mut run = made(workers(2), |_| waiting(60.0, 20.0));
    run.passes.worker_loading = loading(140.0, 0.0, 2.0);
    run.passes.own.cpu_s = Some(200.0 * 0.02);
    let found = item(&run, "pack").expect("the model waits three quarters");
    assert!(found.speedup.typical && holds(&found, 80.0 / 22.0), "{:?}", found.speedup);
    let in_time = made(workers(2), |_| waiting(0.2, 40.0));
    assert!(advised(&in_time).fine.contains(&"packing"));
}

#[test]
fn page_faults_that_wait_for_storage_say_that_the_data_does_not_fit() {
    let mut run = made(workers(0), |_| waiting(60.0, 40.0));
    run.passes.own_loading = loading(5.0, 55.0, 1.0);
    (run.passes.own.cpu_s, run.passes.tree.cpu_s) = (Some(200.0 * 0.045), Some(200.0 * 0.045));
    run.report.memory.major_faults = Some(150);
    assert!(item(&run, "memory").is_none(), "of storage that is slow there are no faults");
    run.report.memory.major_faults = Some(200 * 30);
    let found = item(&run, "memory").expect("30 faults a step");
    assert!(found.because.contains("with 30 page faults"), "{}", found.because);
    assert!(found.speedup.typical && holds(&found, 100.0 / 45.0), "{:?}", found.speedup);
    assert_eq!(advised(&run).items[0].id, "memory", "more workers and a pack would read from the same disk");
}

#[test]
fn a_transform_that_workers_spend_their_time_in_is_the_first_item() {
    let mut run = made(workers(2), |_| waiting(60.0, 20.0));
    run.passes.worker_loading = loading(140.0, 0.0, 2.0);
    run.passes.own.cpu_s = Some(200.0 * 0.02);
    run.report.loading = Some(LoadingSummary {
        workers: 2,
        batches: 200,
        fetch_s: 0.138,
        dataset_s: 0.004,
        transform_s: Some(0.134),
        collate_s: 0.002,
    });
    let advice = advised(&run);
    assert_eq!(advice.items[0].id, "transform", "{:?}", advice.items);
    assert!(holds(&advice.items[0], 80.0 / 20.5), "computing is left: {:?}", advice.items[0].speedup);
}

#[test]
fn a_collate_function_that_takes_most_of_loading_comes_before_more_workers() {
    let mut run = made(workers(0), |_| waiting(60.0, 40.0));
    run.passes.own_loading = loading(60.0, 0.0, 57.0);
    let advice = advised(&run);
    let ids: Vec<&str> = advice.items.iter().map(|item| item.id).collect();
    assert_eq!(ids[..2], ["collate", "workers"]);
    assert!(holds(&advice.items[0], 100.0 / 44.0), "{:?}", advice.items[0].speedup);
}

#[test]
fn workers_that_start_anew_each_epoch_are_to_be_kept() {
    let mut run = made(workers(2), |step| waiting(if step % 50 == 0 { 300.0 } else { 0.2 }, 10.0));
    run.passes.worker_loading = loading(10.0, 0.0, 1.0);
    torch_setting(&mut run, "torch.persistent_workers", "no");
    let found = item(&run, "persistent_workers").expect("first batches are late");
    assert!(holds(&found, 810.0 / 520.0), "{:?}", found.speedup);
    torch_setting(&mut run, "torch.persistent_workers", "yes");
    assert!(item(&run, "persistent_workers").is_none());
}

#[test]
fn waits_for_workers_that_start_anew_are_nothing_to_load_ahead_for() {
    let mut run = made(workers(2), |step| waiting(if step % 50 == 0 { 300.0 } else { 0.2 }, 10.0));
    let bursts = bursts_of_two_workers(&mut run);
    assert!(item(bursts, "prefetch").is_none(), "{:?}", item(bursts, "prefetch"));
    let mut run = made(workers(2), |step| waiting(if step % 10 == 5 { 60.0 } else { 0.2 }, 10.0));
    let found = item(bursts_of_two_workers(&mut run), "prefetch").expect("single batches are late");
    assert!(holds(&found, 16.2 / 10.2) && !holds(&found, 1.1), "{:?}", found.speedup);
}

/// Two workers that load most batches in 1 ms and some in 60 ms.
fn bursts_of_two_workers(run: &mut ComparedRun) -> &ComparedRun {
    run.passes.worker_loading = loading(1.0, 6.0, 1.0);
    let fetch = LedgerRow {
        stage: "fetch".to_owned(),
        seconds: 1.2,
        share: 0.5,
        count: 200,
        mean_s: Some(0.006),
        p50_s: Some(0.001),
        p95_s: Some(0.06),
    };
    run.report.workers = Some(vec![WorkerSummary { index: 0, wall_s: 2.4, ledger: vec![fetch] }]);
    run.report.loading = Some(LoadingSummary {
        workers: 2,
        batches: 200,
        fetch_s: 0.006,
        dataset_s: 0.006,
        transform_s: None,
        collate_s: 0.001,
    });
    run
}

#[test]
fn garbage_collection_is_gone_when_it_is_off() {
    let collected = (StageId::GARBAGE_COLLECTION, 20.0);
    let run = made(workers(0), |_| computing(40.0).into_iter().chain([collected]).collect());
    let found = item(&run, "garbage_collection").expect("a third");
    assert_eq!(found.injects.as_deref(), Some("gc=off"));
    assert!(holds(&found, 1.5), "{:?}", found.speedup);
}

#[test]
fn evaluation_every_few_steps_is_the_first_item_and_once_an_epoch_is_fine() {
    let often = |every: u32| {
        made(workers(0), move |step| {
            let evaluation = (step % every == every - 1).then_some((StageId::EVALUATE, 200.0));
            computing(10.0).into_iter().chain(evaluation).collect()
        })
    };
    let found = item(&often(10), "evaluation").expect("two thirds");
    assert_eq!(found.number, 1);
    assert!(found.because.contains("every 10 steps, 200 ms each"), "{}", found.because);
    assert!(holds(&found, 30.0 / 10.4), "once an epoch: {:?}", found.speedup);
    assert!(holds(&found, 3.0 * 0.99), "hardly ever: {:?}", found.speedup);
    let once = made(workers(0), |step| {
        let evaluation = (step % 50 == 49).then_some((StageId::EVALUATE, 50.0));
        computing(10.0).into_iter().chain(evaluation).collect()
    });
    assert!(item(&once, "evaluation").is_none() && advised(&once).fine.contains(&"evaluation"));
}

#[test]
fn a_checkpoint_each_step_is_the_first_item() {
    let run = made(workers(0), |_| [computing(20.0), vec![(StageId::CHECKPOINT, 20.0)]].concat());
    let found = item(&run, "checkpoint").expect("half of it");
    assert_eq!((found.number, found.injects.as_deref()), (1, None));
    assert!(found.because.contains("every step, 20.0 ms each"), "{}", found.because);
    assert!(holds(&found, 40.0 / 20.4), "{:?}", found.speedup);
}

#[test]
fn callbacks_that_take_a_third_are_to_be_called_less_often() {
    let run = made(workers(0), |_| [computing(20.0), vec![(StageId::CALLBACKS, 10.0)]].concat());
    let found = item(&run, "callbacks").expect("a third");
    assert!(holds(&found, 1.5), "{:?}", found.speedup);
}

#[test]
fn steps_that_grow_are_told_with_the_stage_that_grows() {
    let mut run =
        made(workers(0), |step| [vec![(StageId::PREPARE, f64::from(step) * 0.2)], computing(20.0)].concat());
    run.passes.resident = Some((300 << 20, 900 << 20));
    let found = item(&run, "drift").expect("steps triple");
    assert!(
        found.because.contains("what grows is prepare; memory grows from 300 MiB to 900 MiB"),
        "{found:?}"
    );
    assert!(holds(&found, 45.0 / 20.0), "the training beyond its first epoch: {:?}", found.speedup);
}

#[test]
fn a_machine_that_gets_slower_is_no_drift() {
    let run = made(workers(0), |step| {
        computing(20.0).into_iter().map(|(stage, ms)| (stage, ms * (1.0 + f64::from(step) / 400.0))).collect()
    });
    let growth: Vec<&EpochSummary> = run.report.epochs.iter().collect();
    assert!(growth[3].wall_s > 1.2 * growth[0].wall_s);
    assert!(item(&run, "drift").is_none(), "{:?}", item(&run, "drift"));
}

#[test]
fn too_many_threads_are_told_where_they_wait_for_cpus() {
    let mut run = made(workers(0), |_| computing(40.0));
    torch_setting(&mut run, "torch.threads", "8");
    assert!(item(&run, "threads").is_none(), "they get all they want");
    (run.passes.own.queue_s, run.report.machine.other_cpus) = (Some(4.0 * run.report.wall_s), Some(0.9));
    let found = item(&run, "threads").expect("they wait");
    assert_eq!(found.injects.as_deref(), Some("threads=1"));
    assert!(found.speedup.typical && found.because.contains("8 threads on 2 CPUs"), "{found:?}");
}

#[test]
fn a_tiny_batch_of_a_small_model_is_overhead() {
    let tiny = FitFacts { batch: Some(4), rows: Some(6_144), parameters: Some(2_000), ..FitFacts::default() };
    let run = made(tiny.clone(), |_| computing(1.0));
    let found = item(&run, "batch").expect("one millisecond");
    assert_eq!(found.title, "take batches of 128 samples");
    assert!(found.speedup.typical && holds(&found, 20.0), "{:?}", found.speedup);
    let long = made(tiny, |_| computing(500.0));
    assert!(advised(&long).unknown.iter().any(|(subject, _)| *subject == "batch size"));
    let usual = made(FitFacts { batch: Some(64), ..FitFacts::default() }, |_| computing(1.0));
    assert!(item(&usual, "batch").is_none());
}
