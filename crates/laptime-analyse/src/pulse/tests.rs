use laptime_core::{Counter, Event, Gauge, ProcessFacts, Record, Role, Sample, Status, Ticks};

use super::{Pulse, PulseReport};

const S: u64 = 1_000_000_000;

fn process(role: Role) -> Record {
    Record::Process(ProcessFacts { role, ns_per_tick: 1.0, ..ProcessFacts::default() })
}

fn event(event: Event) -> Record {
    Record::Event { lane: 0, event }
}

fn batch(second: u64, amount: u64) -> Record {
    event(Event::Count { counter: Counter::BatchBytes, at: Ticks(second * S + S / 2), amount })
}

fn sample(second: u64, cpu_s: u64, resident: u64) -> Record {
    let cpu = [(Gauge::CpuUserNs, cpu_s * S), (Gauge::CpuSystemNs, 0)];
    let readings = [cpu.as_slice(), &[(Gauge::ResidentBytes, resident)]].concat();
    Record::Sample(Sample { at: Ticks(second * S), readings })
}

fn report(logs: &[Vec<Record>]) -> PulseReport {
    let mut pulse = Pulse::default();
    for (log, records) in logs.iter().enumerate() {
        records.iter().for_each(|record| pulse.take_from(log, record));
    }
    pulse.report()
}

#[test]
fn what_is_counted_is_bytes_a_second_of_the_seconds_that_are_over() {
    let mut records = vec![process(Role::Trainer)];
    records.extend((0..20).map(|second| batch(second, 1_000)));
    let links = report(&[records.clone()]).links;
    assert_eq!((links.len(), links[0].name, links[0].now), (1, "batches", 1_000.0));
    // Ten seconds without a batch, as the samples show.
    records.push(sample(30, 1, 1));
    let links = report(&[records]).links;
    assert_eq!(links[0].now, 0.0);
    assert!(links[0].course.contains(&1_000.0));
}

#[test]
fn a_supervisors_readings_stand_for_all_that_it_started() {
    let read = |role, cpus: u64| {
        vec![process(role), sample(0, 0, 100), sample(1, cpus, 100), sample(2, 2 * cpus, 300)]
    };
    let alone = report(&[read(Role::Trainer, 1), read(Role::Trainer, 2)]);
    assert_eq!(alone.busy_cpus.unwrap().course, [3.0, 3.0]);
    assert_eq!(alone.resident_bytes.unwrap().now, 600.0);
    let supervised = report(&[read(Role::Trainer, 1), read(Role::Supervisor, 2)]);
    assert_eq!(supervised.busy_cpus.unwrap().now, 2.0);
    assert_eq!(supervised.resident_bytes.unwrap().now, 300.0);
}

#[test]
fn a_process_that_has_ended_does_nothing_any_more() {
    let mut over = vec![process(Role::Trainer), sample(0, 0, 100), sample(1, 1, 100)];
    over.push(Record::Ended { status: Status::Killed });
    assert_eq!(report(&[over]).busy_cpus, None);
}

#[test]
fn every_step_is_in_a_bar_and_the_bars_cover_most_of_them() {
    let step = |at: u64| event(Event::Step { start: Ticks(0), end: Ticks(at), samples: 1, loss: None });
    let mut records = vec![process(Role::Trainer)];
    records.extend((0..1_000).map(|at| step(10_000_000 + at * 1_000)));
    records.push(step(50 * S));
    let steps = report(&[records]).steps.unwrap();
    assert_eq!(steps.counts.iter().sum::<u64>(), 1_001);
    assert_eq!(steps.edges_s.len(), steps.counts.len() + 1);
    assert!(steps.edges_s[0] > 0.0099 && *steps.edges_s.last().unwrap() < 0.012, "{:?}", steps.edges_s);
    assert_eq!(report(&[vec![process(Role::Trainer)]]).steps, None);
}
