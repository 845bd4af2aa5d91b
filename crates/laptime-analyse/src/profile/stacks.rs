//! Stacks: samples put together with who was sampled and in which stage.

use std::collections::{BTreeMap, HashMap};

use laptime_core::{Role, SampledFunction, SampledProcess, SampledThread, StageId};

use super::fold::{Place, ProfileFold};
use crate::death::part;
use crate::ledger::BACKGROUND;
use crate::process::Process;
use crate::report::{Part, SampledPart};

/// All stacks of a run, equal ones added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileStacks {
    /// The functions that the stacks name by their place here.
    pub functions: Vec<SampledFunction>,
    /// The stacks, in a stable order.
    pub stacks: Vec<ProfileStack>,
}

/// One stack of one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileStack {
    /// Who was sampled.
    pub part: SampledPart,
    /// The rank it belongs to.
    pub rank: u32,
    /// The stage; `None` where no stage was recorded.
    pub stage: Option<String>,
    /// Whether the thread waited.
    pub waiting: bool,
    /// Places in [`ProfileStacks::functions`], from the outermost function.
    pub calls: Vec<usize>,
    /// Samples.
    pub samples: u64,
    /// The time they stand for, microseconds.
    pub micros: u64,
}

type Key = (SampledPart, u32, Option<String>, bool, Vec<usize>);

/// The stacks of several profiles of a run, whose processes recorded so.
pub(crate) fn stacks(profiles: &[ProfileFold], processes: &[Process]) -> ProfileStacks {
    let mut functions = Functions::default();
    let mut sums: BTreeMap<Key, (u64, u64)> = BTreeMap::new();
    for profile in profiles {
        let owners = Owners::of(profile, processes);
        for (place, (samples, micros)) in &profile.seen {
            let (part, rank, stage) = owners.of_place(place);
            let calls = profile.calls(place.node);
            let calls: Vec<usize> =
                calls.iter().filter_map(|call| Some(functions.place(profile.functions.get(call)?))).collect();
            let sum = sums.entry((part, rank, stage, place.waiting, calls)).or_default();
            *sum = (sum.0.saturating_add(*samples), sum.1.saturating_add(*micros));
        }
    }
    let stacks = sums.into_iter().map(|((part, rank, stage, waiting, calls), (samples, micros))| {
        ProfileStack { part, rank, stage, waiting, calls, samples, micros }
    });
    ProfileStacks { stacks: stacks.collect(), functions: functions.known }
}

/// Functions by what they are, whatever number each profile gave them.
#[derive(Default)]
struct Functions {
    known: Vec<SampledFunction>,
    places: HashMap<(String, String, u32), usize>,
}

impl Functions {
    fn place(&mut self, function: &SampledFunction) -> usize {
        let key = (function.name.clone(), function.file.clone(), function.line);
        *self.places.entry(key).or_insert_with(|| {
            self.known.push(function.clone());
            self.known.len() - 1
        })
    }
}

/// Whose the threads of a profile are.
struct Owners<'a> {
    profile: &'a ProfileFold,
    recorded: BTreeMap<u32, &'a Process>,
    /// Process and kernel's id of each thread that takes steps.
    stepping: Vec<(u32, u32)>,
}

impl<'a> Owners<'a> {
    fn of(profile: &'a ProfileFold, processes: &'a [Process]) -> Self {
        let log = |sampled: &SampledProcess| {
            let logs = processes.iter().filter(|process| {
                let facts = &process.facts;
                facts.role == Role::Trainer
                    && (facts.pid, facts.pid_start) == (sampled.pid, sampled.pid_start)
            });
            // A process may have had several recorders: the one with steps is what the run is about.
            logs.max_by_key(|process| process.lanes.values().map(|lane| lane.steps).sum::<u64>())
        };
        let recorded: BTreeMap<u32, &Process> =
            profile.processes.values().filter_map(|sampled| Some((sampled.process, log(sampled)?))).collect();
        let steps = |thread: &&SampledThread| {
            let process = recorded.get(&thread.process).filter(|process| part(process) == Part::Rank);
            let lane = process.and_then(|process| process.stepping_lane()).map(|lane| lane.number);
            lane.is_some() && thread.lane == lane
        };
        let stepping =
            profile.threads.values().filter(steps).map(|thread| (thread.process, thread.tid)).collect();
        Self { profile, recorded, stepping }
    }

    /// The part and the rank a place belongs to, and the name of its stage.
    fn of_place(&self, place: &Place) -> (SampledPart, u32, Option<String>) {
        let Some(thread) = self.profile.threads.get(&place.thread) else {
            return (SampledPart::Others, self.profile.facts.rank, None);
        };
        let process = self.recorded.get(&thread.process).copied();
        let part = self.part_of(thread, process);
        // One command may have started the processes of several ranks.
        let rank = process.map_or(self.profile.facts.rank, |process| process.facts.rank);
        (part, rank, stage_of(part, place.stage, process))
    }

    fn part_of(&self, thread: &SampledThread, process: Option<&Process>) -> SampledPart {
        let is_first = self.profile.processes.get(&thread.process).is_some_and(|one| one.pid == thread.tid);
        match process.map(part) {
            Some(Part::LoaderWorker) if thread.lane.is_some() || is_first => SampledPart::LoaderWorkers,
            Some(Part::Rank) if self.stepping.contains(&(thread.process, thread.tid)) => {
                SampledPart::Training
            }
            // Where nothing recorded, the first thread is what the command is about.
            None if self.recorded.is_empty() && is_first => SampledPart::Training,
            _ => SampledPart::Others,
        }
    }
}

fn stage_of(part: SampledPart, stage: Option<StageId>, process: Option<&Process>) -> Option<String> {
    let process = process?;
    match (part, stage) {
        // Before it recorded, as the run's ledger has it.
        (SampledPart::Training | SampledPart::LoaderWorkers, None) => {
            Some(process.names.name(StageId::START_UP))
        }
        (SampledPart::Training, Some(stage)) => Some(process.names.name(stage)),
        (_, None) => None,
        // Elsewhere the background has no meaning of its own.
        (_, Some(stage)) if BACKGROUND.contains(&stage) => Some("idle".to_owned()),
        (_, Some(stage)) => Some(process.names.name(stage)),
    }
}
