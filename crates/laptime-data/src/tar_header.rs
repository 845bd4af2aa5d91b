//! Headers of tar archives: what a member is called, and how large it is.

/// A header, and what everything is padded to.
pub(crate) const RECORD: u64 = 512;

/// Longest name that is read from an entry of its own; no file system has longer paths.
pub(crate) const MAX_NAME_BYTES: u64 = 64 << 10;

/// Names and sizes that extra headers give to the next member.
#[derive(Debug, Default)]
pub(crate) struct Extra {
    pub(crate) name: Option<Vec<u8>>,
    pub(crate) bytes: Option<u64>,
}

/// The size that a header declares, if its checksum is right.
pub(crate) fn checked_size(header: &[u8]) -> Option<u64> {
    let declared = octal(&header[148..156])?;
    let sum = header
        .iter()
        .enumerate()
        .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) });
    if sum.sum::<u64>() != declared {
        return None;
    }
    match &header[124..136] {
        // Beyond 8 GiB sizes are binary.
        [first, rest @ ..] if first & 0x80 != 0 => {
            let high = rest[..3].iter().any(|byte| *byte != 0) || first & 0x7f != 0;
            let low = rest[3..].try_into().ok().map(u64::from_be_bytes)?;
            (!high && low <= i64::MAX as u64).then_some(low)
        }
        size => octal(size),
    }
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(until_zero(field)).ok()?.trim();
    if text.is_empty() { Some(0) } else { u64::from_str_radix(text, 8).ok() }
}

pub(crate) fn until_zero(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    &field[..end]
}

pub(crate) fn name_of(header: &[u8]) -> Vec<u8> {
    let name = until_zero(&header[..100]);
    let prefix = if header[257..262] == *b"ustar" { until_zero(&header[345..500]) } else { b"" };
    if prefix.is_empty() { name.to_vec() } else { [prefix, b"/", name].concat() }
}

/// Records of `length key=value\n`, of which path and size are used.
pub(crate) fn read_pax(mut text: &[u8], extra: &mut Extra) {
    while let Some(space) = text.iter().position(|byte| *byte == b' ') {
        let length = std::str::from_utf8(&text[..space]).ok().and_then(|digits| digits.parse::<usize>().ok());
        let Some(length) = length.filter(|length| *length > space && *length <= text.len()) else { return };
        let record = text[space + 1..length].trim_ascii_end();
        if let Some(path) = record.strip_prefix(b"path=") {
            extra.name = Some(path.to_vec());
        } else if let Some(size) = record.strip_prefix(b"size=") {
            extra.bytes = std::str::from_utf8(size).ok().and_then(|size| size.parse().ok());
        }
        text = &text[length..];
    }
}

/// The name of a sample and what the file is of it: `a/b.seg.png` is `seg.png` of `a/b`.
pub(crate) fn split_name(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let base = name.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let dot = base + name[base..].iter().position(|byte| *byte == b'.')?;
    // A hidden file is no sample.
    (dot > base).then(|| (&name[..dot], &name[dot + 1..]))
}
