//! Object stores that speak S3, over the same client as web servers, with every request signed.

mod credentials;
mod listing;
mod sign;

use std::env;
use std::ops::{ControlFlow, Range};

use crate::source::{Object, SourceError};

use super::address::{Address, Scheme, decoded, encoded};
use super::http::{Access, Asked, Exchange};
use super::limits::Limits;
use super::{Fetched, Listed, Opening, Protocol, Session};

use listing::page;

pub(super) use credentials::Credentials;
pub(super) use sign::Signer;

/// The longest page of a listing that is read; it has a thousand objects.
const LONGEST_PAGE: u64 = 8 << 20;

/// Pages of a listing: a thousand million objects.
const MOST_PAGES: usize = 1_000_000;

/// An object, or all below a prefix, of a bucket.
#[derive(Clone, Debug)]
pub struct S3 {
    /// Where the bucket is: a web address whose path ends with a slash.
    bucket: Address,
    prefix: String,
    access: Access,
    limits: Limits,
}

impl S3 {
    /// The place at an address `s3://bucket/prefix`, with endpoint, region and keys from the environment and
    /// `~/.aws`. Without keys requests are not signed, which public buckets allow.
    ///
    /// # Errors
    /// When the endpoint is no web address.
    pub fn new(address: &Address, limits: Limits) -> Result<Self, SourceError> {
        let credentials = Credentials::of_this_user();
        let bucket = bucket_address(&address.host, &credentials.region, endpoint())?;
        let prefix = decoded(address.path.trim_start_matches('/'));
        let access = Signer::new(credentials).map_or(Access::None, |signer| Access::Signed(Box::new(signer)));
        Ok(Self { bucket, prefix, access, limits })
    }
}

/// The endpoint that the environment names, as for Amazon's own tools.
pub(super) fn endpoint() -> Option<String> {
    let named = |name| env::var(name).ok().filter(|url| !url.is_empty());
    named("AWS_ENDPOINT_URL_S3").or_else(|| named("AWS_ENDPOINT_URL"))
}

fn bucket_address(bucket: &str, region: &str, endpoint: Option<String>) -> Result<Address, SourceError> {
    let url = match endpoint {
        Some(url) => format!("{}/{bucket}/", url.trim_end_matches('/')),
        // The certificate is of one name below the region only.
        None if bucket.contains('.') => format!("https://s3.{region}.amazonaws.com/{bucket}/"),
        None => format!("https://{bucket}.s3.{region}.amazonaws.com/"),
    };
    let address = Address::parse(&url)?;
    match address.scheme {
        Scheme::Http | Scheme::Https => Ok(address),
        _ => Err(SourceError::BadAddress("the endpoint of an object store begins with http:// or https://")),
    }
}

impl Protocol for S3 {
    fn name(&self) -> &'static str {
        "s3"
    }

    fn open(&self) -> Result<Box<dyn Session>, SourceError> {
        let exchange = Exchange::open(&self.bucket, self.access.clone(), self.limits)?;
        Ok(Box::new(S3Session { bucket: self.bucket.clone(), prefix: self.prefix.clone(), exchange }))
    }
}

struct S3Session {
    bucket: Address,
    prefix: String,
    exchange: Exchange,
}

impl S3Session {
    fn object(&self, key: &str) -> Address {
        Address {
            path: format!("{}{}", self.bucket.path, encoded(key, "/~")),
            query: None,
            ..self.bucket.clone()
        }
    }

    fn key_of(&self, name: &str) -> String {
        if !self.prefix.ends_with('/') && self.prefix.rsplit('/').next() == Some(name) {
            return self.prefix.clone();
        }
        match self.prefix.trim_end_matches('/') {
            "" => name.to_owned(),
            prefix => format!("{prefix}/{name}"),
        }
    }

    fn page(&mut self, prefix: &str, token: Option<&str>) -> Result<listing::Page, SourceError> {
        // Parameters in the order of the alphabet, as they are signed.
        let token =
            token.map(|token| format!("continuation-token={}&", encoded(token, "~"))).unwrap_or_default();
        let query = format!("{token}list-type=2&prefix={}", encoded(prefix, "~"));
        let address = Address { query: Some(query), ..self.bucket.clone() };
        let mut text = Vec::new();
        let mut keep = |piece: &[u8]| {
            text.extend_from_slice(piece);
            ControlFlow::Continue(())
        };
        self.exchange.get(&Asked { address, range: None, most: LONGEST_PAGE }, &mut keep)?;
        page(&String::from_utf8_lossy(&text))
            .ok_or_else(|| SourceError::BadAnswer("no listing of S3".to_owned()))
    }

    /// Everything below a prefix that ends with a slash or is empty.
    fn list_below(
        &mut self,
        prefix: &str,
        found: &mut dyn FnMut(Object) -> ControlFlow<()>,
    ) -> Result<(), SourceError> {
        let mut token = None;
        for _ in 0..MOST_PAGES {
            let page = self.page(prefix, token.as_deref())?;
            for (key, bytes) in page.objects {
                let Some(name) = key.strip_prefix(prefix).filter(|name| !name.is_empty()) else { continue };
                // Consoles leave empty objects in place of folders.
                if name.ends_with('/') {
                    continue;
                }
                if found(Object { name: name.to_owned(), bytes: Some(bytes) }).is_break() {
                    return Ok(());
                }
            }
            // A token that comes again is a listing without end.
            if page.next.is_none() || page.next == token {
                return Ok(());
            }
            token = page.next;
        }
        Ok(())
    }
}

impl Session for S3Session {
    fn opening(&self) -> Opening {
        self.exchange.opening()
    }

    fn list(&mut self, found: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<Listed, SourceError> {
        if !self.prefix.is_empty() && !self.prefix.ends_with('/') {
            let asked = Asked { address: self.object(&self.prefix), range: Some(0..1), most: 1 };
            match self.exchange.get(&asked, &mut |_| ControlFlow::Continue(())) {
                Ok(answer) => {
                    let name = self.prefix.rsplit('/').next().unwrap_or_default().to_owned();
                    let _ = found(Object { name, bytes: answer.total });
                    return Ok(Listed::Object);
                }
                Err(SourceError::NotFound) => self.prefix.push('/'),
                Err(error) => return Err(error),
            }
        }
        let prefix = self.prefix.clone();
        self.list_below(&prefix, found)?;
        Ok(Listed::Folder)
    }

    fn fetch(
        &mut self,
        name: &str,
        range: Range<u64>,
        received: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Fetched, SourceError> {
        let most = range.end.saturating_sub(range.start);
        let asked = Asked { address: self.object(&self.key_of(name)), range: Some(range), most };
        Ok(self.exchange.get(&asked, received)?.fetched)
    }
}

/// Reads a page of a listing, for tests of damaged ones.
#[cfg(test)]
pub(super) fn read_listing(text: &str) {
    let _ = page(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_where_their_region_or_the_endpoint_says() {
        let of = |bucket, endpoint: Option<&str>| {
            bucket_address(bucket, "eu-west-1", endpoint.map(str::to_owned)).unwrap().to_string()
        };
        assert_eq!(of("set", None), "https://set.s3.eu-west-1.amazonaws.com/");
        assert_eq!(of("a.set", None), "https://s3.eu-west-1.amazonaws.com/a.set/");
        assert_eq!(of("set", Some("http://127.0.0.1:5000")), "http://127.0.0.1:5000/set/");
        assert!(bucket_address("set", "x", Some("ftp://host".to_owned())).is_err());
    }
}
