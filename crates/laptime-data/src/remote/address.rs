//! A URL, taken apart; shown without its secrets.

use std::fmt;

use crate::source::SourceError;

/// The longest URL that is taken.
const LONGEST: usize = 8 << 10;

/// How a place is spoken with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `http`.
    Http,
    /// `https`.
    Https,
    /// `ftp`.
    Ftp,
    /// `ftps`: encrypted from the first byte on.
    Ftps,
    /// `ftpes`: encrypted once the server was asked to.
    Ftpes,
    /// `sftp`.
    Sftp,
    /// `s3`: the host is a bucket.
    S3,
}

impl Scheme {
    const ALL: [Self; 7] =
        [Self::Http, Self::Https, Self::Ftp, Self::Ftps, Self::Ftpes, Self::Sftp, Self::S3];

    /// The one of that name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(name))
    }

    /// As in a URL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Ftp => "ftp",
            Self::Ftps => "ftps",
            Self::Ftpes => "ftpes",
            Self::Sftp => "sftp",
            Self::S3 => "s3",
        }
    }

    /// The port where nothing else is said.
    #[must_use]
    pub fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https | Self::S3 => 443,
            Self::Ftp | Self::Ftpes => 21,
            Self::Ftps => 990,
            Self::Sftp => 22,
        }
    }

    /// Whether the connection begins with encryption.
    #[must_use]
    pub fn is_encrypted(self) -> bool {
        matches!(self, Self::Https | Self::Ftps | Self::S3)
    }
}

/// A URL, taken apart. Neither its `Debug` nor its `Display` shows a password or a query, which may be a signature.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// How it is spoken with.
    pub scheme: Scheme,
    /// The user, decoded.
    pub user: Option<String>,
    /// The password, decoded.
    pub(crate) password: Option<String>,
    /// The machine; an address of version 6 without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Begins with a slash; as it is sent, that is, encoded.
    pub path: String,
    /// After the question mark, encoded.
    pub(crate) query: Option<String>,
}

impl Address {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// When it has no host, a port that is none, or signs that no URL has.
    pub fn parse(url: &str) -> Result<Self, SourceError> {
        let bad = SourceError::BadAddress;
        if url.len() > LONGEST || url.chars().any(|letter| letter.is_control()) {
            return Err(bad("a URL has no control characters and at most 8192 letters"));
        }
        let (scheme, rest) = url.split_once("://").ok_or(bad("a URL has `://`"))?;
        let scheme = Scheme::of_name(scheme).ok_or(bad("laptime does not speak this protocol"))?;
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, tail) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (path, query) = match tail.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (tail, None),
        };
        let (login, place) = authority.rsplit_once('@').map_or((None, authority), |(a, b)| (Some(a), b));
        let (host, port) = host_and_port(place)?;
        if host.is_empty() {
            return Err(bad("a URL names a machine after `://`"));
        }
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
            Some((user, "")) => (Some(decoded(user)), None),
            Some((user, password)) => (Some(decoded(user)), Some(decoded(password))),
            None => (None, None),
        };
        let path = if path.is_empty() { "/".to_owned() } else { encoded(path, "/%:@!$&'()*+,;=~") };
        if !host.chars().all(|letter| letter.is_alphanumeric() || "-_.:".contains(letter))
            || host.starts_with('-')
        {
            return Err(bad("the name of a machine has letters, digits, `-`, `_` and `.`"));
        }
        let host = host.to_ascii_lowercase();
        Ok(Self { scheme, user, password, host, port: port.unwrap_or(scheme.port()), path, query })
    }

    /// What a link on the page at this address leads to.
    ///
    /// # Errors
    /// When it leads to another protocol or nowhere.
    pub(crate) fn joined(&self, link: &str) -> Result<Self, SourceError> {
        if link.split(['/', '?', '#']).next().is_some_and(|first| first.contains(':')) {
            return Self::parse(link);
        }
        if let Some(rest) = link.strip_prefix("//") {
            return Self::parse(&format!("{}://{rest}", self.scheme.name()));
        }
        let link = link.split('#').next().unwrap_or_default();
        let (path, query) = link.split_once('?').map_or((link, None), |(a, b)| (a, Some(b.to_owned())));
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = match path {
            "" => self.path.clone(),
            path if path.starts_with('/') => without_dots(path),
            path => without_dots(&format!("{folder}/{path}")),
        };
        Ok(Self { path: encoded(&path, "/%:@!$&'()*+,;=~"), query, ..self.clone() })
    }

    /// Whether both are the same protocol at the same port of the same machine.
    pub(crate) fn has_origin_of(&self, other: &Self) -> bool {
        (self.scheme, &self.host, self.port) == (other.scheme, &other.host, other.port)
    }

    /// The last part of the path, decoded; empty of a folder.
    pub(crate) fn file_name(&self) -> String {
        decoded(self.path.rsplit('/').next().unwrap_or_default())
    }

    /// The path as files have it: decoded.
    pub(crate) fn plain_path(&self) -> String {
        decoded(&self.path)
    }

    /// The host and the path as files have it, to name a copy by.
    pub(crate) fn plain_url(&self) -> String {
        format!("{}://{}{}", self.scheme.name(), self.host, self.plain_path())
    }

    /// Whether the query, which is not shown, belongs to it.
    pub(crate) fn has_query(&self) -> bool {
        self.query.is_some()
    }

    /// The host as it stands in a URL.
    pub(crate) fn bracketed_host(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }

    /// Host and port, without the port where it is the usual one.
    pub(crate) fn authority(&self) -> String {
        let host = self.bracketed_host();
        if self.port == self.scheme.port() { host } else { format!("{host}:{}", self.port) }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.as_ref().map(|user| format!("{}@", encoded(user, ""))).unwrap_or_default();
        let query = if self.query.is_some() { "?…" } else { "" };
        write!(out, "{}://{user}{}{}{query}", self.scheme.name(), self.authority(), self.path)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Address({self})")
    }
}

fn host_and_port(place: &str) -> Result<(&str, Option<u16>), SourceError> {
    let bad = SourceError::BadAddress("the port of a URL is a number from 1 to 65535");
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => place.rsplit_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    match port.filter(|port| !port.is_empty()) {
        None => Ok((host, None)),
        Some(port) => match port.parse() {
            Ok(number) if number > 0 => Ok((host, Some(number))),
            _ => Err(bad),
        },
    }
}

/// The path without `.` and `..`, which lead out of nothing.
fn without_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if parts.len() > 1 => drop(parts.pop()),
            ".." => {}
            part => parts.push(part),
        }
    }
    if path.ends_with("/.") || path.ends_with("/..") {
        parts.push("");
    }
    parts.join("/")
}

/// `%20` and the like as the bytes they stand for; what is no text is replaced.
pub(crate) fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let two = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let two = two
            .and_then(|two| std::str::from_utf8(two).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        plain.push(two.unwrap_or(*byte));
        at += if two.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Every byte but letters, digits, `-_.` and those of `kept` as `%20` and the like.
pub(crate) fn encoded(text: &str, kept: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let letter = char::from(byte);
        if letter.is_ascii_alphanumeric() || "-_.".contains(letter) || (byte < 128 && kept.contains(letter)) {
            out.push(letter);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_comes_apart_and_is_shown_without_password_and_query() {
        let url = "HTTPS://me%40home:s3cret@Data.Example:8443/a%20b/train.csv?X-Sig=abc#x";
        let address = Address::parse(url).unwrap();
        assert_eq!((address.scheme, address.port), (Scheme::Https, 8443));
        assert_eq!((address.user.as_deref(), address.password.as_deref()), (Some("me@home"), Some("s3cret")));
        assert_eq!(address.query.as_deref(), Some("X-Sig=abc"));
        let shown = "https://me%40home@data.example:8443/a%20b/train.csv?…";
        assert_eq!(format!("{address}|{address:?}"), format!("{shown}|Address({shown})"));
        assert_eq!(address.file_name(), "train.csv");
    }

    #[test]
    fn addresses_of_version_6_stand_in_brackets() {
        let address = Address::parse("http://[::1]:8080").unwrap();
        assert_eq!((address.host.as_str(), address.port, address.path.as_str()), ("::1", 8080, "/"));
        assert_eq!(address.authority(), "[::1]:8080");
    }

    #[test]
    fn links_lead_where_they_would_in_a_browser() {
        let page = Address::parse("https://host/data/set/?C=M").unwrap();
        let to = |link| page.joined(link).unwrap().to_string();
        assert_eq!(to("a.csv"), "https://host/data/set/a.csv");
        assert_eq!(to("./b/"), "https://host/data/set/b/");
        assert_eq!(to("../../../../c"), "https://host/c");
        assert_eq!(to("/d?x"), "https://host/d?…");
        assert_eq!(to("//other/e"), "https://other/e");
        assert_eq!(to("http://third:81/f"), "http://third:81/f");
        assert!(page.joined("javascript:alert(1)").is_err());
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for url in
            ["", "http://", "http:///x", "http://h:0/", "http://h:99999/", "gopher://h/", "http://h h/"]
        {
            assert!(Address::parse(url).is_err(), "{url}");
        }
    }
}
