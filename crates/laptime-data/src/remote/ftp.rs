//! FTP, plain or encrypted: a control connection, and another for each file.

mod control;
mod listing;

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::ops::{ControlFlow, Range};
use std::time::Instant;

use crate::source::{Object, SourceError};

use super::address::{Address, Scheme};
use super::limits::Limits;
use super::line::read_line;
use super::netrc::{Login, login_for};
use super::wire::Wire;
use super::{Fetched, Listed, Opening, Protocol, Session};

use control::Control;
use listing::{Entry, Kind, entry};

/// Entries of a folder; more are made up.
const MOST_ENTRIES: usize = 2_000_000;

/// Folders that are entered.
const MOST_FOLDERS: usize = 100_000;

/// Bytes read at a time.
const BUFFER: usize = 128 << 10;

/// A file or folder of a server.
#[derive(Clone, Debug)]
pub struct Ftp {
    address: Address,
    login: Login,
    limits: Limits,
}

impl Ftp {
    /// The place at an address, with the login that it or `~/.netrc` has; else the one anybody may use.
    #[must_use]
    pub fn new(address: Address, limits: Limits) -> Self {
        let anybody = || Login { user: "anonymous".to_owned(), password: "laptime@".to_owned() };
        Self { login: login_for(&address).unwrap_or_else(anybody), address, limits }
    }
}

impl Protocol for Ftp {
    fn name(&self) -> &'static str {
        self.address.scheme.name()
    }

    fn open(&self) -> Result<Box<dyn Session>, SourceError> {
        let mut control = Control::open(&self.address, &self.limits)?;
        let started = Instant::now();
        if self.address.scheme == Scheme::Ftpes {
            control = control.encrypted()?;
        }
        control.log_in(&self.login)?;
        let home = control.home()?;
        let path = self.address.plain_path();
        // As for curl: from the folder that the login leads to, and `//` from the root.
        let path = path.strip_prefix('/').unwrap_or(&path);
        let root = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("{}/{path}", home.trim_end_matches('/'))
        };
        let tls = control.tls();
        let login = started
            .elapsed()
            .saturating_sub(tls.filter(|_| self.address.scheme == Scheme::Ftpes).unwrap_or_default());
        let opening = Opening { connect: control.connect(), tls, login: Some(login) };
        Ok(Box::new(FtpSession { control, limits: self.limits, root, opening }))
    }
}

struct FtpSession {
    control: Control,
    limits: Limits,
    /// Ends with a slash once it is known to be a folder.
    root: String,
    opening: Opening,
}

impl FtpSession {
    fn path_of(&self, name: &str) -> String {
        if !self.root.ends_with('/') && self.root.rsplit('/').next() == Some(name) {
            return self.root.clone();
        }
        format!("{}/{name}", self.root.trim_end_matches('/'))
    }

    /// What a folder has, as the server lists it.
    fn folder(&mut self, path: &str) -> Result<Vec<Entry>, SourceError> {
        self.control.ask(&format!("CWD {path}"))?;
        let (mut data, _) = self.control.transfer(&["LIST".to_owned()])?;
        data.get_mut().allow(self.limits.for_bytes(64 << 20));
        let mut entries = Vec::new();
        loop {
            let ended = data.fill_buf().map_or(true, <[u8]>::is_empty);
            if ended || entries.len() >= MOST_ENTRIES {
                break;
            }
            let line = read_line(&mut data).map_err(|error| data.get_ref().failed(&error))?;
            entries.extend(entry(&line));
        }
        drop(data);
        self.control.finish()?;
        Ok(entries)
    }

    fn list_from(&mut self, found: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<(), SourceError> {
        let mut folders = VecDeque::from([String::new()]);
        let mut entered = 0;
        while let Some(folder) = folders.pop_front() {
            let path = format!("{}{folder}", self.root);
            let entries = match self.folder(&path) {
                // A folder that may not be looked into does not hide the others.
                Err(SourceError::Denied(_) | SourceError::NotFound) if entered > 0 => continue,
                entries => entries?,
            };
            entered += 1;
            for Entry { name, kind, bytes } in entries {
                let below = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                match kind {
                    Kind::Folder if entered + folders.len() < MOST_FOLDERS => folders.push_back(below),
                    Kind::Folder => {}
                    Kind::File => {
                        if found(Object { name: below, bytes: Some(bytes) }).is_break() {
                            return Ok(());
                        }
                    }
                    Kind::Link => {
                        // Where it leads has a size if it is a file.
                        let Some(bytes) = self.control.size(&format!("{}{below}", self.root)).unwrap_or(None)
                        else {
                            continue;
                        };
                        if found(Object { name: below, bytes: Some(bytes) }).is_break() {
                            return Ok(());
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

impl Session for FtpSession {
    fn opening(&self) -> Opening {
        self.opening
    }

    fn list(&mut self, found: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<Listed, SourceError> {
        let root = self.root.clone();
        if !root.ends_with('/')
            && let Some(bytes) = self.control.size(&root)?
        {
            let name = root.rsplit('/').next().unwrap_or_default().to_owned();
            let _ = found(Object { name, bytes: Some(bytes) });
            return Ok(Listed::Object);
        }
        self.root = format!("{}/", root.trim_end_matches('/'));
        self.list_from(found)?;
        Ok(Listed::Folder)
    }

    fn fetch(
        &mut self,
        name: &str,
        range: Range<u64>,
        received: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Fetched, SourceError> {
        let started = Instant::now();
        let mut commands = vec![format!("RETR {}", self.path_of(name))];
        if range.start > 0 {
            commands.insert(0, format!("REST {}", range.start));
        }
        let wanted = range.end.saturating_sub(range.start);
        let (mut data, told) = self.control.transfer(&commands)?;
        data.get_mut().allow(self.limits.for_bytes(wanted));
        let mut first_byte = None;
        let mut noted = |piece: &[u8]| {
            first_byte.get_or_insert_with(|| started.elapsed());
            received(piece)
        };
        let (bytes, to_its_end) = take(&mut data, wanted, &mut noted)?;
        drop(data);
        match self.control.finish() {
            // One that is broken off is answered by an error, and goes on with the next command.
            Err(SourceError::Unreachable(error)) => return Err(SourceError::Unreachable(error)),
            Err(SourceError::TimedOut(seconds)) => return Err(SourceError::TimedOut(seconds)),
            Err(error) if to_its_end => return Err(error),
            _ => {}
        }
        if let Some(told) = told.filter(|told| to_its_end && range.start == 0 && bytes < *told) {
            return Err(SourceError::BadAnswer(format!("it ended after {bytes} of {told} bytes")));
        }
        Ok(Fetched { first_byte: first_byte.unwrap_or_else(|| started.elapsed()), bytes })
    }
}

/// Hands over at most so many bytes, and whether the connection ended by itself.
fn take(
    data: &mut BufReader<Wire>,
    most: u64,
    received: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<(u64, bool), SourceError> {
    let mut taken = 0;
    while taken < most {
        let buffer = match data.fill_buf() {
            Ok(buffer) => buffer,
            // Servers close without saying so first; the control connection says whether that was all.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok((taken, true)),
            Err(error) => return Err(data.get_ref().failed(&error)),
        };
        if buffer.is_empty() {
            return Ok((taken, true));
        }
        let length = buffer.len().min(usize::try_from(most - taken).unwrap_or(usize::MAX));
        let flow = received(&buffer[..length]);
        data.consume(length);
        taken += length as u64;
        if flow.is_break() {
            break;
        }
    }
    Ok((taken, false))
}

fn buffered(wire: Wire) -> BufReader<Wire> {
    BufReader::with_capacity(BUFFER, wire)
}

/// Reads a line of a listing, for tests of damaged ones.
#[cfg(test)]
pub(super) fn read_entry(line: &str) {
    let _ = entry(line);
}
