//! The bytes after a head, however their end is marked.

use std::io::{self, BufRead};
use std::ops::ControlFlow;

use crate::remote::line::read_line;

use super::head::{Head, bad};

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    After(u64),
    Chunked,
    Closing,
}

/// What came of reading a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) bytes: u64,
    /// Whether the next answer begins where reading ended.
    pub(super) to_its_end: bool,
}

/// Hands over the body after `head`, at most so many bytes.
pub(super) fn read_body(
    input: &mut impl BufRead,
    head: &Head,
    most: u64,
    received: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> io::Result<Taken> {
    let end = match head {
        Head { chunked: true, .. } => End::Chunked,
        Head { length: Some(length), .. } => End::After(*length),
        Head { status: 204 | 304, .. } => End::After(0),
        _ => End::Closing,
    };
    match end {
        End::After(length) => {
            let bytes = take(input, length.min(most), received)?;
            Ok(Taken { bytes, to_its_end: bytes == length })
        }
        End::Chunked => read_chunks(input, most, received),
        End::Closing => {
            let bytes = take_until_closed(input, most, received)?;
            Ok(Taken { bytes, to_its_end: false })
        }
    }
}

fn read_chunks(
    input: &mut impl BufRead,
    most: u64,
    received: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> io::Result<Taken> {
    let mut bytes = 0;
    loop {
        let line = read_line(input)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| bad("the size of a piece is no number"))?;
        if size == 0 {
            // Fields may follow; they end with an empty line.
            for _ in 0..32 {
                if read_line(input)?.is_empty() {
                    return Ok(Taken { bytes, to_its_end: true });
                }
            }
            return Err(bad("it never ends"));
        }
        let wanted = size.min(most - bytes);
        let taken = take(input, wanted, received)?;
        bytes += taken;
        if taken < size {
            return Ok(Taken { bytes, to_its_end: false });
        }
        if !read_line(input)?.is_empty() {
            return Err(bad("a piece is longer than it says"));
        }
    }
}

/// Hands over so many bytes; fewer only where the receiver breaks.
fn take(
    input: &mut impl BufRead,
    most: u64,
    received: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> io::Result<u64> {
    let mut taken = 0;
    while taken < most {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let length = buffer.len().min(usize::try_from(most - taken).unwrap_or(usize::MAX));
        let flow = received(&buffer[..length]);
        input.consume(length);
        taken += length as u64;
        if flow.is_break() {
            break;
        }
    }
    Ok(taken)
}

fn take_until_closed(
    input: &mut impl BufRead,
    most: u64,
    received: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> io::Result<u64> {
    let mut bytes = 0;
    let mut counted = |piece: &[u8]| {
        bytes += piece.len() as u64;
        received(piece)
    };
    match take(input, most, &mut counted) {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(input: &str, head: &Head, most: u64) -> io::Result<(String, bool)> {
        let mut all = Vec::new();
        let mut keep = |piece: &[u8]| {
            all.extend_from_slice(piece);
            ControlFlow::Continue(())
        };
        let taken = read_body(&mut input.as_bytes(), head, most, &mut keep)?;
        Ok((String::from_utf8(all).unwrap(), taken.to_its_end))
    }

    #[test]
    fn bodies_end_by_length_by_pieces_or_by_closing() {
        let head = Head { status: 200, ..Head::default() };
        let length = Head { length: Some(3), ..head.clone() };
        let chunked = Head { chunked: true, ..head.clone() };
        let pieces = "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nfield: z\r\n\r\n";
        assert_eq!(body("abcdef", &length, 99).unwrap(), ("abc".into(), true));
        assert_eq!(body(pieces, &chunked, 99).unwrap(), ("abcde".into(), true));
        assert_eq!(body("abc", &head, 99).unwrap(), ("abc".into(), false));
        assert_eq!(body(pieces, &chunked, 4).unwrap(), ("abcd".into(), false));
    }

    #[test]
    fn a_length_that_lies_is_an_error() {
        let length = Head { status: 200, length: Some(30), ..Head::default() };
        assert_eq!(body("abc", &length, 99).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let chunked = Head { status: 200, chunked: true, ..Head::default() };
        for pieces in
            ["3\r\nabcd\r\n", "x\r\n", "-1\r\n", "ffffffffffffffff\r\nabc", "fffffffffffffffff\r\nabc"]
        {
            assert!(body(pieces, &chunked, 99).is_err(), "{pieces}");
        }
    }
}
