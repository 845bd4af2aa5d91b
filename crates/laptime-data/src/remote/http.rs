//! HTTP, with or without encryption: ranges of files, and the index pages of servers as folders.

mod body;
mod exchange;
mod head;
mod index;

use std::collections::{HashSet, VecDeque};
use std::ops::{ControlFlow, Range};

use crate::source::{Object, SourceError};

use super::address::{Address, decoded, encoded};
use super::limits::Limits;
use super::netrc::login_for;
use super::{Fetched, Listed, Opening, Protocol, Session};

pub(super) use exchange::{Access, Asked, Exchange};
use index::{Entry, entries};

/// The longest index page that is read.
const LONGEST_PAGE: u64 = 32 << 20;

/// Folders that are entered; more are a server that makes them up.
const MOST_FOLDERS: usize = 100_000;

/// A file, or a folder with an index page, that a URL leads to.
#[derive(Clone, Debug)]
pub struct Http {
    address: Address,
    access: Access,
    limits: Limits,
}

impl Http {
    /// The place at an address, with the login that the address or `~/.netrc` has for it.
    #[must_use]
    pub fn new(address: Address, limits: Limits) -> Self {
        Self { access: login_for(&address).map_or(Access::None, Access::Login), address, limits }
    }
}

impl Protocol for Http {
    fn name(&self) -> &'static str {
        self.address.scheme.name()
    }

    fn open(&self) -> Result<Box<dyn Session>, SourceError> {
        let exchange = Exchange::open(&self.address, self.access.clone(), self.limits)?;
        Ok(Box::new(HttpSession { place: self.address.clone(), exchange }))
    }
}

struct HttpSession {
    place: Address,
    exchange: Exchange,
}

impl HttpSession {
    /// Where an object is: the place itself, or below it.
    fn address_of(&self, name: &str) -> Address {
        if !self.place.path.ends_with('/') && self.place.file_name() == name {
            return self.place.clone();
        }
        let folder = self.place.path.trim_end_matches('/');
        let path = format!("{folder}/{}", encoded(name, "/"));
        Address { path, query: None, ..self.place.clone() }
    }

    /// The files and folders that a page names.
    fn page(&mut self, address: &Address) -> Result<Vec<Entry>, SourceError> {
        let mut text = Vec::new();
        let mut keep = |piece: &[u8]| {
            text.extend_from_slice(piece);
            ControlFlow::Continue(())
        };
        let asked = Asked { address: address.clone(), range: None, most: LONGEST_PAGE };
        self.exchange.get(&asked, &mut keep)?;
        Ok(entries(&String::from_utf8_lossy(&text), address))
    }

    /// What is known of a file by asking for its first byte.
    fn length(&mut self, address: &Address) -> Result<Option<u64>, SourceError> {
        let asked = Asked { address: address.clone(), range: Some(0..1), most: 1 };
        let answer = self.exchange.get(&asked, &mut |_| ControlFlow::Continue(()))?;
        Ok(answer.total)
    }
}

impl Session for HttpSession {
    fn opening(&self) -> Opening {
        self.exchange.opening()
    }

    fn list(&mut self, found: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<Listed, SourceError> {
        let asked = Asked { address: self.place.clone(), range: Some(0..1), most: 1 };
        let answer = self.exchange.get(&asked, &mut |_| ControlFlow::Continue(()))?;
        if !(answer.is_html && answer.address.path.ends_with('/')) {
            let name = self.place.file_name();
            let _ = found(Object { name, bytes: answer.total });
            return Ok(Listed::Object);
        }
        // A folder without its slash redirects to the one with it.
        self.place = answer.address;
        let top = self.place.clone();
        let mut entered = HashSet::from([top.path.clone()]);
        let mut folders = VecDeque::from([top.clone()]);
        while let Some(folder) = folders.pop_front() {
            for entry in self.page(&folder)? {
                let Some(name) = entry.address.path.strip_prefix(&top.path).map(decoded) else { continue };
                if entry.is_folder() {
                    if entered.len() < MOST_FOLDERS && entered.insert(entry.address.path.clone()) {
                        folders.push_back(entry.address);
                    }
                    continue;
                }
                let bytes = match entry.bytes {
                    Some(bytes) => Some(bytes),
                    None => self.length(&entry.address).ok().flatten(),
                };
                if found(Object { name, bytes }).is_break() {
                    return Ok(Listed::Folder);
                }
            }
        }
        Ok(Listed::Folder)
    }

    fn fetch(
        &mut self,
        name: &str,
        range: Range<u64>,
        received: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Fetched, SourceError> {
        let most = range.end.saturating_sub(range.start);
        let asked = Asked { address: self.address_of(name), range: Some(range), most };
        Ok(self.exchange.get(&asked, received)?.fetched)
    }
}

/// Reads an answer as it comes from a server, for tests of damaged ones.
#[cfg(test)]
pub(super) fn read_answer(bytes: &mut &[u8], most: u64) {
    if let Ok(head) = head::Head::read(bytes) {
        let _ = body::read_body(bytes, &head, most, &mut |_| ControlFlow::Continue(()));
    }
}

/// Reads an index page, for tests of damaged ones.
#[cfg(test)]
pub(super) fn read_page(text: &str) {
    if let Ok(address) = Address::parse("http://host/set/") {
        let _ = entries(text, &address);
    }
}
