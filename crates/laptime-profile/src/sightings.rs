//! Sightings: what was seen where, with equal stacks added up, until it is written.

use std::collections::HashMap;
use std::hash::Hash;

use laptime_core::{CallNode, ProfileRecord, SampledFunction, Sighting, StageId};

use crate::code_object::Code;

/// Functions and places that are kept apart: memory stays below some 20 MB whatever is run.
const MOST_FUNCTIONS: usize = 50_000;
const MOST_NODES: usize = 100_000;

/// Where one thread was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) thread: u32,
    pub(crate) stage: Option<StageId>,
    pub(crate) waiting: bool,
    pub(crate) node: u32,
}

/// What was seen since the last time it was written.
#[derive(Debug, Default)]
pub(crate) struct Sightings {
    functions: HashMap<Code, u32>,
    nodes: HashMap<(Option<u32>, u32), u32>,
    counts: HashMap<Place, (u64, u64)>,
    /// Functions and nodes not yet reported.
    news: Vec<ProfileRecord>,
    full: bool,
}

impl Sightings {
    /// The number of a function.
    pub(crate) fn function(&mut self, code: &Code) -> u32 {
        if let Some(known) = self.functions.get(code) {
            return *known;
        }
        let (code, full) = match self.functions.len() < MOST_FUNCTIONS {
            true => (code.clone(), false),
            false => (Code { name: "(functions not kept apart)".into(), ..Code::default() }, true),
        };
        self.full |= full;
        let (function, new) = number(&mut self.functions, code.clone());
        if new {
            let Code { name, file, line } = code;
            self.news.push(ProfileRecord::Function(SampledFunction { function, name, file, line }));
        }
        function
    }

    /// The place in the tree of calls of a stack, given from the outermost function; `None` for an empty one.
    pub(crate) fn node(&mut self, stack: impl Iterator<Item = u32>) -> Option<u32> {
        let mut caller = None;
        for function in stack {
            if self.nodes.len() >= MOST_NODES && !self.nodes.contains_key(&(caller, function)) {
                // What is not kept apart counts for the function it was called from.
                self.full = true;
                break;
            }
            let (node, new) = number(&mut self.nodes, (caller, function));
            if new {
                self.news.push(ProfileRecord::Node(CallNode { node, caller, function }));
            }
            caller = Some(node);
        }
        caller
    }

    /// Adds one sample that stands for so many microseconds.
    pub(crate) fn add(&mut self, place: Place, micros: u64) {
        let (samples, sum) = self.counts.entry(place).or_default();
        *samples += 1;
        *sum = sum.saturating_add(micros);
    }

    /// Whether some things are no longer kept apart.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Takes out everything that was not taken yet, names before what uses them.
    pub(crate) fn take(&mut self) -> Vec<ProfileRecord> {
        let mut records = std::mem::take(&mut self.news);
        records.extend(self.counts.drain().map(|(place, (samples, micros))| {
            let Place { thread, stage, waiting, node } = place;
            ProfileRecord::Seen(Sighting { thread, stage, waiting, node, samples, micros })
        }));
        records
    }
}

/// The number of a key, and whether it is new.
fn number<K: Eq + Hash>(numbers: &mut HashMap<K, u32>, key: K) -> (u32, bool) {
    let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    let number = *numbers.entry(key).or_insert(next);
    (number, number == next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(name: &str) -> Code {
        Code { name: name.into(), file: "train.py".into(), line: 3 }
    }

    #[test]
    fn equal_stacks_are_added_up_and_names_are_reported_once() {
        let mut sightings = Sightings::default();
        for round in 0..3 {
            let [main, step] = ["main", "step"].map(|name| sightings.function(&code(name)));
            let node = sightings.node([main, step].into_iter()).unwrap();
            let place = Place { thread: 0, stage: Some(StageId::FORWARD), waiting: false, node };
            sightings.add(place, 10_000);
            sightings.add(place, 5_000);
            let records = sightings.take();
            assert_eq!(records.len(), if round == 0 { 5 } else { 1 });
            let Some(ProfileRecord::Seen(seen)) = records.last() else { panic!("{records:?}") };
            assert_eq!((seen.samples, seen.micros, seen.node), (2, 15_000, 1));
        }
        assert!(sightings.take().is_empty());
        assert_eq!(sightings.node(std::iter::empty()), None);
    }

    #[test]
    fn memory_is_bounded_and_that_is_reported() {
        let mut sightings = Sightings::default();
        for at in 0..MOST_FUNCTIONS + 100 {
            sightings.function(&code(&at.to_string()));
        }
        assert!(sightings.is_full());
        assert_eq!(sightings.functions.len(), MOST_FUNCTIONS + 1);
        for at in 0..MOST_NODES + 100 {
            let node = sightings.node([7, u32::try_from(at).unwrap()].into_iter());
            assert!(node.is_some());
        }
        assert_eq!(sightings.nodes.len(), MOST_NODES);
    }
}
