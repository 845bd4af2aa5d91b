//! Files that are there as a whole or not at all: a reader never meets half of one.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What stands for standard output.
const STANDARD_OUTPUT: &str = "-";
/// Bytes handed to the system at a time.
const BUFFER: usize = 1 << 18;

/// Writes a file beside its place and moves it there when it is whole; `-` is standard output, whose reader may go away.
pub(super) fn write(path: &Path, fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if is_standard_output(path) {
        let mut out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
        let written = fill(&mut out).and_then(|()| out.flush());
        return written.or_else(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(error),
        });
    }
    if !path.is_file() && path.exists() {
        // A pipe or a device takes what it is given; there is nothing to move.
        return filled(File::options().write(true).open(path)?, fill);
    }
    let beside = beside(path);
    let moved = filled(File::create(&beside)?, fill).and_then(|()| fs::rename(&beside, path));
    if moved.is_err() {
        // What is left of it helps nobody, and the first error is the one to report.
        let _ = fs::remove_file(&beside);
    }
    moved
}

pub(super) fn is_standard_output(path: &Path) -> bool {
    path == Path::new(STANDARD_OUTPUT)
}

fn filled(file: File, fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, file);
    fill(&mut out)?;
    out.flush()
}

/// In the same folder, or it could not be moved; hidden, and without the ending that Prometheus' collector looks for.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_could_not_be_written_in_full_is_not_there_and_the_one_before_it_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.prom");
        write(&path, &mut |out| out.write_all(b"first")).unwrap();
        let failed = write(&path, &mut |out| out.write_all(b"sec").and(Err(io::Error::other("disk full"))));
        assert_eq!(failed.unwrap_err().to_string(), "disk full");
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
