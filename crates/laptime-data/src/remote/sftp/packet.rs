//! The packets of version 3 of the protocol, as far as reading needs them.

use std::io::{self, Read};

/// The longest packet that is taken; OpenSSH's own limit.
const LONGEST: usize = 256 << 10;

/// Kinds of file in the permissions.
const KIND: u32 = 0o170_000;
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

/// What is asked.
pub(super) enum Request<'a> {
    Init,
    Stat(&'a str),
    Open(&'a str),
    OpenFolder(&'a str),
    ReadFolder(&'a [u8]),
    Read { handle: &'a [u8], start: u64, length: u32 },
    Close(&'a [u8]),
}

impl Request<'_> {
    /// As it is sent, with the number that its answer has.
    pub(super) fn bytes(&self, id: u32) -> Vec<u8> {
        let (kind, first, rest): (u8, &[u8], Vec<u8>) = match self {
            Self::Init => return vec![0, 0, 0, 5, 1, 0, 0, 0, 3],
            Self::Stat(path) => (17, path.as_bytes(), Vec::new()),
            // For reading, without attributes.
            Self::Open(path) => (3, path.as_bytes(), vec![0, 0, 0, 1, 0, 0, 0, 0]),
            Self::OpenFolder(path) => (11, path.as_bytes(), Vec::new()),
            Self::ReadFolder(handle) => (12, handle, Vec::new()),
            Self::Close(handle) => (4, handle, Vec::new()),
            Self::Read { handle, start, length } => {
                (5, handle, [&start.to_be_bytes()[..], &length.to_be_bytes()].concat())
            }
        };
        let length = 1 + 4 + 4 + first.len() + rest.len();
        let mut bytes = (length as u32).to_be_bytes().to_vec();
        bytes.push(kind);
        bytes.extend(id.to_be_bytes());
        bytes.extend((first.len() as u32).to_be_bytes());
        bytes.extend(first);
        bytes.extend(rest);
        bytes
    }
}

/// What is answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packet {
    Version,
    Status {
        code: u32,
        message: String,
    },
    Handle(Vec<u8>),
    Data(Vec<u8>),
    Names(Vec<(String, Attributes)>),
    Attributes(Attributes),
    /// Of a file or folder.
    End,
    Done,
}

/// What is known of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    pub(super) bytes: Option<u64>,
    mode: u32,
}

impl Attributes {
    pub(super) fn is_folder(&self) -> bool {
        self.mode & KIND == FOLDER
    }

    pub(super) fn is_file(&self) -> bool {
        self.mode & KIND == FILE
    }

    pub(super) fn is_link(&self) -> bool {
        self.mode & KIND == LINK
    }
}

impl Packet {
    /// Reads one.
    pub(super) fn read(input: &mut impl Read) -> io::Result<Self> {
        let mut length = [0; 4];
        input.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        if !(1..=LONGEST).contains(&length) {
            return Err(bad("the length of a packet cannot be"));
        }
        let mut bytes = vec![0; length];
        input.read_exact(&mut bytes)?;
        let mut fields = Fields(&bytes);
        let packet = fields.packet();
        packet.ok_or(bad("a packet is shorter than what it has, or of no known kind"))
    }
}

fn bad(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn packet(&mut self) -> Option<Packet> {
        let kind = self.take(1)?[0];
        if kind == 2 {
            return Some(Packet::Version);
        }
        let _id = self.number()?;
        Some(match kind {
            101 => match self.number()? {
                1 => Packet::End,
                code => {
                    let message =
                        self.text().map_or(String::new(), |text| String::from_utf8_lossy(text).into_owned());
                    Packet::Status { code, message }
                }
            },
            102 => Packet::Handle(self.text()?.to_vec()),
            103 => Packet::Data(self.text()?.to_vec()),
            104 => {
                let count = self.number()?;
                // Every name takes at least twelve bytes, so that no number decides how much memory is taken.
                let names = (0..count).map(|_| self.name()).collect::<Option<Vec<_>>>()?;
                Packet::Names(names)
            }
            105 => Packet::Attributes(self.attributes()?),
            _ => return None,
        })
    }

    fn name(&mut self) -> Option<(String, Attributes)> {
        let name = String::from_utf8_lossy(self.text()?).into_owned();
        let _long = self.text()?;
        Some((name, self.attributes()?))
    }

    fn attributes(&mut self) -> Option<Attributes> {
        let flags = self.number()?;
        let bytes = if flags & 1 != 0 { Some(self.long()?) } else { None };
        if flags & 2 != 0 {
            self.take(8)?;
        }
        let mode = if flags & 4 != 0 { self.number()? } else { 0 };
        if flags & 8 != 0 {
            self.take(8)?;
        }
        if flags & 0x8000_0000 != 0 {
            for _ in 0..self.number()? {
                self.text()?;
                self.text()?;
            }
        }
        Some(Attributes { bytes, mode })
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(body: &[u8]) -> io::Result<Packet> {
        let bytes = [&(body.len() as u32).to_be_bytes()[..], body].concat();
        Packet::read(&mut bytes.as_slice())
    }

    #[test]
    fn a_request_is_as_the_protocol_has_it() {
        let bytes = Request::Open("ab").bytes(7);
        assert_eq!(bytes, [0, 0, 0, 19, 3, 0, 0, 0, 7, 0, 0, 0, 2, b'a', b'b', 0, 0, 0, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn names_come_with_what_they_are() {
        let mut body = vec![104, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, b'x', 0, 0, 0, 0, 0, 0, 0, 5];
        body.extend(9_u64.to_be_bytes());
        body.extend(0o100_644_u32.to_be_bytes());
        let Packet::Names(names) = packet(&body).unwrap() else { panic!("no names") };
        assert_eq!((names[0].0.as_str(), names[0].1.bytes, names[0].1.is_file()), ("x", Some(9), true));
    }

    #[test]
    fn numbers_of_the_other_side_take_no_memory() {
        let many = [104, 0, 0, 0, 1, 255, 255, 255, 255];
        let long = [103, 0, 0, 0, 1, 255, 255, 255, 255, 1];
        let extended = [105, 0, 0, 0, 1, 128, 0, 0, 0, 255, 255, 255, 255];
        for body in [&many[..], &long, &extended, &[], &[7, 0, 0, 0, 0]] {
            assert_eq!(packet(body).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
        let endless = [255, 255, 255, 255, 103];
        assert_eq!(Packet::read(&mut &endless[..]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
