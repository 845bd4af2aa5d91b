//! SFTP through the system's `ssh`, which knows keys, agents, host keys and `~/.ssh/config` better than anybody.

mod packet;

use std::collections::VecDeque;
use std::io::{BufReader, Write};
use std::ops::{ControlFlow, Range};
use std::time::Instant;

use crate::source::{Object, SourceError};

use super::address::Address;
use super::limits::Limits;
use super::spoken::Spoken;
use super::{Fetched, Listed, Opening, Protocol, Session};

use packet::{Attributes, Packet, Request};

/// Bytes of a request, and requests under way: what OpenSSH's own client has, 2 MiB.
const PIECE: u32 = 32 << 10;
const UNDER_WAY: usize = 64;

/// Folders within folders; more are a loop of links.
const DEEPEST: usize = 64;

/// A file or folder of a machine that `ssh` reaches.
#[derive(Clone, Debug)]
pub struct Sftp {
    address: Address,
    limits: Limits,
}

impl Sftp {
    /// The place at an address.
    ///
    /// # Errors
    /// When the address has a password: `ssh` takes keys.
    pub fn new(address: Address, limits: Limits) -> Result<Self, SourceError> {
        match address.password {
            Some(_) => {
                Err(SourceError::BadAddress("SFTP goes through ssh, which takes keys and no password"))
            }
            None => Ok(Self { address, limits }),
        }
    }

    /// The command: nothing is asked of a person, and a machine whose key is unknown or another is refused.
    fn words(&self) -> Vec<String> {
        let seconds = self.limits.connect.as_secs().max(1);
        let mut words = vec!["ssh".to_owned(), "-oBatchMode=yes".to_owned()];
        words.extend(["-oStrictHostKeyChecking=yes".to_owned(), format!("-oConnectTimeout={seconds}")]);
        words.extend([
            "-oClearAllForwardings=yes".to_owned(),
            "-oControlMaster=no".to_owned(),
            "-oControlPath=none".to_owned(),
        ]);
        if self.address.port != self.address.scheme.port() {
            words.push(format!("-p{}", self.address.port));
        }
        words.extend(self.address.user.iter().map(|user| format!("-oUser={user}")));
        words.extend(["-s".to_owned(), "--".to_owned(), self.address.host.clone(), "sftp".to_owned()]);
        words
    }
}

impl Protocol for Sftp {
    fn name(&self) -> &'static str {
        "sftp"
    }

    fn open(&self) -> Result<Box<dyn Session>, SourceError> {
        let started = Instant::now();
        let wire =
            BufReader::with_capacity(PIECE as usize + 1024, Spoken::start(&self.words(), &self.limits)?);
        let path = self.address.plain_path();
        // As for curl: `/~/` is the folder of the user.
        let root =
            path.strip_prefix("/~/").map_or(path.as_str(), |rest| if rest.is_empty() { "." } else { rest });
        let mut session = SftpSession {
            wire,
            limits: self.limits,
            root: root.to_owned(),
            next: 0,
            opening: Opening::default(),
        };
        session.wire.get_mut().allow(self.limits.connect * 2);
        session.send(&Request::Init)?;
        match session.receive()? {
            Packet::Version => {}
            _ => return Err(bad("it does not begin with its version")),
        }
        session.opening.login = Some(started.elapsed());
        Ok(Box::new(session))
    }
}

struct SftpSession {
    wire: BufReader<Spoken>,
    limits: Limits,
    root: String,
    next: u32,
    opening: Opening,
}

fn bad(reason: &str) -> SourceError {
    SourceError::BadAnswer(reason.to_owned())
}

impl SftpSession {
    fn send(&mut self, request: &Request<'_>) -> Result<u32, SourceError> {
        self.next = self.next.wrapping_add(1);
        let bytes = request.bytes(self.next);
        let wire = self.wire.get_mut();
        wire.write_all(&bytes).map_err(|error| wire.failed(&error))?;
        Ok(self.next)
    }

    fn receive(&mut self) -> Result<Packet, SourceError> {
        Packet::read(&mut self.wire).map_err(|error| self.wire.get_mut().failed(&error))
    }

    /// Sends a request and takes its answer; a status other than "ok" is an error.
    fn ask(&mut self, request: &Request<'_>) -> Result<Packet, SourceError> {
        self.wire.get_mut().allow(self.limits.answer);
        self.send(request)?;
        match self.receive()? {
            Packet::Status { code, message } => failed(code, message),
            packet => Ok(packet),
        }
    }

    fn attributes(&mut self, path: &str) -> Result<Attributes, SourceError> {
        match self.ask(&Request::Stat(path))? {
            Packet::Attributes(attributes) => Ok(attributes),
            _ => Err(bad("it does not say what a file is")),
        }
    }

    fn handle(&mut self, request: &Request<'_>) -> Result<Vec<u8>, SourceError> {
        match self.ask(request)? {
            Packet::Handle(handle) => Ok(handle),
            _ => Err(bad("it opens nothing")),
        }
    }

    /// Closes what was opened; an error of that changes nothing any more.
    fn close(&mut self, handle: &[u8]) -> Result<(), SourceError> {
        self.ask(&Request::Close(handle)).map(drop)
    }

    fn path_of(&self, name: &str) -> String {
        let root = self.root.trim_end_matches('/');
        if !self.root.ends_with('/') && root.rsplit('/').next() == Some(name) {
            return self.root.clone();
        }
        format!("{root}/{name}")
    }

    /// What lies in a folder, and in those below it.
    fn list_folder(
        &mut self,
        name: &str,
        depth: usize,
        found: &mut dyn FnMut(Object) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, SourceError> {
        let path = format!("{}/{name}", self.root.trim_end_matches('/'));
        let handle = self.handle(&Request::OpenFolder(&path))?;
        let mut folders = Vec::new();
        let mut flow = ControlFlow::Continue(());
        while flow.is_continue() {
            let entries = match self.ask(&Request::ReadFolder(&handle))? {
                Packet::Names(entries) => entries,
                Packet::End => break,
                _ => return Err(bad("it does not say what a folder has")),
            };
            for (entry, attributes) in entries.into_iter().filter(|(entry, _)| entry != "." && entry != "..")
            {
                let below = if name.is_empty() { entry } else { format!("{name}/{entry}") };
                let attributes = match attributes.is_link() {
                    true => self.attributes(&self.path_of(&below)).unwrap_or_default(),
                    false => attributes,
                };
                if attributes.is_folder() {
                    folders.push(below);
                } else if attributes.is_file()
                    && found(Object { name: below, bytes: attributes.bytes }).is_break()
                {
                    flow = ControlFlow::Break(());
                    break;
                }
            }
        }
        self.close(&handle)?;
        for folder in folders.into_iter().filter(|_| depth < DEEPEST) {
            if flow.is_break() {
                break;
            }
            match self.list_folder(&folder, depth + 1, found) {
                Ok(after) => flow = after,
                // A folder that may not be looked into does not hide the others.
                Err(SourceError::Denied(_) | SourceError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(flow)
    }

    /// Hands over the range of an opened file, many requests under way at a time.
    fn read_open(
        &mut self,
        handle: &[u8],
        range: Range<u64>,
        received: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<u64, SourceError> {
        let (mut asked, mut taken) = (range.start, range.start);
        let mut under_way: VecDeque<(u32, u32)> = VecDeque::new();
        let (mut over, mut short) = (false, false);
        while !(under_way.is_empty() && (over || asked >= range.end)) {
            while !over && !short && under_way.len() < UNDER_WAY && asked < range.end {
                let length = (range.end - asked).min(u64::from(PIECE)) as u32;
                under_way.push_back((self.send(&Request::Read { handle, start: asked, length })?, length));
                asked += u64::from(length);
            }
            let Some((_, length)) = under_way.pop_front() else { break };
            match self.receive()? {
                // After a short piece those under way are not its continuation.
                Packet::Data(_) if over || short => {}
                Packet::Data(bytes) => {
                    taken += bytes.len() as u64;
                    short = bytes.len() < length as usize;
                    over = bytes.is_empty() || bytes.len() > length as usize || received(&bytes).is_break();
                }
                Packet::End => over = true,
                Packet::Status { code, message } => return failed(code, message).map(|_| 0),
                _ => return Err(bad("it sends no data")),
            }
            if short && under_way.is_empty() {
                (asked, short) = (taken, false);
            }
        }
        Ok(taken - range.start)
    }
}

fn failed(code: u32, message: String) -> Result<Packet, SourceError> {
    match code {
        0 => Ok(Packet::Done),
        1 => Ok(Packet::End),
        2 => Err(SourceError::NotFound),
        3 => Err(SourceError::Denied(message)),
        _ => Err(SourceError::BadAnswer(message)),
    }
}

impl Session for SftpSession {
    fn opening(&self) -> Opening {
        self.opening
    }

    fn list(&mut self, found: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<Listed, SourceError> {
        let root = self.root.clone();
        let attributes = self.attributes(&root)?;
        if attributes.is_folder() {
            self.root = format!("{}/", root.trim_end_matches('/'));
            let _ = self.list_folder("", 0, found)?;
            return Ok(Listed::Folder);
        }
        let name = root.rsplit('/').next().unwrap_or_default().to_owned();
        let _ = found(Object { name, bytes: attributes.bytes });
        Ok(Listed::Object)
    }

    fn fetch(
        &mut self,
        name: &str,
        range: Range<u64>,
        received: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Fetched, SourceError> {
        let started = Instant::now();
        let handle = self.handle(&Request::Open(&self.path_of(name)))?;
        self.wire.get_mut().allow(self.limits.for_bytes(range.end.saturating_sub(range.start)));
        let mut first_byte = None;
        let mut noted = |piece: &[u8]| {
            first_byte.get_or_insert_with(|| started.elapsed());
            received(piece)
        };
        let bytes = self.read_open(&handle, range, &mut noted)?;
        self.close(&handle)?;
        Ok(Fetched { first_byte: first_byte.unwrap_or_else(|| started.elapsed()), bytes })
    }
}

/// Reads a packet, for tests of damaged ones.
#[cfg(test)]
pub(super) fn read_packet(bytes: &[u8]) {
    let long = [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat();
    let _ = Packet::read(&mut long.as_slice());
}
