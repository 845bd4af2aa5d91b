//! Tar as WebDataset writes it. Names are compared, never shown nor used as a path: nothing is unpacked.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::super::problem::FileProblem;
use super::headers::Headers;
use super::{Framing, Member};
use crate::tar_header::{
    Extra, MAX_NAME_BYTES, RECORD, checked_size, name_of, read_pax, split_name, until_zero,
};

/// Extra headers before one member; writers put one or two.
const MOST_EXTRAS: usize = 16;

#[derive(Default)]
pub(super) struct Tar;

impl Framing for Tar {
    const NAME: &'static str = "a tar archive";
    const ALIGNMENT: u64 = RECORD;
    const HEADER_BYTES: usize = RECORD as usize;

    fn is_header(header: &[u8], left: u64) -> bool {
        header[257..262] == *b"ustar" && checked_size(header).is_some_and(|bytes| bytes <= left)
    }

    /// A member with the extra headers before it, which have its name and size where those are long.
    fn member(&mut self, headers: &mut Headers<'_>, start: u64) -> Result<Option<Member>, FileProblem> {
        let end = headers.stored.bytes();
        let (mut at, mut extra) = (start, Extra::default());
        for _ in 0..MOST_EXTRAS {
            let header = headers.take(at, Self::HEADER_BYTES)?;
            if header.iter().all(|byte| *byte == 0) {
                return Ok(None);
            }
            let bytes = checked_size(header).ok_or(FileProblem::Damaged("a header of the archive"))?;
            let (kind, own_name) = (header[156], name_of(header));
            let is_extra = matches!(kind, b'x' | b'g' | b'L' | b'K');
            let bytes = extra.bytes.take().filter(|_| !is_extra).unwrap_or(bytes);
            let data = at + RECORD;
            let next = bytes.checked_next_multiple_of(RECORD).and_then(|padded| data.checked_add(padded));
            // The padding of the last member may be missing.
            let ends = data.checked_add(bytes).filter(|ends| *ends <= end);
            let (Some(next), Some(_)) = (next, ends) else { return Err(FileProblem::Truncated) };
            match kind {
                b'L' | b'x' if bytes > MAX_NAME_BYTES => {
                    return Err(FileProblem::Damaged("a name in it is longer than any path"));
                }
                b'L' => extra.name = Some(until_zero(headers.take(data, bytes as usize)?).to_vec()),
                b'x' => read_pax(headers.take(data, bytes as usize)?, &mut extra),
                b'g' | b'K' => {}
                // The last is a file that wishes to lie in one piece.
                b'0' | 0 | b'7' => {
                    let name = extra.name.take().unwrap_or(own_name);
                    let (sample, is_image) = (sample_of(&name), is_image(&name));
                    return Ok(Some(Member { next, data, data_bytes: bytes, is_image, sample }));
                }
                _ => return Ok(Some(Member { next, data, data_bytes: 0, is_image: false, sample: None })),
            }
            at = next;
        }
        Err(FileProblem::Damaged("a member with too many extra headers"))
    }
}

/// A hash of the name up to the first dot, which the files of a sample share; a hidden file is of none.
fn sample_of(name: &[u8]) -> Option<u64> {
    let (key, _) = split_name(name)?;
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    Some(hasher.finish())
}

fn is_image(name: &[u8]) -> bool {
    let start = name.iter().rposition(|byte| *byte == b'.').map_or(name.len(), |dot| dot + 1);
    [&b"jpg"[..], b"jpeg", b"png"].iter().any(|known| name[start..].eq_ignore_ascii_case(known))
}
