//! A source whose blocks are read by the nodes of a cluster. What is written, and in which order, is decided here, so
//! the pack is the one that this machine alone would write.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use laptime_data::pack::{BlockReader, PackSource, SourceError};
use laptime_load::pack::{PackSchema, RowBlock};
use serde::Serialize;

use super::server::{WireError, WireSource};
use super::wire::from_bytes;
use crate::command::cluster::{Cluster, ClusterNode, Message};

/// A block that is lost this often on nodes that live is one that cannot be read.
const MOST_LOSSES: u32 = 3;
/// How long to wait for a node when there is none left.
const WITHOUT_NODES: Duration = Duration::from_secs(60);
/// How often whoever waits looks at something else.
const LOOK: Duration = Duration::from_millis(50);

type Read = Result<RowBlock, SourceError>;

/// A block that a node reads, or that waits for one.
struct Asked {
    block: usize,
    node: Option<String>,
    losses: u32,
    reader: Sender<Read>,
}

/// What the readers and the thread that listens share.
struct Desk {
    cluster: Cluster,
    request: WireSource,
    state: Mutex<State>,
    closed: AtomicBool,
}

struct State {
    nodes: Vec<ClusterNode>,
    asked: BTreeMap<u64, Asked>,
    numbers: u64,
    without: Option<Instant>,
}

/// The source, read elsewhere.
pub(super) struct Spread {
    inner: Box<dyn PackSource>,
    desk: Arc<Desk>,
    /// Whether blocks are cut anew, which only this process knows of: then it reads them itself.
    here: AtomicBool,
}

#[derive(Serialize)]
struct Ask<'a> {
    kind: &'static str,
    id: u64,
    node: &'a str,
    request: BlockRequest<'a>,
}

#[derive(Serialize)]
struct BlockRequest<'a> {
    source: &'a WireSource,
    block: usize,
}

impl Spread {
    pub(super) fn new(
        inner: Box<dyn PackSource>,
        request: WireSource,
        (cluster, nodes): (Cluster, Vec<ClusterNode>),
    ) -> Self {
        let state = State { nodes, asked: BTreeMap::new(), numbers: 0, without: None };
        let closed = AtomicBool::new(false);
        let desk = Arc::new(Desk { cluster, request, state: Mutex::new(state), closed });
        let listening = Arc::clone(&desk);
        thread::spawn(move || listening.listen());
        Self { inner, desk, here: AtomicBool::new(false) }
    }
}

impl Drop for Spread {
    fn drop(&mut self) {
        self.desk.closed.store(true, Ordering::Release);
    }
}

impl PackSource for Spread {
    fn schema(&self) -> &PackSchema {
        self.inner.schema()
    }

    fn blocks(&self) -> Option<usize> {
        self.inner.blocks()
    }

    fn rows(&self) -> Option<u64> {
        self.inner.rows()
    }

    fn rows_of(&self, block: usize) -> Option<u64> {
        self.inner.rows_of(block)
    }

    fn reader(&self) -> Result<Box<dyn BlockReader + '_>, SourceError> {
        if self.here.load(Ordering::Acquire) {
            return self.inner.reader();
        }
        Ok(Box::new(SpreadReader { desk: &self.desk }))
    }

    fn cut_again(&self, block: usize) -> Result<(), SourceError> {
        self.here.store(true, Ordering::Release);
        self.inner.cut_again(block)
    }

    fn cancel(&self) {
        // Who waits for a node hears no more of it.
        self.desk.lock().asked.clear();
        self.inner.cancel();
    }

    fn remarks(&self) -> Vec<String> {
        self.inner.remarks()
    }
}

struct SpreadReader<'a> {
    desk: &'a Desk,
}

impl BlockReader for SpreadReader<'_> {
    fn read(&mut self, block: usize) -> Result<Option<RowBlock>, SourceError> {
        if self.desk.request.blocks <= block {
            return Ok(None);
        }
        let (reader, read): (Sender<Read>, Receiver<Read>) = channel();
        let mut state = self.desk.lock();
        state.numbers += 1;
        let number = state.numbers;
        state.asked.insert(number, Asked { block, node: None, losses: 0, reader });
        self.desk.give_out(&mut state);
        drop(state);
        loop {
            match read.recv_timeout(LOOK) {
                Ok(read) => return read.map(Some),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(SourceError::Stopped),
            }
        }
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives what waits to the nodes that have the least to do.
    fn give_out(&self, state: &mut State) {
        let State { nodes, asked, .. } = state;
        let waiting: Vec<u64> =
            asked.iter().filter(|(_, one)| one.node.is_none()).map(|(at, _)| *at).collect();
        for number in waiting {
            let load = |node: &&ClusterNode| {
                let given = asked.values().filter(|one| one.node.as_ref() == Some(&node.id)).count();
                given * 1_000 / node.node.cpus.max(1) as usize
            };
            let Some(node) = nodes.iter().min_by_key(load) else { return };
            let Some(one) = asked.get_mut(&number) else { continue };
            one.node = Some(node.id.clone());
            let request = BlockRequest { source: &self.request, block: one.block };
            self.cluster.say(&Ask { kind: "block", id: number, node: &node.id, request });
        }
    }

    fn listen(&self) {
        while !self.closed.load(Ordering::Acquire) {
            let message = self.cluster.hear(LOOK);
            let mut state = self.lock();
            match message {
                None => self.mind_the_nodes(&mut state),
                Some(Message::Nodes { nodes }) => state.nodes = nodes,
                Some(Message::Done { id, answer, body }) => {
                    if let Some(one) = state.asked.remove(&id) {
                        let _ = one.reader.send(block_of(answer, &body));
                    }
                }
                Some(Message::Lost { id, reason, alone }) => lost(&mut state, id, &reason, alone),
                Some(Message::Warning { text }) => crate::screen::note(&text),
                Some(message @ (Message::Error { .. } | Message::Ended)) => {
                    let failure = self.cluster.failure(message);
                    return give_up(&mut state, &failure.because.join(": "));
                }
            }
            self.give_out(&mut state);
        }
    }

    fn mind_the_nodes(&self, state: &mut State) {
        if !state.nodes.is_empty() {
            state.without = None;
        } else if state.without.get_or_insert_with(Instant::now).elapsed() > WITHOUT_NODES {
            give_up(state, "no node of the cluster is left");
        }
    }
}

fn block_of(answer: serde_json::Value, body: &[u8]) -> Read {
    let error: Option<WireError> = serde_json::from_value(answer).ok().flatten();
    if let Some(error) = error {
        return Err(error.into_error());
    }
    from_bytes(body).ok_or_else(|| {
        let problem = "a node of the cluster sent what is no block".to_owned();
        SourceError::Unfit { problem, hint: "every node needs this version of laptime".to_owned() }
    })
}

/// What was lost with a node is read by another; what is lost again and again cannot be read.
fn lost(state: &mut State, id: u64, reason: &str, alone: bool) {
    let Some(one) = state.asked.get_mut(&id) else { return };
    one.node = None;
    one.losses += u32::from(alone);
    if one.losses >= MOST_LOSSES
        && let Some(one) = state.asked.remove(&id)
    {
        let problem = format!("block {} was lost {MOST_LOSSES} times: {reason}", one.block);
        let hint = "pack it here, without --on, to see what happens to it".to_owned();
        let _ = one.reader.send(Err(SourceError::Unfit { problem, hint }));
    }
}

/// Nobody reads any more.
fn give_up(state: &mut State, why: &str) {
    for (_, one) in std::mem::take(&mut state.asked) {
        let hint = "the same command goes on when the cluster is there again".to_owned();
        let _ = one.reader.send(Err(SourceError::Unfit { problem: why.to_owned(), hint }));
    }
}
