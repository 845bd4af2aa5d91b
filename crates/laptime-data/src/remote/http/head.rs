//! The head of an answer.

use std::io::{self, BufRead};

use crate::remote::line::read_line;

/// Lines of a head; more are no head.
const MOST_LINES: usize = 200;

/// Heads of the kind "100 Continue" before the one that counts.
const MOST_INTERIM: usize = 8;

/// The head of an answer: its status and what of its fields is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) length: Option<u64>,
    pub(super) chunked: bool,
    /// First byte and total of `Content-Range`.
    pub(super) range: Option<(u64, Option<u64>)>,
    pub(super) location: Option<String>,
    pub(super) is_html: bool,
    pub(super) closes: bool,
    /// Whether it is packed in a way that was not asked for.
    pub(super) packed: bool,
}

impl Head {
    /// Reads one, and those before it that only ask for patience.
    pub(super) fn read(input: &mut impl BufRead) -> io::Result<Self> {
        for _ in 0..MOST_INTERIM {
            let head = Self::read_one(input)?;
            if !(100..200).contains(&head.status) {
                return Ok(head);
            }
        }
        Err(bad("it goes on with the request for ever"))
    }

    fn read_one(input: &mut impl BufRead) -> io::Result<Self> {
        let status = read_line(input)?;
        let mut words = status.splitn(3, ' ');
        let version =
            words.next().filter(|version| version.starts_with("HTTP/1.")).ok_or(bad("it is not HTTP/1"))?;
        let status = words.next().and_then(|code| code.parse().ok()).filter(|code| (100..600).contains(code));
        let status = status.ok_or(bad("its status is no number"))?;
        let mut head = Self { status, closes: version == "HTTP/1.0", ..Self::default() };
        for _ in 0..MOST_LINES {
            let line = read_line(input)?;
            if line.is_empty() {
                return Ok(head);
            }
            if let Some((name, value)) = line.split_once(':') {
                head.take(&name.to_ascii_lowercase(), value.trim())?;
            }
        }
        Err(bad("its head has no end"))
    }

    fn take(&mut self, name: &str, value: &str) -> io::Result<()> {
        match name {
            "content-length" => {
                let length = value.parse().map_err(|_| bad("its length is no number"))?;
                if self.length.is_some_and(|before| before != length) {
                    return Err(bad("it has two lengths"));
                }
                self.length = Some(length);
            }
            "transfer-encoding" => self.chunked = value.eq_ignore_ascii_case("chunked"),
            "content-encoding" => self.packed = !value.eq_ignore_ascii_case("identity"),
            "content-range" => self.range = Some(content_range(value).ok_or(bad("its range is none"))?),
            "location" => self.location = Some(value.to_owned()),
            "content-type" => self.is_html = value.to_ascii_lowercase().starts_with("text/html"),
            "connection" => self.closes |= value.to_ascii_lowercase().contains("close"),
            _ => {}
        }
        Ok(())
    }
}

/// `bytes 0-99/1000`, `bytes 0-99/*` or `bytes */1000`.
fn content_range(value: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = value.strip_prefix("bytes")?.trim_start().split_once('/')?;
    let total = if total == "*" { None } else { Some(total.parse().ok()?) };
    match range {
        "*" => Some((0, total)),
        range => Some((range.split_once('-')?.0.parse().ok()?, total)),
    }
}

pub(super) fn bad(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_what_a_range_needs() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\nCONTENT-RANGE: bytes 3-7/10\r\nContent-Type: Text/HTML; charset=utf-8\r\nConnection: close\r\n\r\nrest";
        let mut input = text.as_bytes();
        let head = Head::read(&mut input).unwrap();
        let expected = Head {
            status: 206,
            length: Some(5),
            range: Some((3, Some(10))),
            is_html: true,
            closes: true,
            ..Head::default()
        };
        assert_eq!((head, input), (expected, &b"rest"[..]));
    }

    #[test]
    fn what_contradicts_itself_or_never_ends_is_refused() {
        let endless = format!("HTTP/1.1 200 OK\r\n{}", "a: b\r\n".repeat(1000));
        let again = "HTTP/1.1 100 Continue\r\n\r\n".repeat(100);
        let two = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n";
        let negative = "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n";
        for text in [endless.as_str(), &again, two, negative, "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 xyz\r\n\r\n"] {
            assert_eq!(
                Head::read(&mut text.as_bytes()).unwrap_err().kind(),
                io::ErrorKind::InvalidData,
                "{text:.40}"
            );
        }
    }
}
