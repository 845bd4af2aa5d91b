//! A place across a network as a source: sessions are kept open for the next who asks.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::source::{Object, Source, SourceError};

use super::{Listed, Protocol, Session};

/// Sessions kept open; servers count them.
const MOST_IDLE: usize = 16;

/// The most that is read in one piece, whatever is asked.
const LONGEST_READ: u64 = 64 << 20;

/// A place across a network.
pub struct Remote {
    place: String,
    protocol: Box<dyn Protocol>,
    idle: Mutex<Vec<Box<dyn Session>>>,
    /// Whether it took too long once: who waits for each of a thousand reads waits for hours.
    gave_up: AtomicBool,
    /// Whether the place was found to be an object itself.
    one_object: AtomicBool,
}

impl Remote {
    /// A place that this protocol leads to; `place` is shown and has no secrets.
    #[must_use]
    pub fn new(place: String, protocol: Box<dyn Protocol>) -> Self {
        Self {
            place,
            protocol,
            idle: Mutex::default(),
            gave_up: AtomicBool::new(false),
            one_object: AtomicBool::new(false),
        }
    }

    /// The protocol, for whoever wants sessions of their own.
    #[must_use]
    pub fn protocol(&self) -> &dyn Protocol {
        &*self.protocol
    }

    /// Whether the place is an object itself, known once it was listed.
    #[must_use]
    pub fn is_one_object(&self) -> bool {
        self.one_object.load(Ordering::Relaxed)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Box<dyn Session>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session that stood idle, and whether it did.
    fn session(&self) -> Result<(Box<dyn Session>, bool), SourceError> {
        if self.gave_up.load(Ordering::Relaxed) {
            return Err(SourceError::Unreachable("it took too long before".to_owned()));
        }
        let idle = self.idle().pop();
        Ok(match idle {
            Some(session) => (session, true),
            None => (self.noted(self.protocol.open())?, false),
        })
    }

    fn keep(&self, session: Box<dyn Session>) {
        let mut idle = self.idle();
        if idle.len() < MOST_IDLE {
            idle.push(session);
        }
    }

    fn noted<T>(&self, result: Result<T, SourceError>) -> Result<T, SourceError> {
        if matches!(result, Err(SourceError::TimedOut(_))) {
            self.gave_up.store(true, Ordering::Relaxed);
        }
        result
    }

    /// Reads with one session; it is kept if it may be used again.
    fn read_with(
        &self,
        mut session: Box<dyn Session>,
        name: &str,
        range: Range<u64>,
    ) -> Result<Vec<u8>, SourceError> {
        let mut bytes = Vec::new();
        let mut keep = |piece: &[u8]| {
            bytes.extend_from_slice(piece);
            ControlFlow::Continue(())
        };
        let fetched = session.fetch(name, range, &mut keep);
        if fetched.is_ok() || matches!(fetched, Err(SourceError::NotFound | SourceError::Denied(_))) {
            self.keep(session);
        }
        self.noted(fetched).map(|_| bytes)
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Remote({})", self.place())
    }
}

impl Source for Remote {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn list(&self, found: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<(), SourceError> {
        let (mut session, _) = self.session()?;
        let listed = self.noted(session.list(found))?;
        self.one_object.store(listed == Listed::Object, Ordering::Relaxed);
        self.keep(session);
        Ok(())
    }

    fn read(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        let range = range.start..range.end.min(range.start.saturating_add(LONGEST_READ));
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let (session, was_idle) = self.session()?;
        match self.read_with(session, name, range.clone()) {
            // Servers close what is idle for long; that is found out by using it.
            Err(SourceError::Unreachable(_)) if was_idle => {
                self.idle().clear();
                let session = self.noted(self.protocol.open())?;
                self.read_with(session, name, range)
            }
            result => result,
        }
    }
}
