//! Requests and answers over one connection at a time, redirects followed within bounds.

use std::collections::HashSet;
use std::io::{self, BufReader, Write};
use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use crate::remote::address::Address;
use crate::remote::dial::Reach;
use crate::remote::limits::Limits;
use crate::remote::netrc::Login;
use crate::remote::private::is_inside;
use crate::remote::s3::Signer;
use crate::remote::wire::Wire;
use crate::remote::{Fetched, Opening};
use crate::source::SourceError;

use super::body::read_body;
use super::head::Head;

/// Redirects that are followed for one answer.
const MOST_REDIRECTS: usize = 8;

/// Connections kept: to the place, and to where it redirects.
const MOST_LINES: usize = 3;

/// Bytes read at a time.
const BUFFER: usize = 128 << 10;

/// A body that nobody wants is read to its end up to so many bytes: cheaper than another connection.
const MOST_SKIPPED: u64 = 64 << 10;

/// What is asked for.
#[derive(Clone, Debug)]
pub(in crate::remote) struct Asked {
    pub(in crate::remote) address: Address,
    pub(in crate::remote) range: Option<Range<u64>>,
    /// Bytes of the answer that are read at most.
    pub(in crate::remote) most: u64,
}

/// What was answered.
#[derive(Clone, Debug)]
pub(in crate::remote) struct Answer {
    /// Where it came from, after redirects.
    pub(super) address: Address,
    pub(super) is_html: bool,
    /// Bytes of the whole object, where that is said.
    pub(in crate::remote) total: Option<u64>,
    pub(in crate::remote) fetched: Fetched,
}

/// What lets us in.
#[derive(Clone, Debug)]
pub(in crate::remote) enum Access {
    None,
    Login(Login),
    Signed(Box<Signer>),
}

impl Access {
    /// Its fields for a request, each with its end of line.
    fn fields(&self, address: &Address) -> String {
        match self {
            Self::None => String::new(),
            Self::Login(login) => {
                format!("Authorization: Basic {}\r\n", base64(&format!("{}:{}", login.user, login.password)))
            }
            Self::Signed(signer) => signer.fields(address),
        }
    }
}

/// Connections to a place and to where it redirects.
pub(in crate::remote) struct Exchange {
    lines: Vec<Line>,
    origin: Address,
    access: Access,
    limits: Limits,
    /// Where redirects may lead: a server outside must not send us inside.
    reach: Reach,
    opening: Opening,
}

struct Line {
    address: Address,
    wire: BufReader<Wire>,
    /// Whether it has carried an answer already.
    used: bool,
}

impl Exchange {
    /// Connects.
    pub(in crate::remote) fn open(
        origin: &Address,
        access: Access,
        limits: Limits,
    ) -> Result<Self, SourceError> {
        let wire = connect(origin, Reach::Anywhere, &limits)?;
        let reach = if is_inside(wire.get_ref().address) { Reach::Anywhere } else { Reach::Outside };
        let opening = wire.get_ref().opening;
        let lines = vec![Line { address: origin.clone(), wire, used: false }];
        Ok(Self { lines, origin: origin.clone(), access, limits, reach, opening })
    }

    pub(in crate::remote) fn opening(&self) -> Opening {
        self.opening
    }

    /// Asks, follows redirects and hands over the body.
    pub(in crate::remote) fn get(
        &mut self,
        asked: &Asked,
        received: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Answer, SourceError> {
        let mut asked = asked.clone();
        let mut seen = HashSet::new();
        for _ in 0..MOST_REDIRECTS {
            if !seen.insert((
                asked.address.scheme,
                asked.address.authority(),
                asked.address.path.clone(),
                asked.address.query.clone(),
            )) {
                return Err(SourceError::Redirected("in circles"));
            }
            match self.get_once(&asked, received)? {
                Outcome::Answer(answer) => return Ok(answer),
                Outcome::Moved(location) => asked.address = self.followed(&asked.address, &location)?,
            }
        }
        Err(SourceError::Redirected("on and on"))
    }

    fn followed(&self, from: &Address, location: &str) -> Result<Address, SourceError> {
        let to = from.joined(location).map_err(|_| SourceError::Redirected("to what is no URL of HTTP"))?;
        if from.scheme.is_encrypted() && !to.scheme.is_encrypted() {
            return Err(SourceError::Redirected("from an encrypted connection to one that is not"));
        }
        Ok(to)
    }

    fn get_once(
        &mut self,
        asked: &Asked,
        received: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Outcome, SourceError> {
        let (mut line, head, first_byte) = self.ask(asked)?;
        let failed = |line: &Line, error: &io::Error| line.wire.get_ref().failed(error);
        let wanted = checked(asked, &head);
        let (most, skip) = match &wanted {
            Ok(Wanted::Body) => (asked.most, false),
            _ => (MOST_SKIPPED, true),
        };
        let mut take = |piece: &[u8]| if skip { ControlFlow::Continue(()) } else { received(piece) };
        let taken = read_body(&mut line.wire, &head, most, &mut take);
        if let Ok(taken) = &taken
            && taken.to_its_end
            && !head.closes
        {
            self.lines.push(line);
        } else if let (Err(error), false) = (&taken, skip) {
            return Err(failed(&line, error));
        }
        match wanted? {
            Wanted::Moved(location) => Ok(Outcome::Moved(location)),
            wanted => {
                let bytes = taken.map_or(0, |taken| if wanted == Wanted::Body { taken.bytes } else { 0 });
                let total = match head.range {
                    Some((_, total)) => total,
                    None => head.length,
                };
                let fetched = Fetched { first_byte, bytes };
                let address = asked.address.clone();
                Ok(Outcome::Answer(Answer { address, is_html: head.is_html, total, fetched }))
            }
        }
    }

    /// Sends the request and reads the head of its answer.
    fn ask(&mut self, asked: &Asked) -> Result<(Line, Head, Duration), SourceError> {
        let request = self.request(asked);
        loop {
            let mut line = self.line_to(&asked.address)?;
            line.wire.get_mut().allow(self.limits.for_bytes(asked.most));
            let started = Instant::now();
            let wire = line.wire.get_mut();
            let sent = wire.write_all(request.as_bytes()).and_then(|()| wire.flush());
            match sent.and_then(|()| Head::read(&mut line.wire)) {
                Ok(head) => {
                    line.used = true;
                    return Ok((line, head, started.elapsed()));
                }
                // Servers close what they think is no longer needed; a new connection knows.
                Err(error) if line.used && is_hang_up(&error) => {}
                Err(error) => return Err(line.wire.get_ref().failed(&error)),
            }
        }
    }

    /// The connection to an origin that is open, or another.
    fn line_to(&mut self, address: &Address) -> Result<Line, SourceError> {
        if let Some(at) = self.lines.iter().position(|line| line.address.has_origin_of(address)) {
            return Ok(self.lines.swap_remove(at));
        }
        if self.lines.len() >= MOST_LINES {
            self.lines.remove(0);
        }
        let reach = if self.origin.has_origin_of(address) { Reach::Anywhere } else { self.reach };
        let wire = connect(address, reach, &self.limits)?;
        Ok(Line { address: address.clone(), wire, used: false })
    }

    fn request(&self, asked: &Asked) -> String {
        let address = &asked.address;
        let query = address.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        let mut text = format!("GET {}{query} HTTP/1.1\r\nHost: {}\r\n", address.path, address.authority());
        text +=
            concat!("User-Agent: laptime/", env!("CARGO_PKG_VERSION"), "\r\nAccept-Encoding: identity\r\n");
        if let Some(range) = &asked.range {
            text +=
                &format!("Range: bytes={}-{}\r\n", range.start, range.end.saturating_sub(1).max(range.start));
        }
        // A login is for the place that was named, never for where it redirects.
        if self.origin.has_origin_of(address) {
            text += &self.access.fields(address);
        }
        text + "\r\n"
    }
}

enum Outcome {
    Answer(Answer),
    Moved(String),
}

#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Body,
    /// The range begins where the object has ended.
    Nothing,
    Moved(String),
}

/// What an answer's head means for what was asked.
fn checked(asked: &Asked, head: &Head) -> Result<Wanted, SourceError> {
    let start = asked.range.as_ref().map_or(0, |range| range.start);
    match head.status {
        200 | 206 if head.packed => {
            Err(SourceError::BadAnswer("it is packed although that was not asked for".to_owned()))
        }
        200 if start > 0 => Err(SourceError::NoRanges),
        200 => Ok(Wanted::Body),
        206 if head.range.is_some_and(|(first, _)| first == start) => Ok(Wanted::Body),
        206 => Err(SourceError::BadAnswer("it is another range than was asked for".to_owned())),
        416 => Ok(Wanted::Nothing),
        301 | 302 | 303 | 307 | 308 => match &head.location {
            Some(location) => Ok(Wanted::Moved(location.clone())),
            None => Err(SourceError::Redirected("to nowhere")),
        },
        401 => Err(SourceError::Denied("it asks for a login (HTTP 401)".to_owned())),
        403 => Err(SourceError::Denied("this login may not (HTTP 403)".to_owned())),
        404 | 410 => Err(SourceError::NotFound),
        status => Err(SourceError::BadAnswer(format!("HTTP {status}"))),
    }
}

fn is_hang_up(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

fn connect(address: &Address, reach: Reach, limits: &Limits) -> Result<BufReader<Wire>, SourceError> {
    let wire = Wire::open(&address.host, address.port, reach, limits)?;
    let wire = if address.scheme.is_encrypted() { wire.encrypted()? } else { wire };
    Ok(BufReader::with_capacity(BUFFER, wire))
}

/// Base 64 as logins are sent in.
fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in text.as_bytes().chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            out.push(if place <= three.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_is_that_of_the_standard() {
        let pairs = [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("user:pass", "dXNlcjpwYXNz")];
        for (plain, packed) in pairs {
            assert_eq!(base64(plain), packed);
        }
    }
}
