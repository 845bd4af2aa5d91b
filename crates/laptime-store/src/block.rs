//! Blocks: the unit that is written at once, checked, and lost alone when it is damaged.

use crate::format::{HEADER_BYTES, LOG_VERSION, MAGIC, MAX_PAYLOAD_BYTES};

/// Who made a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// The process itself.
    Written = 0,
    /// A later command, from the ring the process left.
    Salvaged = 1,
}

/// What a block's header says besides its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHead {
    pub(crate) kind: BlockKind,
    pub(crate) rank: u32,
    /// Events in the payload.
    pub(crate) events: u32,
    pub(crate) number: u64,
    pub(crate) ticks: u64,
    pub(crate) real_ns: u64,
}

/// A whole block: header, checksums, payload.
pub(crate) fn seal(head: &BlockHead, payload: &[u8]) -> Vec<u8> {
    let mut block = Vec::with_capacity(HEADER_BYTES + payload.len());
    block.extend_from_slice(&MAGIC);
    block.extend_from_slice(&LOG_VERSION.to_le_bytes());
    block.extend_from_slice(&(head.kind as u16).to_le_bytes());
    block.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    block.extend_from_slice(&head.rank.to_le_bytes());
    block.extend_from_slice(&head.events.to_le_bytes());
    block.extend_from_slice(&head.number.to_le_bytes());
    block.extend_from_slice(&head.ticks.to_le_bytes());
    block.extend_from_slice(&head.real_ns.to_le_bytes());
    block.extend_from_slice(&crc32c::crc32c(payload).to_le_bytes());
    block.extend_from_slice(&crc32c::crc32c(&block).to_le_bytes());
    block.extend_from_slice(payload);
    block
}

/// What stands at a place in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scanned<'a> {
    /// A good block's payload.
    Payload(&'a [u8]),
    /// A good block of a version this build does not read.
    TooNew(u16),
    /// This many bytes that are no good block.
    Damage(usize),
}

/// Walks the blocks of a segment's bytes and remembers how far it got.
///
/// It stops before an unfinished last block, so that the next read goes on there.
pub struct BlockScan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BlockScan<'a> {
    /// A walk from the beginning of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes that need not be read again.
    #[must_use]
    pub fn consumed(&self) -> usize {
        self.at
    }

    fn skip_to_next_magic(&mut self) -> Scanned<'a> {
        let from = self.at + 1;
        let rest = self.bytes.get(from..).unwrap_or_default();
        let step = rest.windows(MAGIC.len()).position(|window| window == MAGIC).unwrap_or_else(|| {
            // The last bytes may be the beginning of a magic that is still being written.
            rest.len() - magic_begun_at_end(rest)
        });
        self.at = from + step;
        Scanned::Damage(1 + step)
    }
}

fn magic_begun_at_end(rest: &[u8]) -> usize {
    (1..MAGIC.len().min(rest.len() + 1)).rev().find(|length| rest.ends_with(&MAGIC[..*length])).unwrap_or(0)
}

impl<'a> Iterator for BlockScan<'a> {
    type Item = Scanned<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.at..)?;
        if rest.len() < HEADER_BYTES {
            // Too short to judge, unless it cannot become a block.
            let begun = rest.len().min(MAGIC.len());
            return (!rest.is_empty() && rest[..begun] != MAGIC[..begun]).then(|| self.skip_to_next_magic());
        }
        let Some(header) = Header::read(rest) else { return Some(self.skip_to_next_magic()) };
        let end = HEADER_BYTES + header.payload_bytes;
        // A short last block is how a growing file ends, not damage; but a good block behind it shows
        // that this one was torn and given up.
        let Some(payload) = rest.get(HEADER_BYTES..end) else {
            let torn = (1..rest.len())
                .any(|at| rest[at..].starts_with(&MAGIC) && Header::read(&rest[at..]).is_some());
            return torn.then(|| self.skip_to_next_magic());
        };
        if crc32c::crc32c(payload) != header.payload_crc {
            return Some(self.skip_to_next_magic());
        }
        self.at += end;
        Some(if header.version > LOG_VERSION {
            Scanned::TooNew(header.version)
        } else {
            Scanned::Payload(payload)
        })
    }
}

struct Header {
    version: u16,
    payload_bytes: usize,
    payload_crc: u32,
}

impl Header {
    /// The header at the front of `bytes`, when its magic, checksum and length hold.
    fn read(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..HEADER_BYTES)?;
        let word =
            |at: usize| -> Option<u32> { Some(u32::from_le_bytes(header.get(at..at + 4)?.try_into().ok()?)) };
        if header[..MAGIC.len()] != MAGIC || crc32c::crc32c(&header[..52]) != word(52)? {
            return None;
        }
        let payload_bytes = usize::try_from(word(12)?).ok()?;
        (payload_bytes <= MAX_PAYLOAD_BYTES).then_some(())?;
        Some(Self { version: (word(8)? & 0xffff) as u16, payload_bytes, payload_crc: word(48)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(payload: &[u8]) -> Vec<u8> {
        let head =
            BlockHead { kind: BlockKind::Written, rank: 0, events: 0, number: 0, ticks: 1, real_ns: 2 };
        seal(&head, payload)
    }

    fn scan(bytes: &[u8]) -> (Vec<Scanned<'_>>, usize) {
        let mut scan = BlockScan::new(bytes);
        let found = scan.by_ref().collect();
        (found, scan.consumed())
    }

    #[test]
    fn unfinished_last_block_is_left_for_the_next_read() {
        let mut bytes = block(b"one");
        let whole = bytes.len();
        bytes.extend(block(b"two"));
        for cut in whole..bytes.len() {
            let (found, consumed) = scan(&bytes[..cut]);
            assert_eq!(found, [Scanned::Payload(b"one")], "cut at {cut}");
            assert_eq!(consumed, whole);
        }
    }

    #[test]
    fn a_bad_block_costs_that_block_alone() {
        let (first, second, third) = (block(b"one"), block(b"two"), block(b"three"));
        for place in 0..second.len() {
            for bit in 0..8 {
                let mut damaged = second.clone();
                damaged[place] ^= 1 << bit;
                let bytes = [first.clone(), damaged, third.clone()].concat();
                let (found, consumed) = scan(&bytes);
                let good: Vec<_> =
                    found.iter().filter(|found| matches!(found, Scanned::Payload(_))).collect();
                assert_eq!(good, [&Scanned::Payload(b"one".as_slice()), &Scanned::Payload(b"three")]);
                assert_eq!(consumed, bytes.len());
            }
        }
    }

    #[test]
    fn a_block_torn_by_a_full_disk_does_not_hide_the_one_behind_it() {
        let torn = block(&[7; 300]);
        for cut in 1..torn.len() {
            let bytes = [&torn[..cut], &block(b"behind")].concat();
            let (found, _) = scan(&bytes);
            assert_eq!(found.last(), Some(&Scanned::Payload(b"behind".as_slice())), "cut at {cut}");
        }
    }

    #[test]
    fn a_newer_version_is_named_and_stepped_over() {
        let mut newer = block(b"new words");
        newer[8] = LOG_VERSION as u8 + 1;
        let crc = crc32c::crc32c(&newer[..52]);
        newer[52..56].copy_from_slice(&crc.to_le_bytes());
        let bytes = [newer, block(b"old words")].concat();
        let (found, _) = scan(&bytes);
        assert_eq!(found, [Scanned::TooNew(LOG_VERSION + 1), Scanned::Payload(b"old words")]);
    }
}
