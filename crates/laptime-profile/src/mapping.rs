//! Which files a process has mapped, and where.

use std::fs;
use std::io;

/// A file in a process' memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// The address of its first mapped byte.
    pub(crate) begin: u64,
    /// The file, as the process sees it.
    pub(crate) path: String,
}

/// The files that a process has mapped from their beginning on.
pub(crate) fn mapped_files(pid: u32) -> io::Result<Vec<Mapping>> {
    Ok(parse(&fs::read_to_string(format!("/proc/{pid}/maps"))?))
}

fn parse(maps: &str) -> Vec<Mapping> {
    maps.lines().filter_map(parse_line).collect()
}

/// `55d0c8a00000-55d0c8a01000 r--p 00000000 fe:01 1234   /usr/bin/python3.11`
fn parse_line(line: &str) -> Option<Mapping> {
    let path = line.get(line.find('/')?..)?;
    let mut words = line.split_ascii_whitespace();
    let begin = words.next()?.split('-').next()?;
    let offset = words.nth(1)?;
    let is_begin = u64::from_str_radix(offset, 16).ok()? == 0;
    let begin = u64::from_str_radix(begin, 16).ok()?;
    is_begin.then(|| Mapping { begin, path: path.to_owned() })
}

/// Whether a file's name is that of a Python or of its library.
pub(crate) fn is_python(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with("libpython") || name.starts_with("python") || name.starts_with("pypy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginnings_of_files_count_and_paths_may_have_spaces() {
        let maps = "\
55d000-55e000 r--p 00000000 fe:01 12    /opt/my python/python3.11
55e000-55f000 r-xp 00001000 fe:01 12    /opt/my python/python3.11
7f0000-7f1000 rw-p 00000000 00:00 0
7ffd00-7ffe00 rw-p 00000000 00:00 0     [stack]
nonsense";
        let python = Mapping { begin: 0x55_d000, path: "/opt/my python/python3.11".into() };
        assert_eq!(parse(maps), [python]);
    }

    #[test]
    fn pythons_are_known_by_their_names() {
        assert!(is_python("/usr/bin/python3.11") && is_python("/x/libpython3.12.so.1.0"));
        assert!(!is_python("/usr/bin/bash") && !is_python("/lib/_python.so"));
    }
}
