//! The records of one profile, folded.

use std::collections::{BTreeMap, HashMap};

use laptime_core::{
    CallNode, ProfileCost, ProfileFacts, ProfileRecord, ProfileTrouble, SampledFunction, SampledProcess,
    SampledThread, Sighting, StageId,
};

/// Where one thread was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) thread: u32,
    pub(crate) stage: Option<StageId>,
    pub(crate) waiting: bool,
    pub(crate) node: u32,
}

/// Everything a profile says. It grows with what is kept apart, not with the samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProfileFold {
    pub(crate) facts: ProfileFacts,
    pub(crate) cost: Option<ProfileCost>,
    pub(crate) troubles: Vec<ProfileTrouble>,
    pub(crate) processes: BTreeMap<u32, SampledProcess>,
    pub(crate) threads: BTreeMap<u32, SampledThread>,
    pub(crate) functions: HashMap<u32, SampledFunction>,
    nodes: HashMap<u32, CallNode>,
    /// Samples and microseconds.
    pub(crate) seen: BTreeMap<Place, (u64, u64)>,
}

impl ProfileFold {
    /// Takes the next record; what contradicts costs accuracy, never a panic.
    pub(crate) fn take(&mut self, record: &ProfileRecord) {
        match record {
            ProfileRecord::Began(facts) => self.facts = facts.clone(),
            ProfileRecord::Process(process) => drop(self.processes.insert(process.process, process.clone())),
            ProfileRecord::Thread(thread) => drop(self.threads.insert(thread.thread, thread.clone())),
            ProfileRecord::Function(function) => {
                self.functions.insert(function.function, function.clone());
            }
            // Callers are recorded before whom they call; a file that says otherwise could lead in circles.
            ProfileRecord::Node(node) if node.caller.is_none_or(|caller| caller < node.node) => {
                self.nodes.insert(node.node, *node);
            }
            ProfileRecord::Node(_) => {}
            ProfileRecord::Seen(seen) => self.see(seen),
            ProfileRecord::Cost(cost) => self.cost = Some(*cost),
            ProfileRecord::Trouble(trouble) => self.troubles.push(trouble.clone()),
        }
    }

    fn see(&mut self, seen: &Sighting) {
        let Sighting { thread, stage, waiting, node, .. } = *seen;
        let (samples, micros) = self.seen.entry(Place { thread, stage, waiting, node }).or_default();
        *samples = samples.saturating_add(seen.samples);
        *micros = micros.saturating_add(seen.micros);
    }

    /// The functions of a place in the tree of calls, from the outermost; those that are lost are left out, and
    /// so are laptime's own, whose time counts for the script's function that called them.
    pub(crate) fn calls(&self, node: u32) -> Vec<u32> {
        let known = |number: u32| self.nodes.get(&number);
        let path = std::iter::successors(known(node), |node| known(node.caller?));
        let is_shown = |number: &u32| self.functions.get(number).is_some_and(|function| !is_ours(function));
        let mut calls: Vec<u32> = path.map(|node| node.function).filter(is_shown).collect();
        calls.reverse();
        calls
    }
}

/// Whether a function is laptime's own: of its installed package, or of the file that Python starts with.
fn is_ours(function: &SampledFunction) -> bool {
    // `python` is where the package lies in its source.
    const AROUND: [&str; 3] = ["site-packages", "dist-packages", "python"];
    let folders: Vec<&str> = function.file.split('/').collect();
    let in_package = folders.windows(2).any(|pair| pair[1] == "laptime" && AROUND.contains(&pair[0]));
    let starts = |pair: &[&str]| pair[0].starts_with("hook-") && pair[1] == "sitecustomize.py";
    in_package || folders.windows(2).last().is_some_and(starts)
}
