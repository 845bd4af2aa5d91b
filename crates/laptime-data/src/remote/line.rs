//! Reading a line that somebody else may never end.

use std::io::{self, BufRead};

/// The longest line that is taken.
const LONGEST: usize = 16 << 10;

/// The next line without its end; text that is none is replaced.
pub(super) fn read_line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    loop {
        let (done, used) = {
            let buffer = input.fill_buf()?;
            if buffer.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let end = memchr::memchr(b'\n', buffer);
            line.extend_from_slice(&buffer[..end.unwrap_or(buffer.len())]);
            (end.is_some(), end.map_or(buffer.len(), |end| end + 1))
        };
        input.consume(used);
        if line.len() > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line without end"));
        }
        if done {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(String::from_utf8_lossy(&line).into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_or_without_a_carriage_return_and_never_grow_without_bound() {
        let mut input = "a\r\nb\nc".as_bytes();
        assert_eq!(read_line(&mut input).unwrap(), "a");
        assert_eq!(read_line(&mut input).unwrap(), "b");
        assert_eq!(read_line(&mut input).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let endless = vec![b'x'; 1 << 20];
        let mut endless = io::BufReader::new(endless.as_slice());
        assert_eq!(read_line(&mut endless).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
