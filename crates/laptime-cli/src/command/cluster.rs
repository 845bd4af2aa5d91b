//! A Ray cluster, spoken with through a Python of the user's: `python -m laptime.ray`.
//!
//! One line of JSON a message, both ways. That Python ends when its input does, so nothing on the cluster outlives
//! this program, however it ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use laptime_analyse::sweep::Node;
use laptime_launch::program;
use serde::{Deserialize, Serialize};

use crate::args::{ClusterArgs, On};
use crate::failure::Failure;
use crate::one_line::shown;

/// How long a cluster may take to answer at all: every node starts a Python and says what it is.
const CONNECT_LIMIT: Duration = Duration::from_secs(180);
/// How long the tasks of a cluster may take to end when they are to.
const END_LIMIT: Duration = Duration::from_secs(15);
/// How often whoever waits looks at something else.
const LOOK: Duration = Duration::from_millis(50);

/// What is wanted of a cluster: where it is, and what each piece of work asks of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Wanted {
    pub(super) on: On,
    pub(super) cpus: Option<f64>,
    pub(super) gpus: Option<f64>,
    pub(super) memory_bytes: Option<u64>,
}

impl Wanted {
    /// What the options ask for; `None` where the work is to be done here.
    pub(super) fn of(args: &ClusterArgs) -> Option<Self> {
        let ClusterArgs { on, cpus, gpus, memory } = args.clone();
        Some(Self { on: on?, cpus, gpus, memory_bytes: memory })
    }
}

/// A node that can take work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct ClusterNode {
    /// Ray's id of it.
    pub(super) id: String,
    #[serde(flatten)]
    pub(super) node: Node,
}

/// What the Python says.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Message {
    /// The nodes that can take work, at first and whenever they change.
    Nodes { nodes: Vec<ClusterNode> },
    /// A piece of work is done.
    Done {
        id: u64,
        answer: serde_json::Value,
        /// What came with the answer: the message says how many bytes follow it.
        #[serde(rename = "bytes", deserialize_with = "room_for", default)]
        body: Vec<u8>,
    },
    /// A piece of work is lost; `alone` where its node is still there.
    Lost { id: u64, reason: String, alone: bool },
    /// Something a person should know.
    Warning { text: String },
    /// Nothing can go on.
    Error { reason: String, hint: Option<String> },
    /// The Python has ended.
    #[serde(skip)]
    Ended,
}

#[derive(Serialize)]
struct Connect<'a> {
    kind: &'static str,
    address: Option<&'a str>,
    cpus: Option<f64>,
    gpus: Option<f64>,
    memory_bytes: Option<u64>,
    folder: &'a str,
}

/// Why there is no cluster.
pub(super) enum NoCluster {
    Interrupted,
    Failed(Failure),
}

/// A cluster that answers.
pub(super) struct Cluster {
    asked: String,
    python: String,
    child: Child,
    input: Mutex<Option<ChildStdin>>,
    messages: Mutex<Receiver<Message>>,
    last_words: Arc<Mutex<String>>,
}

impl Cluster {
    /// Connects with a cluster; `asked` is what fails when that does, and `stopped` is looked at meanwhile.
    pub(super) fn connect(
        asked: &str,
        wanted: &Wanted,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<(Self, Vec<ClusterNode>), NoCluster> {
        let cluster = Self::start(asked).map_err(NoCluster::Failed)?;
        let folder = std::env::current_dir().unwrap_or_default().to_string_lossy().into_owned();
        let Wanted { on, cpus, gpus, memory_bytes } = wanted.clone();
        let address = on.address.as_deref();
        cluster.say(&Connect { kind: "connect", address, cpus, gpus, memory_bytes, folder: &folder });
        let deadline = Instant::now() + CONNECT_LIMIT;
        loop {
            if stopped() {
                return Err(NoCluster::Interrupted);
            }
            match cluster.hear(LOOK) {
                Some(Message::Nodes { nodes }) => return Ok((cluster, nodes)),
                Some(Message::Warning { text }) => crate::screen::note(&text),
                Some(message) => return Err(NoCluster::Failed(cluster.failure(message))),
                None if Instant::now() > deadline => {
                    let failure = Failure::new(asked).because("the cluster did not answer within 3 minutes");
                    return Err(NoCluster::Failed(failure.hint("`ray status` says how it is")));
                }
                None => {}
            }
        }
    }

    fn start(asked: &str) -> Result<Self, Failure> {
        let failure = || Failure::new(asked);
        let python = program::python().ok_or_else(|| {
            failure().because("there is no Python here").hint("name one: LAPTIME_PYTHON=PATH laptime …")
        })?;
        let mut command = Command::new(&python);
        // Ctrl-C is for this program, which ends the other.
        command.args(["-P", "-m", "laptime.ray"]).process_group(0);
        command.env("LAPTIME_DISABLED", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let python = shown(&python.to_string_lossy());
        let mut child = command
            .spawn()
            .map_err(|error| failure().because(format!("{python} could not be started")).caused_by(&error))?;
        let (sender, messages) = channel();
        let last_words = Arc::new(Mutex::new(String::new()));
        if let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) {
            let kept = Arc::clone(&last_words);
            thread::spawn(move || pass_on(output, &sender));
            thread::spawn(move || keep_last(errors, &kept));
        }
        let (input, messages) = (Mutex::new(child.stdin.take()), Mutex::new(messages));
        Ok(Self { asked: asked.to_owned(), python, child, input, messages, last_words })
    }

    /// Sends a message. One that has ended is heard of when it is listened to.
    pub(super) fn say(&self, message: &impl Serialize) {
        let mut line = serde_json::to_vec(message).unwrap_or_default();
        line.push(b'\n');
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = input.as_mut().map(|input| input.write_all(&line));
    }

    /// The next message; `None` when there is none for so long.
    pub(super) fn hear(&self, patience: Duration) -> Option<Message> {
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        match messages.recv_timeout(patience) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Message::Ended),
        }
    }

    /// What a message means that says that nothing can go on.
    pub(super) fn failure(&self, message: Message) -> Failure {
        let failure = Failure::new(&self.asked);
        match message {
            Message::Error { reason, hint } => {
                let failure = failure.because(shown(&reason));
                match hint {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                }
            }
            Message::Ended => {
                // Its last line comes a moment after its end.
                thread::sleep(LOOK);
                let last = self.last_words.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let without = last.contains("No module named");
                let failure = failure.because(format!("{} -m laptime.ray ended on its own", self.python));
                let failure = if last.is_empty() { failure } else { failure.because(shown(&last)) };
                match without {
                    true => failure
                        .hint("pip install 'laptime[ray]' there; LAPTIME_PYTHON=PATH names another Python"),
                    false => failure,
                }
            }
            _ => failure.because(format!("{} said something unexpected", self.python)),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // It cancels what still runs, and ends.
        *self.input.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let deadline = Instant::now() + END_LIMIT;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(LOOK / 5);
        }
    }
}

fn pass_on(output: ChildStdout, sender: &Sender<Message>) {
    let mut output = BufReader::new(output);
    let mut line = String::new();
    while output.read_line(&mut line).is_ok_and(|read| read > 0) {
        let unclear =
            || Message::Error { reason: format!("its Python said `{}`", line.trim_end()), hint: None };
        let mut message = serde_json::from_str(&line).unwrap_or_else(|_| unclear());
        line.clear();
        if let Message::Done { body, .. } = &mut message
            && output.read_exact(body).is_err()
        {
            return;
        }
        if sender.send(message).is_err() {
            return;
        }
    }
}

/// As many bytes as a number says.
fn room_for<'de, D: serde::Deserializer<'de>>(number: D) -> Result<Vec<u8>, D::Error> {
    usize::deserialize(number).map(|bytes| vec![0; bytes])
}

/// Keeps the last line with anything in it.
fn keep_last(errors: ChildStderr, kept: &Mutex<String>) {
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    while read_line(&mut errors, &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        if !text.is_empty() {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = text;
        }
    }
}

/// The next line, of which no more is kept than anybody reads.
fn read_line(from: &mut BufReader<ChildStderr>, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    from.by_ref().take(1 << 16).read_until(b'\n', line)
}
