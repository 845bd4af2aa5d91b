//! Whatever Python's fsspec knows: `hf://`, `gs://`, `az://`, `hdfs://` and many more, read as training reads it.

use std::ffi::{OsStr, OsString};
use std::io::{BufReader, Read, Write};
use std::ops::{ControlFlow, Range};
use std::time::Instant;

use serde::Deserialize;
use serde_json::json;

use crate::source::{Object, SourceError};

use super::limits::Limits;
use super::line::read_line;
use super::spoken::Spoken;
use super::{Fetched, Listed, Opening, Protocol, Session};

/// Given to Python as text, so that no package of ours has to be installed for it.
const PROGRAM: &str = include_str!("../../../../python/laptime/_place.py");

/// Bytes of a request: enough to be worth one, and few enough to break off between two.
const PIECE: u64 = 4 << 20;

/// Python takes longer to start than a connection to stand.
const START: u32 = 6;

/// A place that fsspec knows.
#[derive(Clone)]
pub struct Fsspec {
    url: String,
    protocol: &'static str,
    python: OsString,
    limits: Limits,
}

impl Fsspec {
    /// The place of a URL, through this Python.
    #[must_use]
    pub fn new(url: String, python: OsString, limits: Limits) -> Self {
        let scheme = url.split("://").next().unwrap_or_default();
        let known =
            ["hf", "hdfs", "gs", "gcs", "az", "abfs", "abfss", "memory", "webhdfs", "oss", "github", "smb"];
        let protocol = known.into_iter().find(|known| *known == scheme).unwrap_or("fsspec");
        Self { url, protocol, python, limits }
    }
}

impl Protocol for Fsspec {
    fn name(&self) -> &'static str {
        self.protocol
    }

    fn open(&self) -> Result<Box<dyn Session>, SourceError> {
        let started = Instant::now();
        let words = [self.python.as_os_str(), OsStr::new("-c"), OsStr::new(PROGRAM)];
        let wire = BufReader::with_capacity(64 << 10, Spoken::start(&words, &self.limits)?);
        let mut session = FsspecSession { wire, limits: self.limits, opening: Opening::default() };
        session.wire.get_mut().allow(self.limits.connect * START);
        session.say(&json!(self.url))?;
        session.hear()?;
        session.opening.login = Some(started.elapsed());
        Ok(Box::new(session))
    }
}

struct FsspecSession {
    wire: BufReader<Spoken>,
    limits: Limits,
    opening: Opening,
}

/// What Python answers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    name: Option<String>,
    bytes: Option<u64>,
    end: Option<String>,
    error: Option<String>,
    words: String,
}

impl FsspecSession {
    fn say(&mut self, request: &serde_json::Value) -> Result<(), SourceError> {
        let wire = self.wire.get_mut();
        wire.write_all(format!("{request}\n").as_bytes()).map_err(|error| wire.failed(&error))
    }

    fn hear(&mut self) -> Result<Answer, SourceError> {
        let line = read_line(&mut self.wire).map_err(|error| self.wire.get_mut().failed(&error))?;
        let answer: Answer = serde_json::from_str(&line)
            .map_err(|_| SourceError::BadAnswer("Python said something else".to_owned()))?;
        match answer.error.as_deref() {
            None => Ok(answer),
            Some("missing") => Err(SourceError::NotFound),
            Some("denied") => Err(SourceError::Denied(answer.words)),
            Some(_) => Err(SourceError::BadAnswer(answer.words)),
        }
    }
}

impl Session for FsspecSession {
    fn opening(&self) -> Opening {
        self.opening
    }

    fn list(&mut self, found: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<Listed, SourceError> {
        self.wire.get_mut().allow(self.limits.answer);
        self.say(&json!({ "list": true }))?;
        let mut wanted = true;
        loop {
            // Every object is an answer of its own.
            self.wire.get_mut().allow(self.limits.answer);
            match self.hear()? {
                Answer { end: Some(end), .. } => {
                    return Ok(if end == "object" { Listed::Object } else { Listed::Folder });
                }
                Answer { name: Some(name), bytes, .. } if wanted => {
                    wanted = found(Object { name, bytes }).is_continue();
                }
                _ => {}
            }
        }
    }

    fn fetch(
        &mut self,
        name: &str,
        range: Range<u64>,
        received: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Fetched, SourceError> {
        let started = Instant::now();
        let (mut at, mut first_byte) = (range.start, None);
        while at < range.end {
            let end = range.end.min(at + PIECE);
            self.wire.get_mut().allow(self.limits.for_bytes(end - at));
            self.say(&json!({ "read": name, "start": at, "end": end }))?;
            let length = self.hear()?.bytes.unwrap_or(0);
            if length > end - at {
                return Err(SourceError::BadAnswer("Python read more than was asked for".to_owned()));
            }
            first_byte.get_or_insert_with(|| started.elapsed());
            let mut piece = vec![0; length as usize];
            self.wire.read_exact(&mut piece).map_err(|error| self.wire.get_mut().failed(&error))?;
            at += length;
            if received(&piece).is_break() || length < PIECE {
                break;
            }
        }
        let first_byte = first_byte.unwrap_or_else(|| started.elapsed());
        Ok(Fetched { first_byte, bytes: at - range.start })
    }
}
