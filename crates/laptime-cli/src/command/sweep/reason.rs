//! Why a repeat did not end well, in one line.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use laptime_analyse::sweep::Outcome;
use laptime_core::units;
use laptime_launch::{Ended, signal_name};

use crate::text::{shortened, shown};

/// Bytes at the end of the command's errors that are looked at.
const TAIL_BYTES: u64 = 4096;
/// Letters of a line that are kept.
const LONGEST: usize = 200;

/// How a command ended, with the last thing it said. `starved_bytes` is what it had when the kernel killed
/// something for lack of memory meanwhile.
pub(in crate::command) fn ended_badly(ended: Ended, starved_bytes: Option<u64>, last_line: &str) -> Outcome {
    let said = |how: String| if last_line.is_empty() { how } else { format!("{how}: {last_line}") };
    match ended {
        Ended::Exit(0) => Outcome::Finished,
        // What a shell says of a child that was killed.
        Ended::Exit(137) => Outcome::Killed { reason: said(killed(starved_bytes)) },
        Ended::Exit(code) => Outcome::Failed { reason: said(format!("exit code {code}")) },
        Ended::Signal(libc::SIGKILL) => Outcome::Killed { reason: said(killed(starved_bytes)) },
        Ended::Signal(signal) => {
            Outcome::Killed { reason: said(format!("signal {signal}{}", signal_name(signal))) }
        }
    }
}

fn killed(starved_bytes: Option<u64>) -> String {
    match starved_bytes {
        Some(bytes) => format!("killed for lack of memory (it had {})", units::bytes(bytes)),
        None => "signal 9 (SIGKILL)".to_owned(),
    }
}

/// The last line that a run's command wrote to its errors and that says something.
pub(in crate::command) fn last_line(run: &Path) -> String {
    let tail = tail(&run.join("stderr.txt")).unwrap_or_default();
    // A progress bar ends its lines with a carriage return alone.
    let mut lines = tail.split(['\n', '\r']).map(shown);
    // What to type next says nothing of why.
    let last = lines.rfind(|line| !line.is_empty() && !line.starts_with("hint:")).unwrap_or_default();
    shortened(last.strip_prefix("because: ").unwrap_or(&last), LONGEST)
}

fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_says_something_is_kept_safe_to_show() {
        let folder = tempfile::tempdir().unwrap();
        let said = |text: &str| {
            std::fs::write(folder.path().join("stderr.txt"), text).unwrap();
            last_line(folder.path())
        };
        assert_eq!(said("Traceback:\n  x\nValueError: bad\n\n"), "ValueError: bad");
        assert_eq!(said("10%\r20%\r"), "20%");
        assert_eq!(said("\x1b[31mred\n"), "\\u{1b}[31mred");
        assert_eq!(said("error: no\n  because: x\n  hint: y\n"), "x");
        assert_eq!(said(""), "");
        assert_eq!(said(&"x".repeat(10_000)).chars().count(), LONGEST);
        assert_eq!(last_line(Path::new("/no/such/folder")), "");
    }

    #[test]
    fn exits_signals_and_the_lack_of_memory_are_distinguished() {
        let reason = |ended, said| ended_badly(ended, None, said).reason().map(str::to_owned);
        assert_eq!(reason(Ended::Exit(0), "fine"), None);
        assert_eq!(reason(Ended::Exit(3), "").as_deref(), Some("exit code 3"));
        assert_eq!(reason(Ended::Exit(1), "boom").as_deref(), Some("exit code 1: boom"));
        assert_eq!(reason(Ended::Signal(11), "").as_deref(), Some("signal 11 (SIGSEGV)"));
        assert_eq!(reason(Ended::Signal(9), "").as_deref(), Some("signal 9 (SIGKILL)"));
        let starved = ended_badly(Ended::Exit(137), Some(1 << 30), "");
        assert_eq!(starved.reason(), Some("killed for lack of memory (it had 1.0 GiB)"));
    }
}
