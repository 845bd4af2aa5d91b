//! Blocks of a source for a pack that is written elsewhere: what a node of a cluster reads.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use laptime_data::pack::{OpenOptions, PythonCommand, SourceError, TableOptions, TargetType, open_source};
use laptime_launch::program::python;
use serde::{Deserialize, Serialize};

use super::wire::to_bytes;

/// A source as it was asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct WireSource {
    pub(super) paths: Vec<PathBuf>,
    pub(super) target: Option<String>,
    pub(super) whole_target: bool,
    pub(super) allow_nan: bool,
    pub(super) decode: Option<usize>,
    pub(super) map: Option<String>,
    /// Blocks that whoever asks has found; a node that finds others reads something else.
    pub(super) blocks: usize,
}

/// Why a block could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WireError {
    pub(super) problem: String,
    pub(super) hint: Option<String>,
    pub(super) traceback: Vec<String>,
    /// Blocks from here on must be cut in another way.
    pub(super) cut_again: bool,
}

/// What comes of a block: its bytes, or why there are none, as JSON.
type Read = Result<Vec<u8>, String>;

/// Reads the blocks of one source, with a thread that keeps what it reads with from one block to the next.
pub struct BlockServer {
    talk: Mutex<(Sender<usize>, Receiver<Read>)>,
}

impl BlockServer {
    /// Opens the source that the request, a JSON document, describes.
    #[must_use]
    pub fn open(request: String) -> Self {
        let (ask, asked) = channel();
        let (answer, answers) = channel();
        thread::spawn(move || serve(&request, &asked, &answer));
        Self { talk: Mutex::new((ask, answers)) }
    }

    /// The bytes of a block.
    ///
    /// # Errors
    /// Why it cannot be read, as a JSON document.
    pub fn read(&self, block: usize) -> Result<Vec<u8>, String> {
        let talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        // Who reads has ended only by a panic, which is said on standard error.
        let gone = || "{\"problem\":\"reading failed by a bug of laptime\"}".to_owned();
        talk.0.send(block).map_err(|_| gone())?;
        talk.1.recv().map_err(|_| gone())?
    }
}

fn serve(request: &str, asked: &Receiver<usize>, answer: &Sender<Read>) {
    let failed = |error: &SourceError| serde_json::to_string(&WireError::of(error)).unwrap_or_default();
    let opened = serde_json::from_str(request)
        .map_err(|error| unlike(&error.to_string()))
        .and_then(|wire: WireSource| Ok((open_source(&wire.paths, &wire.options())?, wire.blocks)));
    let checked = opened.and_then(|(opened, blocks)| match opened.source.blocks() {
        Some(found) if found == blocks => Ok(opened),
        found => Err(unlike(&format!("{} blocks instead of {blocks}", found.unwrap_or(0)))),
    });
    let mut reader = match &checked {
        Ok(opened) => opened.source.reader(),
        Err(error) => Err(unlike(&error.to_string())),
    };
    while let Ok(block) = asked.recv() {
        let read = match (&checked, &mut reader) {
            (Err(error), _) => Err(failed(error)),
            (_, Err(error)) => Err(failed(error)),
            (_, Ok(reader)) => match reader.read(block) {
                Ok(Some(rows)) => Ok(to_bytes(&rows)),
                Ok(None) => Err(failed(&unlike(&format!("no block {block}")))),
                Err(error) => Err(failed(&error)),
            },
        };
        if answer.send(read).is_err() {
            return;
        }
    }
}

fn unlike(what: &str) -> SourceError {
    let problem = format!("a node of the cluster finds another source: {what}");
    SourceError::Unfit { problem, hint: "all nodes must see the same files under the same names".to_owned() }
}

impl WireSource {
    pub(super) fn of(paths: &[PathBuf], options: &OpenOptions, blocks: usize) -> Self {
        let OpenOptions { table, decode, map, .. } = options.clone();
        Self {
            paths: paths.to_vec(),
            target: table.target,
            whole_target: table.target_type == TargetType::Int64,
            allow_nan: table.allow_nan,
            decode,
            map,
            blocks,
        }
    }

    fn options(&self) -> OpenOptions {
        let target_type = if self.whole_target { TargetType::Int64 } else { TargetType::Float32 };
        OpenOptions {
            table: TableOptions { target: self.target.clone(), target_type, allow_nan: self.allow_nan },
            decode: self.decode,
            map: self.map.clone(),
            python: PythonCommand { program: python() },
        }
    }
}

impl WireError {
    pub(super) fn of(error: &SourceError) -> Self {
        let cut_again = matches!(error, SourceError::CutAgain);
        let traceback = match error {
            SourceError::Python { traceback, .. } => traceback.clone(),
            _ => Vec::new(),
        };
        Self { problem: error.to_string(), hint: error.hint(), traceback, cut_again }
    }

    pub(super) fn into_error(self) -> SourceError {
        match self {
            Self { cut_again: true, .. } => SourceError::CutAgain,
            Self { problem, hint: Some(hint), .. } => SourceError::Unfit { problem, hint },
            Self { problem, traceback, .. } => SourceError::Python { problem, traceback },
        }
    }
}
