//! Places as people name them: URLs, and who speaks their protocol.

use crate::source::SourceError;

use super::address::{Address, Scheme};
use super::ftp::Ftp;
use super::http::Http;
use super::limits::Limits;
use super::pool::Remote;
use super::s3::{S3, endpoint};
use super::sftp::Sftp;

/// A place that a URL names. It shows no password and no query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    address: Address,
}

impl Place {
    /// Whether a person means a place elsewhere, and not a file.
    #[must_use]
    pub fn is_url(text: &str) -> bool {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| {
            !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        })
    }

    /// The place of a URL.
    ///
    /// # Errors
    /// When it is none, or of a protocol that is not spoken.
    pub fn parse(url: &str) -> Result<Self, SourceError> {
        Address::parse(url).map(|address| Self { address })
    }

    /// Who is asked for what lies there; nothing is connected yet.
    ///
    /// # Errors
    /// When the place cannot be reached in the way it is named.
    pub fn open(&self, limits: Limits) -> Result<Remote, SourceError> {
        let address = self.address.clone();
        let shown = self.url();
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
        self.address.to_string()
    }

    /// The protocol, as in the URL.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.address.scheme.name()
    }

    /// The URL, taken apart.
    #[must_use]
    pub fn address(&self) -> Option<&Address> {
        Some(&self.address)
    }

    /// The endpoint of an object store, where the environment names one.
    #[must_use]
    pub fn endpoint(&self) -> Option<String> {
        endpoint()
    }
}
