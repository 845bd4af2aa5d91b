//! Simulated ranks: a training of several processes with delays that are known, each on a clock of its own.

use laptime_core::{
    CollectiveKind, Event, FitFacts, GroupFacts, Record, RunMeta, StageId, Ticks, Track, TrackKind,
};

use crate::chance::Chance;
use crate::script::Script;
use crate::{Digest, Report};

pub(crate) const MS: f64 = 1e6;
const LANE: u32 = 7;

/// How the gradients are exchanged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Exchange {
    /// In two buckets while the backward pass goes on, which ends when they are done.
    Overlapped,
    /// In one call after the backward pass.
    Blocking,
}

/// A delay of one rank in one step: the stage and how long, nanoseconds.
pub(crate) type Delay = Option<(StageId, f64)>;

/// A training to simulate.
pub(crate) struct Simulated {
    pub(crate) ranks: usize,
    pub(crate) steps: usize,
    pub(crate) exchange: Exchange,
    /// How much every stage varies, as a share of it.
    pub(crate) noise: f64,
    pub(crate) transfer: f64,
    /// The half of the backward pass after the first gradients are given, ms.
    pub(crate) second_half: f64,
    pub(crate) trial: u64,
}

impl Default for Simulated {
    fn default() -> Self {
        let (exchange, transfer, second_half) = (Exchange::Overlapped, 2.0 * MS, 8.0);
        Self { ranks: 4, steps: 40, exchange, noise: 0.1, transfer, second_half, trial: 0 }
    }
}

/// What one rank does in one step, nanoseconds.
struct Plan {
    data: f64,
    forward: f64,
    first_half: f64,
    second_half: f64,
    optimizer: f64,
}

impl Simulated {
    /// The records of every rank.
    pub(crate) fn records(&self, delay: impl Fn(usize, usize) -> Delay) -> Vec<Vec<Record>> {
        let mut chance = Chance::new(self.trial + 1);
        let mut scripts: Vec<Script> = (0..self.ranks).map(|rank| begun(rank, self.ranks)).collect();
        // Clocks began at different times; what happens is planned on one that nobody has.
        let offsets: Vec<f64> = scripts.iter().map(|script| script.now as f64).collect();
        let mut now = vec![0.0; self.ranks];
        for step in 0..self.steps {
            let plans: Vec<Plan> =
                (0..self.ranks).map(|rank| self.plan(&mut chance, delay(rank, step))).collect();
            let issues: Vec<[f64; 2]> = plans.iter().zip(&now).map(|(plan, now)| plan.issues(*now)).collect();
            let last = |at: usize| issues.iter().map(|issue| issue[at]).fold(0.0, f64::max);
            let first_done = last(0) + self.transfer;
            let done = match self.exchange {
                Exchange::Overlapped => first_done.max(last(1)) + self.transfer,
                Exchange::Blocking => last(1) + self.transfer,
            };
            for (rank, script) in scripts.iter_mut().enumerate() {
                let clock = |at: f64| Ticks((offsets[rank] + at) as u64);
                let sequence = step as u32 * 2;
                let start = script.now;
                script.stage(StageId::DATA_WAIT, plans[rank].data as u64);
                script.stage(StageId::FORWARD, plans[rank].forward as u64);
                let [first, second] = issues[rank].map(clock);
                match self.exchange {
                    Exchange::Overlapped => {
                        until(script.begin(StageId::BACKWARD), clock(done)).end();
                        // Of two that are done at almost the same time either may be seen first.
                        let swapped = self.second_half < 1.0 && (rank + step) % 2 == 0;
                        let first_end = if swapped { done + 0.02 * MS } else { first_done };
                        script.records.push(all_reduce(sequence, first, clock(first_end), 4_000));
                        script.records.push(all_reduce(sequence + 1, second, clock(done), 6_000));
                    }
                    Exchange::Blocking => {
                        until(script.begin(StageId::BACKWARD), second).end();
                        until(script.begin(StageId::COMMUNICATION), clock(done)).end();
                        script.records.push(all_reduce(step as u32, second, clock(done), 10_000));
                    }
                }
                script.stage(StageId::OPTIMIZER, plans[rank].optimizer as u64);
                now[rank] = done + plans[rank].optimizer;
                script.end_step(Ticks(start), 8, None);
            }
        }
        scripts.iter_mut().for_each(|script| {
            script.end_epoch().end_fit().close();
        });
        scripts.into_iter().map(|script| script.records).collect()
    }

    /// The report on all ranks.
    pub(crate) fn report(&self, delay: impl Fn(usize, usize) -> Delay) -> Report {
        report(&self.records(delay), self.ranks)
    }

    fn plan(&self, chance: &mut Chance, delay: Delay) -> Plan {
        let mut of = |ms: f64| (ms * MS * (1.0 + self.noise * chance.normal())).max(0.1 * ms * MS);
        let mut plan = Plan {
            data: of(2.0),
            forward: of(8.0),
            first_half: of(8.0),
            second_half: of(self.second_half),
            optimizer: of(4.0),
        };
        match delay {
            Some((StageId::DATA_WAIT, long)) => plan.data += long,
            Some((StageId::FORWARD, long)) => plan.forward += long,
            Some((StageId::BACKWARD, long)) => plan.second_half += long,
            Some((StageId::OPTIMIZER, long)) => plan.optimizer += long,
            _ => {}
        }
        plan
    }
}

impl Plan {
    /// When the rank gives each half of its gradients.
    fn issues(&self, now: f64) -> [f64; 2] {
        let first = now + self.data + self.forward + self.first_half;
        [first, first + self.second_half]
    }
}

pub(crate) fn report(ranks: &[Vec<Record>], world: usize) -> Report {
    let mut digest = Digest::new(RunMeta { ranks: world as u32, ..RunMeta::default() });
    for (log, records) in ranks.iter().enumerate() {
        records.iter().for_each(|record| digest.take_from(log, record));
    }
    digest.report()
}

fn begun(rank: usize, ranks: usize) -> Script {
    let mut script = Script::new();
    if let Some(Record::Process(facts)) = script.records.first_mut() {
        facts.rank = rank as u32;
        facts.host = Some(if rank < ranks / 2 { "a" } else { "b" }.to_owned());
    }
    let track = Track { kind: TrackKind::Communication, name: "gloo".into() };
    script.records.push(Record::Track { lane: LANE, track, started: Ticks(1_000) });
    let group = GroupFacts {
        name: "0".into(),
        backend: "gloo".into(),
        ranks: (0..ranks as u32).collect(),
        purpose: None,
    };
    script.records.push(Record::Group { group: 3, facts: group });
    script.pass(1_000 * (rank as u64 * 977 + 1)).fit(FitFacts::default()).epoch();
    script
}

fn until(script: &mut Script, at: Ticks) -> &mut Script {
    let rest = at.0.saturating_sub(script.now);
    script.pass(rest)
}

fn all_reduce(sequence: u32, start: Ticks, end: Ticks, bytes: u64) -> Record {
    let kind = CollectiveKind::AllReduce;
    Record::Event { lane: LANE, event: Event::Collective { group: 3, kind, sequence, start, end, bytes } }
}
