//! Data across a network: one client for each protocol, all behind [`Protocol`] and [`Session`].
//!
//! A session is one connection that is used for one thing at a time, so that connecting, encryption, waiting and
//! bytes over time can be told apart. Whoever wants more at a time opens more.

mod address;
mod dial;
mod fsspec;
mod ftp;
#[cfg(test)]
mod hostile_tests;
mod http;
mod limits;
mod line;
mod netrc;
mod place;
mod pool;
mod private;
mod s3;
mod sftp;
mod spoken;
mod tls;
mod wire;

use std::ops::{ControlFlow, Range};
use std::time::Duration;

use crate::source::{Object, SourceError};

pub use address::{Address, Scheme};
pub use fsspec::Fsspec;
pub use ftp::Ftp;
pub use http::Http;
pub use limits::Limits;
pub use place::Place;
pub use pool::Remote;
pub use s3::S3;
pub use sftp::Sftp;

/// How long the parts of opening a session took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// Until the connection stood; looking up the name is not included.
    pub connect: Duration,
    /// Agreeing on encryption; `None` without any.
    pub tls: Option<Duration>,
    /// Logging in, where the protocol has that.
    pub login: Option<Duration>,
}

impl Opening {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.connect + self.tls.unwrap_or_default() + self.login.unwrap_or_default()
    }
}

/// What a place was found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// An object itself.
    Object,
    /// A folder of objects.
    Folder,
}

/// What came of a fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// From the request until the first byte of the answer; what had to be opened for it is not included.
    pub first_byte: Duration,
    /// Bytes handed over.
    pub bytes: u64,
}

/// A place that sessions can be opened to.
pub trait Protocol: Send + Sync {
    /// The name of the protocol, as in a URL.
    fn name(&self) -> &'static str;

    /// Opens another session.
    ///
    /// # Errors
    /// When the place cannot be reached, is not who it should be or does not let us in.
    fn open(&self) -> Result<Box<dyn Session>, SourceError>;
}

/// A connection, used for one thing at a time. After an error it is not used again.
pub trait Session: Send {
    /// How long it took to be opened.
    fn opening(&self) -> Opening;

    /// Hands over every object below the place, until `found` breaks.
    ///
    /// # Errors
    /// When the place cannot be listed to its end; what was found until then has been handed over.
    fn list(&mut self, found: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<Listed, SourceError>;

    /// Hands over the bytes of `range` in pieces, until the object ends or `received` breaks.
    ///
    /// # Errors
    /// When not all of the range that the object has could be handed over.
    fn fetch(
        &mut self,
        name: &str,
        range: Range<u64>,
        received: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Fetched, SourceError>;
}
