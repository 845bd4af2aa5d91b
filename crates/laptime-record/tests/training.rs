//! What hooks report of a training, read back from the log.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use laptime_core::{Event, Record, StageId, Status};
use laptime_record::{
    Address, BatchLog, Call, FitFacts, MANUAL, Modes, ModuleKind, Options, PassId, Recorder, Request, Update,
    enter, exit, is_inside, training,
};
use laptime_store::RunReader;

const MODEL: Address = Address(0x10);
const OPTIMIZER: Address = Address(0x20);
const LOADER: Address = Address(0x30);
const VALIDATION: Address = Address(0x40);

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a script did, as its log has it.
#[derive(Default)]
struct Recorded {
    fits: usize,
    /// Samples of each step.
    steps: Vec<u32>,
    epochs: usize,
    /// Steps before each cut.
    cuts: Vec<usize>,
    /// Spans of each stage.
    counts: BTreeMap<StageId, u64>,
    evaluations: u64,
    rows: Option<u64>,
    discarded_gradients: Option<u64>,
    updates: Option<u64>,
}

/// Runs a script on a thread of its own, since a thread's training outlives a recorder.
fn record(script: fn()) -> Recorded {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&Options { root: Some(folder.path().to_owned()), ..Options::default() });
    let script = move || {
        create_optimizer();
        script();
    };
    std::thread::spawn(script).join().unwrap();
    let run = recorder.finish(Status::Finished, None).run.unwrap();
    let mut recorded = Recorded::default();
    let mut take = |record| match record {
        Record::Event { event: Event::FitBegin { .. }, .. } => recorded.fits += 1,
        Record::Event { event: Event::EpochEnd { .. }, .. } => recorded.epochs += 1,
        Record::Event { event: Event::Step { samples, .. }, .. } => recorded.steps.push(samples),
        Record::Event { event: Event::Cut { .. }, .. } => recorded.cuts.push(recorded.steps.len()),
        Record::Event { event: Event::Total(total), .. } => {
            recorded.counts.insert(total.stage, total.count);
            recorded.evaluations = recorded.counts.get(&StageId::EVALUATE).copied().unwrap_or(0);
        }
        Record::Fit { facts, .. } => {
            recorded.rows = facts.rows;
            (recorded.discarded_gradients, recorded.updates) = (facts.discarded_gradients, facts.updates);
        }
        _ => {}
    };
    RunReader::open(&run).unwrap().poll(&mut |_, record| take(record)).unwrap();
    recorded
}

fn call(trains: bool, grad_enabled: bool) {
    let modes = Modes { trains, grad_enabled };
    training(|training| {
        loop {
            match training.begin_call(MODEL, modes) {
                Call::NewModule => training.register_module(MODEL, ModuleKind::Model),
                Call::NewModel => training.train_model(MODEL),
                Call::Begun => return training.end_call(),
                Call::BegunWithoutSamples => {
                    training.take_samples(8);
                    return training.end_call();
                }
                Call::Silent => unreachable!("a model is a stage"),
            }
        }
    });
}

/// Makes the optimizer, as a script does before it trains.
fn create_optimizer() {
    training(|training| training.optimizer_created(OPTIMIZER, false));
}

fn backward() {
    let is_own_step = training(|training| {
        training.begin_backward();
        training.end_backward()
    });
    assert!(!is_own_step, "an optimizer is alive");
}

/// A backward pass whose gradients the script itself uses; `settle` finds the epoch of one that is not counted.
fn own_step(settle: impl FnOnce()) {
    let is_own_step = training(|training| {
        training.begin_backward();
        training.end_backward()
    });
    if is_own_step {
        if !training(|training| training.has_optimizer(MANUAL)) {
            training(|training| training.register_optimizer(MANUAL));
            training(|training| training.begin_fit(MANUAL, FitFacts::default(), false));
        }
        if !training(|training| training.is_counted()) {
            settle();
        }
        training(|training| training.end_own_step());
    }
}

/// An update as a hook makes it; `settle` finds the epoch of one that is not counted.
fn update(settle: impl FnOnce()) {
    if training(|training| training.begin_update(OPTIMIZER)) == Update::Unsettled {
        if !training(|training| training.has_optimizer(OPTIMIZER)) {
            training(|training| training.register_optimizer(OPTIMIZER));
            training(|training| training.begin_fit(OPTIMIZER, FitFacts::default(), false));
        }
        if !training(|training| training.is_counted()) {
            settle();
        }
        training(|training| training.enter_update());
    }
    training(|training| training.end_update(OPTIMIZER));
}

fn begin_pass(loader: Address) -> PassId {
    let pass = training(|training| training.begin_pass(loader, false));
    training(|training| training.end_wait());
    training(|training| training.iterate(pass, iterator_of(pass)));
    pass
}

fn iterator_of(pass: PassId) -> Address {
    Address(0x1000 + pass.0 as usize)
}

fn next(pass: PassId, samples: u32) {
    let iterator = iterator_of(pass);
    if training(|training| training.request(iterator)) == Request::Interrupts {
        training(|training| training.interrupt_step());
    }
    if !training(|training| training.take_batch(iterator)) {
        training(|training| training.count_samples(iterator, samples));
    }
}

fn ran_out(pass: PassId) {
    training(|training| training.request(iterator_of(pass)));
    training(|training| training.end_wait());
    training(|training| training.exhaust_pass(pass, false));
}

/// The script lets go of the iterator.
fn let_go(pass: PassId) {
    training(|training| training.end_pass(pass, false));
}

fn step() {
    call(true, true);
    backward();
    update(|| assert!(training(|training| training.begin_pass_epoch())));
}

fn evaluate() {
    let pass = begin_pass(VALIDATION);
    for _ in 0..2 {
        next(pass, 5);
        call(false, false);
    }
    ran_out(pass);
}

#[test]
fn passes_with_updates_are_epochs_and_those_without_are_evaluations() {
    let recorded = record(|| {
        for _ in 0..2 {
            let pass = begin_pass(LOADER);
            for samples in [32, 32, 7] {
                next(pass, samples);
                step();
            }
            ran_out(pass);
            evaluate();
        }
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.fits, recorded.epochs, recorded.evaluations), (1, 2, 2));
    assert_eq!(recorded.steps, [32, 32, 7, 32, 32, 7]);
}

#[test]
fn an_accumulated_step_has_the_samples_of_all_its_batches() {
    let recorded = record(|| {
        let pass = begin_pass(LOADER);
        for at in 1..=6 {
            next(pass, 10);
            call(true, true);
            backward();
            if at % 3 == 0 {
                update(|| assert!(training(|training| training.begin_pass_epoch())));
            }
        }
        ran_out(pass);
        training(|training| training.end_fit());
    });
    assert_eq!(recorded.steps, [30, 30]);
}

#[test]
fn an_evaluation_within_an_epoch_interrupts_the_step_and_not_the_epoch() {
    let recorded = record(|| {
        let pass = begin_pass(LOADER);
        for at in 0..4 {
            next(pass, 10);
            step();
            if at == 1 {
                evaluate();
            }
        }
        ran_out(pass);
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.epochs, recorded.evaluations), (1, 1));
    assert_eq!(recorded.steps, [10, 10, 10, 10]);
}

#[test]
fn the_second_batch_of_a_pass_that_trains_is_timed_and_one_in_32_from_there() {
    record(|| {
        create_optimizer();
        for _ in 0..2 {
            let pass = begin_pass(LOADER);
            let mut timed = Vec::new();
            for at in 0..70 {
                let request = training(|training| training.request(iterator_of(pass)));
                if request == Request::Timed {
                    timed.push(at);
                }
                training(|training| training.take_batch(iterator_of(pass)));
                step();
            }
            assert_eq!(timed, [1, 33, 65]);
            ran_out(pass);
            let_go(pass);
        }
    });
}

#[test]
fn without_a_loader_the_loop_counts_epochs_and_calls_tell_the_samples() {
    let recorded = record(|| {
        for _ in 0..3 {
            for at in 0..2 {
                call(true, true);
                backward();
                update(|| training(|training| training.follow_loop(true, at == 0)));
            }
        }
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.fits, recorded.epochs), (1, 3));
    assert_eq!(recorded.steps, [8; 6]);
}

#[test]
fn gradients_set_to_zero_before_they_are_used_are_counted() {
    let recorded = record(|| {
        let pass = begin_pass(LOADER);
        for at in 1..=12 {
            next(pass, 10);
            training(|training| training.begin_zero(OPTIMIZER));
            training(|training| training.end_zero());
            call(true, true);
            backward();
            if at % 3 == 0 {
                update(|| assert!(training(|training| training.begin_pass_epoch())));
            }
        }
        ran_out(pass);
        training(|training| training.end_fit());
    });
    // Two of three in each step; those of the first are thrown away before the optimizer is known.
    assert_eq!((recorded.discarded_gradients, recorded.updates), (Some(6), Some(4)));
    assert_eq!(recorded.steps, [30; 4]);
}

#[test]
fn a_call_that_nothing_began_changes_nothing() {
    let recorded = record(|| {
        enter(StageId::FORWARD);
        exit(StageId::FORWARD);
        training(|training| {
            training.end_call();
            training.end_backward();
            training.end_zero();
            training.leave_update();
            training.end_pass(PassId(99), true);
            training.interrupt_step();
            training.end_fit();
        });
        assert!(!is_inside());
    });
    assert_eq!((recorded.fits, recorded.epochs, recorded.steps.len()), (0, 0, 0));
}

#[test]
fn a_batch_has_as_many_samples_as_were_ordered_for_it() {
    let recorded = record(|| {
        let pass = begin_pass(LOADER);
        for ordered in [32, 32, 7] {
            training(|training| training.order(pass, ordered));
        }
        for looked_like in [1, 1, 1, 5] {
            next(pass, looked_like);
            step();
        }
        ran_out(pass);
        training(|training| training.end_fit());
    });
    assert_eq!(recorded.steps, [32, 32, 7, 5]);
}

#[test]
fn an_iterator_that_stands_where_another_stood_has_its_own_pass() {
    let recorded = record(|| {
        let kept = begin_pass(VALIDATION);
        let pass = begin_pass(LOADER);
        training(|training| training.iterate(pass, iterator_of(kept)));
        next(kept, 4);
        step();
        training(|training| training.end_pass(pass, false));
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.epochs, recorded.steps), (1, vec![4]));
}

/// One epoch over a loader that asks for the next batch before it hands out the one it has.
fn ahead(samples: &[u32]) -> PassId {
    let pass = begin_pass(LOADER);
    next(pass, samples[0]);
    for samples in &samples[1..] {
        next(pass, *samples);
        step();
    }
    ran_out(pass);
    pass
}

#[test]
fn a_loader_that_looks_ahead_has_as_many_steps_and_samples_as_any_other() {
    let recorded = record(|| {
        for _ in 0..2 {
            let pass = ahead(&[16, 16, 16, 4]);
            step();
            let_go(pass);
            evaluate();
        }
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.fits, recorded.epochs, recorded.evaluations), (1, 2, 2));
    assert_eq!(recorded.steps, [16, 16, 16, 4, 16, 16, 16, 4]);
}

#[test]
fn a_loader_that_lets_go_of_its_iterator_before_the_last_batch_has_that_batch_too() {
    let recorded = record(|| {
        for _ in 0..2 {
            let pass = ahead(&[16, 16, 4]);
            let_go(pass);
            step();
        }
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.epochs, recorded.steps), (2, vec![16, 16, 4, 16, 16, 4]));
}

#[test]
fn an_iterator_kept_after_the_last_batch_ends_its_epoch_with_the_next_thing() {
    let recorded = record(|| {
        ahead(&[16, 16]);
        step();
        evaluate();
        ahead(&[16, 16]);
        step();
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.epochs, recorded.evaluations), (2, 1));
    assert_eq!(recorded.steps, [16, 16, 16, 16]);
}

#[test]
fn batches_that_are_only_collected_are_no_epoch() {
    let recorded = record(|| {
        let pass = begin_pass(LOADER);
        (0..3).for_each(|_| next(pass, 8));
        ran_out(pass);
        let_go(pass);
        for _ in 0..3 {
            call(true, true);
            backward();
            update(|| training(|training| training.follow_loop(false, false)));
        }
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.epochs, recorded.steps.len()), (0, 3));
}

#[test]
fn a_training_without_epochs_has_cuts_between_its_steps_and_around_evaluations() {
    let recorded = record(|| {
        for at in 0..6 {
            call(true, true);
            backward();
            update(|| training(|training| training.follow_loop(false, false)));
            if at == 2 {
                (0..100).for_each(|_| call(false, false));
            }
        }
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.fits, recorded.epochs, recorded.steps.len()), (1, 0, 6));
    assert_eq!(recorded.evaluations, 100);
    let around = recorded.cuts.iter().filter(|steps| **steps == 3).count();
    assert!(around >= 2, "{:?}", recorded.cuts);
    assert_eq!(recorded.cuts.last(), Some(&6));
}

#[test]
fn what_lies_between_update_and_call_is_prepared_and_between_call_and_backward_is_the_loss() {
    let recorded = record(|| {
        for _ in 0..4 {
            call(true, true);
            backward();
            update(|| training(|training| training.follow_loop(false, false)));
        }
        training(|training| training.end_fit());
    });
    assert_eq!(recorded.counts[&StageId::PREPARE], 3);
    assert_eq!(recorded.counts[&StageId::LOSS], 4);
}

#[test]
fn a_pass_that_never_ends_has_steps_and_no_epoch() {
    let recorded = record(|| {
        let pass = begin_pass(LOADER);
        for at in 0..6 {
            next(pass, 10);
            call(true, true);
            backward();
            update(|| assert!(training(|training| training.begin_pass_steps())));
            if at == 2 {
                (0..3).for_each(|_| call(false, false));
            }
        }
        let_go(pass);
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.fits, recorded.epochs, recorded.evaluations), (1, 0, 3));
    assert_eq!(recorded.steps, [10; 6]);
    assert!(recorded.cuts.contains(&3) && recorded.cuts.last() == Some(&6), "{:?}", recorded.cuts);
}

#[test]
fn a_module_called_again_before_its_gradients_says_nothing_of_samples() {
    let recorded = record(|| {
        for _ in 0..3 {
            (0..4).for_each(|_| call(true, true));
            backward();
            update(|| training(|training| training.follow_loop(false, false)));
        }
        training(|training| training.end_fit());
    });
    assert_eq!(recorded.steps, [0; 3]);
}

#[test]
fn without_an_optimizer_a_step_is_from_one_backward_pass_to_the_next() {
    let recorded = record(|| {
        training(|training| training.forget_optimizer(OPTIMIZER));
        for _ in 0..2 {
            for at in 0..3 {
                call(true, true);
                own_step(|| training(|training| training.follow_loop(true, at == 0)));
            }
        }
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.fits, recorded.epochs), (1, 2));
    assert_eq!(recorded.steps, [8; 6]);
    assert!(recorded.counts[&StageId::OPTIMIZER] >= 5);
}

#[test]
fn a_model_in_eval_mode_whose_input_gets_gradients_is_not_trained() {
    let recorded = record(|| {
        training(|training| training.forget_optimizer(OPTIMIZER));
        call(true, true);
        for _ in 0..3 {
            call(false, true);
            own_step(|| unreachable!("nothing is trained"));
        }
    });
    assert_eq!(recorded.fits, 0);
}

#[test]
fn a_pass_without_gradients_is_an_evaluation_whatever_mode_the_model_is_in() {
    let recorded = record(|| {
        for _ in 0..2 {
            let pass = begin_pass(LOADER);
            (0..3).for_each(|_| {
                next(pass, 4);
                step();
            });
            ran_out(pass);
            let pass = begin_pass(VALIDATION);
            (0..2).for_each(|_| {
                next(pass, 4);
                call(true, false);
            });
            ran_out(pass);
        }
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.epochs, recorded.evaluations, recorded.steps.len()), (2, 2, 6));
}

#[test]
fn calls_without_gradients_inside_a_pass_are_evaluations_and_targets_are_not() {
    let recorded = record(|| {
        let pass = begin_pass(LOADER);
        for _ in 0..2 {
            next(pass, 4);
            call(true, true);
            // A target that the model itself computes for its loss.
            call(true, false);
            backward();
            update(|| assert!(training(|training| training.begin_pass_epoch())));
            // Sampling.
            (0..5).for_each(|_| call(false, false));
        }
        ran_out(pass);
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.epochs, recorded.evaluations), (1, 10));
    // Two calls in each step, and what lies between them.
    assert_eq!(recorded.counts[&StageId::FORWARD], 6);
}

#[test]
fn models_that_are_trained_in_turn_have_steps_of_their_own() {
    const OTHER: Address = Address(0x50);
    let recorded = record(|| {
        training(|training| training.optimizer_created(OTHER, false));
        for optimizer in [OPTIMIZER, OTHER] {
            for _ in 0..5 {
                call(true, true);
                backward();
                if training(|training| training.begin_update(optimizer)) == Update::Unsettled {
                    if !training(|training| training.has_optimizer(optimizer)) {
                        training(|training| training.register_optimizer(optimizer));
                        if !training(|training| training.in_fit()) {
                            training(|training| training.begin_fit(optimizer, FitFacts::default(), false));
                        }
                    }
                    training(|training| training.follow_loop(false, false));
                    training(|training| training.enter_update());
                }
                training(|training| training.end_update(optimizer));
            }
        }
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.fits, recorded.steps), (1, vec![8; 10]));
}

/// A compiled function that trains, as a hook makes it.
fn compiled_step(counts_rows: bool) {
    const FUNCTION: StageId = StageId(40);
    training(|training| training.begin_function(FUNCTION, true));
    assert!(is_inside());
    if training(|training| training.begin_compiled_update(OPTIMIZER)) == Update::Unsettled {
        if !training(|training| training.has_optimizer(OPTIMIZER)) {
            training(|training| training.register_optimizer(OPTIMIZER));
            training(|training| training.begin_fit(OPTIMIZER, FitFacts::default(), counts_rows));
        }
        training(|training| training.begin_pass_epoch());
    }
    training(|training| training.end_function(FUNCTION));
    training(|training| training.end_compiled_update(OPTIMIZER));
    assert!(!is_inside());
}

#[test]
fn a_compiled_function_that_updates_makes_steps_and_its_rows_may_be_counted() {
    let recorded = record(|| {
        for _ in 0..2 {
            let pass = begin_pass(LOADER);
            for samples in [32, 32, 16] {
                next(pass, samples);
                compiled_step(true);
            }
            ran_out(pass);
        }
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.fits, recorded.epochs), (1, 2));
    assert_eq!(recorded.steps, [32, 32, 16, 32, 32, 16]);
    assert_eq!(recorded.rows, Some(80));
}

#[test]
fn rows_that_a_loader_does_not_know_are_left_open_unless_they_are_counted() {
    let recorded = record(|| {
        let pass = begin_pass(LOADER);
        next(pass, 8);
        compiled_step(false);
        ran_out(pass);
        training(|training| training.end_fit());
    });
    assert_eq!((recorded.epochs, recorded.steps, recorded.rows), (1, vec![8], None));
}

#[test]
fn steps_that_are_fused_into_one_call_are_counted_each() {
    let recorded = record(|| {
        let mut log = BatchLog::default();
        log.request();
        log.arrived(0);
        log.takes(100, 3);
        log.turn();
        log.wait();
        log.arrived(7);
        log.turn();
        // There was no further batch: what was begun is no step.
        log.ran_out();
    });
    assert_eq!(recorded.steps, [33, 33, 34, 7]);
    assert_eq!(recorded.epochs, 1);
}

/// One pass over two batches of a framework that runs its loop itself.
fn framework_epoch() {
    training(|training| {
        training.begin_framework_epoch(false);
        for samples in [8, 4] {
            training.request_batch();
            training.batch_arrived(samples);
        }
        training.request_batch();
        training.data_exhausted();
        training.end_framework_epoch();
    });
}

#[test]
fn a_framework_that_runs_its_loop_reports_epochs_and_steps() {
    let recorded = record(|| {
        training(|training| training.begin_framework_fit(FitFacts::default()));
        framework_epoch();
        training(|training| training.begin_pause(StageId::EVALUATE));
        training(|training| training.end_pause(StageId::EVALUATE));
        framework_epoch();
        training(|training| training.end_framework_fit());
    });
    assert_eq!((recorded.fits, recorded.epochs, recorded.rows), (1, 2, Some(12)));
    assert_eq!(recorded.steps, [8, 4, 8, 4]);
    assert_eq!((recorded.counts[&StageId::DATA_WAIT], recorded.evaluations), (6, 1));
}

#[test]
fn rows_that_a_framework_knows_are_not_counted() {
    let recorded = record(|| {
        training(|training| training.begin_framework_fit(FitFacts::default()));
        let facts = FitFacts { rows: Some(100), ..FitFacts::default() };
        training(|training| training.update_framework_fit(facts));
        framework_epoch();
        training(|training| training.end_framework_fit());
    });
    assert_eq!(recorded.rows, Some(100));
}

#[test]
fn a_fit_inside_a_frameworks_fit_is_part_of_its_steps() {
    let recorded = record(|| {
        training(|training| training.begin_framework_fit(FitFacts::default()));
        training(|training| training.begin_framework_epoch(false));
        training(|training| training.request_batch());
        training(|training| training.batch_arrived(8));
        training(|training| training.begin_framework_fit(FitFacts::default()));
        framework_epoch();
        training(|training| training.end_framework_fit());
        training(|training| training.end_framework_fit());
    });
    assert_eq!((recorded.fits, recorded.epochs, recorded.steps), (1, 1, vec![8]));
}

#[test]
fn late_steps_end_when_they_are_computed_in_the_order_they_were_submitted() {
    let recorded = record(|| {
        training(|training| {
            training.begin_framework_fit(FitFacts::default());
            training.begin_framework_epoch(true);
            for (batch, samples) in [(0, 8), (3, 9), (4, 5)] {
                training.request_batch();
                training.batch_arrived(0);
                training.count_step(samples, if batch == 3 { 3 } else { 1 });
                training.step_submitted(batch);
            }
            // The results of the last step are there, but nobody saw it end.
            training.step_computed(3, laptime_record::now());
            training.step_computed(0, laptime_record::now());
            training.request_batch();
            training.data_exhausted();
            training.end_framework_fit();
        });
    });
    assert_eq!(recorded.steps, [8, 3, 3, 3, 5]);
    assert_eq!((recorded.epochs, recorded.rows), (1, Some(22)));
}
