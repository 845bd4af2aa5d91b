//! Sources: the places where a dataset lies, which list what is there and read ranges of it.
//!
//! One file each for a protocol. Nothing secret is in a place's name or in an error, and none of them follows a
//! number that a server sends without a limit of its own.

mod local;

use std::io;
use std::ops::{ControlFlow, Range};

pub use local::LocalSource;

/// A place where a dataset lies.
///
/// Several threads may read at the same time, up to [`Source::streams`] of them.
pub trait Source: Send + Sync {
    /// The place as a person knows it, without anything secret.
    fn place(&self) -> String;

    /// Hands over every object below the place, in any order, until `found` breaks.
    ///
    /// A place that is one object hands over that one, named by the last part of its path.
    ///
    /// # Errors
    /// When the place cannot be listed, or no further; what was handed over before stays.
    fn list(&self, found: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<(), SourceError>;

    /// Reads `range` of an object; fewer bytes only where the object ends, never more.
    ///
    /// # Errors
    /// When it cannot be read, or not by ranges.
    fn read(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>, SourceError>;

    /// Reads at a time that are worth trying.
    fn streams(&self) -> usize {
        8
    }
}

/// Something that lies at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name relative to the place, with `/` between folders.
    pub name: String,
    /// Its length; `None` where the place does not say.
    pub bytes: Option<u64>,
}

/// Why a place or an object gives no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// It is not there.
    #[error("there is no such object")]
    NotFound,
    /// It is there, but not for this user.
    #[error("access is denied: {0}")]
    Denied(String),
    /// Nobody answers there, or the connection broke and could not be made again.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// What should name it is no URL that is understood.
    #[error("is not understood: {0}")]
    BadAddress(&'static str),
    /// It leads on and on, or to where it must not.
    #[error("redirects {0}")]
    Redirected(&'static str),
    /// It is somebody else, or cannot show who it is: a wrong certificate or host key.
    #[error("is not trusted: {0}")]
    Untrusted(String),
    /// The answer took longer than was waited for.
    #[error("did not answer within {0} s")]
    TimedOut(u64),
    /// What was answered is not what the protocol demands.
    #[error("gave an answer that cannot be used: {0}")]
    BadAnswer(String),
    /// It hands over whole objects, not ranges of them.
    #[error("does not serve ranges of an object")]
    NoRanges,
    /// It cannot list what it has.
    #[error("cannot list what it has: {0}")]
    NoListing(String),
    /// The system of this machine refused.
    #[error(transparent)]
    System(#[from] io::Error),
}
