//! Lines of a folder's listing, as `ls -l` writes them; servers of every system have come to do so.

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) bytes: u64,
}

/// `-rw-r--r--    1 ftp      ftp          1234 Nov 19 04:00 train.csv`, or the way of Windows,
/// `11-19-26  04:00AM       1234 train.csv`. What is neither is no entry.
pub(super) fn entry(line: &str) -> Option<Entry> {
    let found = unix(line).or_else(|| windows(line))?;
    let safe = !found.name.is_empty() && found.name != "." && found.name != ".." && !found.name.contains('/');
    safe.then_some(found)
}

fn unix(line: &str) -> Option<Entry> {
    let kind = match line.as_bytes().first()? {
        b'-' => Kind::File,
        b'd' => Kind::Folder,
        b'l' => Kind::Link,
        _ => return None,
    };
    // Eight columns, then a name that may have spaces, also at its beginning.
    let mut rest = line;
    let mut columns = Vec::new();
    for _ in 0..8 {
        let end = rest.find(' ')?;
        columns.push(&rest[..end]);
        rest = if columns.len() < 8 { rest[end..].trim_start() } else { &rest[end + 1..] };
    }
    let bytes = columns[4].parse().ok()?;
    let name = match kind {
        Kind::Link => rest.split_once(" -> ").map_or(rest, |(name, _)| name),
        _ => rest,
    };
    Some(Entry { name: name.to_owned(), kind, bytes })
}

fn windows(line: &str) -> Option<Entry> {
    let (date, rest) = line.split_once(' ')?;
    let (_, rest) = rest.trim_start().split_once(' ')?;
    let (size, name) = rest.trim_start().split_once(' ')?;
    let is_date = date.len() >= 8 && date.split('-').all(|part| part.parse::<u16>().is_ok());
    let (kind, bytes) = match size {
        "<DIR>" => (Kind::Folder, 0),
        size => (Kind::File, size.parse().ok()?),
    };
    is_date.then(|| Entry { name: name.trim_start().to_owned(), kind, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<(String, Kind, u64)> {
        entry(line).map(|entry| (entry.name, entry.kind, entry.bytes))
    }

    #[test]
    fn lines_of_unix_and_windows_are_entries() {
        let file = of("-rw-r--r--    1 ftp      ftp          1234 Nov 19 04:00 a b.csv");
        assert_eq!(file, Some(("a b.csv".into(), Kind::File, 1234)));
        let folder = of("drwxr-xr-x    2 0        0            4096 Jan 01  2025 set");
        assert_eq!(folder, Some(("set".into(), Kind::Folder, 4096)));
        let link = of("lrwxrwxrwx    1 0        0               5 Nov 19 04:00 x -> ../y");
        assert_eq!(link, Some(("x".into(), Kind::Link, 5)));
        assert_eq!(
            of("11-19-26  04:00AM       1234 train.csv"),
            Some(("train.csv".into(), Kind::File, 1234))
        );
        assert_eq!(of("11-19-26  04:00AM       <DIR> set"), Some(("set".into(), Kind::Folder, 0)));
    }

    #[test]
    fn names_that_lead_elsewhere_and_other_lines_are_none() {
        let rights = "-rw-r--r--    1 ftp      ftp          1234 Nov 19 04:00 ";
        for name in ["..", ".", "../x", "/etc/passwd", ""] {
            assert_eq!(of(&format!("{rights}{name}")), None, "{name}");
        }
        for line in ["", "total 12", "-", "drwx", "-rw 1 a b big Nov 19 04:00 x"] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
