//! A sweep on the machines of a Ray cluster: each repeat is a task on a node, its run folder comes back with it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use laptime_analyse::sweep::{SweepStatus, Turn};
use laptime_launch::Blocked;
use laptime_store::Collection;
use serde::Serialize;

use super::answer::{Answer, Request};
use super::keeper::Keeper;
use super::progress::{NodeRow, Progress};
use super::spread::{Event, Machines, conduct_on};
use super::state::{OnCluster, SweepState};
use crate::command::cluster::{Cluster, ClusterNode, Message, NoCluster};
use crate::failure::Failure;

/// How long to wait for a node when there is none left.
const WITHOUT_NODES: Duration = Duration::from_secs(60);
/// How often signals and the progress are looked after.
const BEAT: Duration = Duration::from_millis(100);

/// A repeat that runs.
struct Running {
    turn: Turn,
    node: ClusterNode,
}

/// What the Python is asked.
#[derive(Serialize)]
struct Ask<'a> {
    kind: &'static str,
    id: u64,
    node: &'a str,
    request: Request,
    /// Where the run folder is to go.
    into: PathBuf,
}

/// Measures what is wanted on the machines of a cluster; gives what ended that early.
pub(super) fn measure(
    on: &OnCluster,
    state: &mut SweepState,
    entry: &Collection,
    signals: &Blocked,
    progress: Progress<'_>,
) -> Result<Option<Failure>, NoCluster> {
    let asked = format!("could not sweep `{}` on Ray", state.plan.command.join(" "));
    let (cluster, nodes) = Cluster::connect(&asked, &on.wanted, &mut || signals.asks_to_end())?;
    let mut world = OnRay {
        cluster,
        nodes,
        at_once: on.at_once.max(1) as usize,
        running: BTreeMap::new(),
        begun: 0,
        tally: BTreeMap::new(),
        signals,
        keeper: Keeper::new(entry),
        progress,
        began: Instant::now(),
        without: None,
        trouble: None,
    };
    conduct_on(state, &mut world);
    world.progress.clear();
    Ok(world.trouble)
}

/// The cluster as a sweep uses it.
struct OnRay<'a> {
    cluster: Cluster,
    nodes: Vec<ClusterNode>,
    /// Repeats that a machine takes at a time.
    at_once: usize,
    running: BTreeMap<u64, Running>,
    begun: u64,
    /// Repeats that were begun on, and lost with, each node.
    tally: BTreeMap<String, (u64, u64)>,
    signals: &'a Blocked,
    keeper: Keeper<'a>,
    progress: Progress<'a>,
    began: Instant,
    /// Since when there has been no node.
    without: Option<Instant>,
    /// Why it cannot go on.
    trouble: Option<Failure>,
}

impl OnRay<'_> {
    fn running_on(&self, machine: &str) -> usize {
        self.running.values().filter(|one| one.node.node.machine == machine).count()
    }

    /// The node of a machine whose turn it is: the one that was given the least.
    fn node_of(&self, machine: &str) -> Option<ClusterNode> {
        let nodes = self.nodes.iter().filter(|node| node.node.machine == machine);
        nodes.min_by_key(|node| self.tally.get(&node.id).map_or(0, |(begun, _)| *begun)).cloned()
    }

    fn take(&mut self, message: Message) -> Event {
        match message {
            Message::Nodes { nodes } => {
                self.nodes = nodes;
                self.without = None;
                Event::Nothing
            }
            Message::Done { id, answer, .. } => self.done(id, answer),
            Message::Lost { id, reason, alone } => {
                let Some(Running { turn, node }) = self.running.remove(&id) else { return Event::Nothing };
                self.tally.entry(node.id).or_default().1 += 1;
                let again = if alone { "" } else { ", which is gone" };
                let what = format!("a repeat was lost on {}{again}: {reason}", node.node.name);
                self.progress.warn(&what);
                Event::Lost { turn, reason, alone }
            }
            Message::Warning { text } => {
                self.progress.warn(&text);
                Event::Nothing
            }
            message @ (Message::Error { .. } | Message::Ended) => self.stop(self.cluster.failure(message)),
        }
    }

    fn done(&mut self, id: u64, answer: serde_json::Value) -> Event {
        let Some(Running { turn, node }) = self.running.remove(&id) else { return Event::Nothing };
        match serde_json::from_value(answer).unwrap_or_default() {
            Answer { repeat: Some(mut repeat) } => {
                repeat.node = Some(node.node);
                Event::Made(turn, repeat)
            }
            Answer { repeat: None } => {
                Event::Lost { turn, reason: "it was interrupted there".to_owned(), alone: true }
            }
        }
    }

    fn stop(&mut self, failure: Failure) -> Event {
        self.trouble = Some(failure.hint("`laptime sweep --resume` goes on when the cluster is there again"));
        Event::Stopped
    }

    fn nobody_left(&mut self) -> Option<Event> {
        if !self.nodes.is_empty() {
            return None;
        }
        let since = *self.without.get_or_insert_with(Instant::now);
        let failure = || Failure::new("could not finish the sweep").because("no node of the cluster is left");
        (since.elapsed() > WITHOUT_NODES).then(|| self.stop(failure()))
    }

    fn rows(&self, state: &SweepState) -> Vec<NodeRow> {
        let row = |node: &ClusterNode| {
            let now = self.running.values().find(|one| one.node.id == node.id);
            let (begun, lost) = self.tally.get(&node.id).copied().unwrap_or_default();
            let running = self.running.values().filter(|one| one.node.id == node.id).count() as u64;
            NodeRow {
                name: node.node.name.clone(),
                cpus: node.node.cpus,
                made: begun.saturating_sub(lost + running),
                lost,
                now: now.map(|one| state.plan.point_name(one.turn.point)),
            }
        };
        self.nodes.iter().map(row).collect()
    }
}

impl Machines for OnRay<'_> {
    fn room(&self) -> Vec<String> {
        let mut machines: Vec<&str> = Vec::new();
        for node in &self.nodes {
            if !machines.contains(&node.node.machine.as_str()) {
                machines.push(&node.node.machine);
            }
        }
        let room = |machine: &&str| self.at_once.saturating_sub(self.running_on(machine));
        machines.iter().flat_map(|machine| vec![(*machine).to_owned(); room(machine)]).collect()
    }

    fn begin(&mut self, state: &SweepState, turn: Turn, machine: &str, limit: Option<Duration>) {
        let Some(node) = self.node_of(machine) else { return };
        let request = Request {
            plan: state.plan.clone(),
            round: turn.round,
            point: turn.point,
            limit_s: limit.map(|limit| limit.as_secs_f64()),
            no_hooks: state.no_hooks,
            runs: PathBuf::new(),
        };
        let into = self.keeper.entry.runs();
        self.begun += 1;
        self.cluster.say(&Ask { kind: "repeat", id: self.begun, node: &node.id, request, into });
        self.tally.entry(node.id.clone()).or_default().0 += 1;
        self.running.insert(self.begun, Running { turn, node });
    }

    fn next(&mut self, state: &SweepState) -> Event {
        loop {
            if self.signals.asks_to_end() {
                return Event::Stopped;
            }
            let rows = self.rows(state);
            self.progress.beat_on(state, &rows, self.began.elapsed());
            match self.cluster.hear(BEAT) {
                Some(message) => return self.take(message),
                None => {
                    if let Some(event) = self.nobody_left() {
                        return event;
                    }
                }
            }
        }
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn keep(&mut self, state: &SweepState) {
        if let Some(trouble) = self.keeper.keep(state, state.status != SweepStatus::Running) {
            self.progress.warn(&trouble);
        }
        self.progress.made(state, self.began.elapsed());
    }
}
