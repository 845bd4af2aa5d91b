//! The connections that are open: never more than a fixed number, and slow ones make room for new ones.

use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Connections at a time. A browser has six; each costs a thread that mostly sleeps.
pub(super) const MOST: usize = 128;

/// What is open, oldest first.
#[derive(Default)]
pub(super) struct Connections {
    open: Mutex<Vec<Open>>,
}

struct Open {
    number: u64,
    stream: TcpStream,
    /// Whether its request has come whole, so that an answer is being made or sent.
    asked: bool,
}

impl Connections {
    /// Takes a connection in. Where that is one too many, the oldest that has not asked yet is closed, else the
    /// oldest: whoever asks at once is answered, however many others say nothing.
    pub(super) fn enter(&self, number: u64, stream: TcpStream) {
        let mut open = self.lock();
        if open.len() >= MOST {
            let slowest = open.iter().position(|one| !one.asked).unwrap_or(0);
            let closed = open.remove(slowest);
            // Its thread finds it closed and ends.
            let _ = closed.stream.shutdown(Shutdown::Both);
        }
        open.push(Open { number, stream, asked: false });
    }

    /// Notes that the request of a connection has come.
    pub(super) fn has_asked(&self, number: u64) {
        if let Some(one) = self.lock().iter_mut().find(|one| one.number == number) {
            one.asked = true;
        }
    }

    /// Forgets a connection that ended.
    pub(super) fn leave(&self, number: u64) {
        self.lock().retain(|one| one.number != number);
    }

    /// Closes all of them.
    pub(super) fn close(&self) {
        for one in self.lock().drain(..) {
            let _ = one.stream.shutdown(Shutdown::Both);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
