//! Places as people name them: URLs, and who speaks their protocol.

use std::ffi::OsString;
use std::fmt;

use crate::source::SourceError;

use super::address::{Address, Scheme};
use super::fsspec::Fsspec;
use super::ftp::Ftp;
use super::http::Http;
use super::limits::Limits;
use super::pool::Remote;
use super::s3::{S3, endpoint};
use super::sftp::Sftp;

/// A place that a URL names. Neither its `Debug` nor [`url`](Self::url) shows a password or a query.
#[derive(Clone, PartialEq, Eq)]
pub struct Place {
    shown: String,
    scheme: String,
    kind: Kind,
}

#[derive(Clone, PartialEq, Eq)]
enum Kind {
    Spoken(Address),
    /// Of a protocol that is left to fsspec in this Python.
    Left {
        url: String,
        python: OsString,
    },
}

impl Place {
    /// Whether a person means a place elsewhere, and not a file.
    #[must_use]
    pub fn is_url(text: &str) -> bool {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        let letters = |scheme: &str| {
            scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
        };
        scheme.is_some_and(|scheme| !scheme.is_empty() && letters(scheme))
    }

    /// The place of a URL; protocols that laptime does not speak are left to this Python.
    ///
    /// # Errors
    /// When it is none, or of a protocol that nobody here speaks.
    pub fn parse(url: &str, python: Option<OsString>) -> Result<Self, SourceError> {
        let scheme = url.split("://").next().unwrap_or_default().to_ascii_lowercase();
        if Scheme::of_name(&scheme).is_some() {
            let address = Address::parse(url)?;
            return Ok(Self { shown: address.to_string(), scheme, kind: Kind::Spoken(address) });
        }
        if !Self::is_url(url) || url.chars().any(char::is_control) {
            return Err(SourceError::BadAddress("a URL has `://` and no control characters"));
        }
        let python = python.ok_or(SourceError::BadAddress(
            "this protocol is left to Python's fsspec, and there is no Python",
        ))?;
        Ok(Self { shown: without_secrets(url), scheme, kind: Kind::Left { url: url.to_owned(), python } })
    }

    /// Who is asked for what lies there; nothing is connected yet.
    ///
    /// # Errors
    /// When the place cannot be reached in the way it is named.
    pub fn open(&self, limits: Limits) -> Result<Remote, SourceError> {
        let shown = self.shown.clone();
        let address = match &self.kind {
            Kind::Left { url, python } => {
                return Ok(Remote::new(shown, Box::new(Fsspec::new(url.clone(), python.clone(), limits))));
            }
            Kind::Spoken(address) => address.clone(),
        };
        Ok(match address.scheme {
            Scheme::Http | Scheme::Https => Remote::new(shown, Box::new(Http::new(address, limits))),
            Scheme::Ftp | Scheme::Ftps | Scheme::Ftpes => {
                Remote::new(shown, Box::new(Ftp::new(address, limits)))
            }
            Scheme::Sftp => Remote::new(shown, Box::new(Sftp::new(address, limits)?)),
            Scheme::S3 => Remote::new(shown, Box::new(S3::new(&address, limits)?)),
        })
    }

    /// The URL, without what is secret in it.
    #[must_use]
    pub fn url(&self) -> String {
        self.shown.clone()
    }

    /// The protocol, as in the URL.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The URL, taken apart; `None` of a protocol that is left to fsspec.
    #[must_use]
    pub fn address(&self) -> Option<&Address> {
        match &self.kind {
            Kind::Spoken(address) => Some(address),
            Kind::Left { .. } => None,
        }
    }

    /// The endpoint of an object store, where the environment names one.
    #[must_use]
    pub fn endpoint(&self) -> Option<String> {
        endpoint()
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Place({})", self.shown)
    }
}

/// A URL of any kind without password and query.
fn without_secrets(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (rest, query) = rest.split_once('?').map_or((rest, ""), |(rest, _)| (rest, "?…"));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let authority = match authority.rsplit_once('@') {
        Some((login, host)) => format!("{}@{host}", login.split(':').next().unwrap_or_default()),
        None => authority.to_owned(),
    };
    format!("{scheme}://{authority}{path}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_any_protocol_show_no_secret() {
        for url in
            ["hf://me:s3cret@datasets/a/b?token=s3cret", "sftp://me:s3cret@host/x", "s3://bucket/x?s3cret"]
        {
            let place = Place::parse(url, Some("python3".into())).unwrap();
            assert!(!format!("{place:?} {}", place.url()).contains("s3cret"), "{place:?}");
        }
        assert!(Place::parse("hf://datasets/a", None).is_err());
        assert!(Place::is_url("s3://x") && !Place::is_url("data/train.csv") && !Place::is_url("://x"));
    }
}
