//! The terminal's title, kept up to date while a command runs, and put back when it ends.

use std::fs::File;
use std::io::{self, Write};

use laptime_analyse::Report;

use crate::text::{Style, progress_words, shortened, shown};

/// Titles are cut by window managers at about this.
const WIDEST: usize = 80;
/// Keeps the title, and brings it back; a terminal that cannot leaves the last one.
const KEEP: &str = "\x1b[22;2t";
const BRING_BACK: &str = "\x1b[23;2t";

/// The title of this process' terminal.
pub(crate) struct Title {
    tty: File,
    newest: String,
}

impl Title {
    /// The title; unchanged until it is first set.
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self { tty: File::options().write(true).open("/dev/tty")?, newest: String::new() })
    }

    /// Sets it to where the run is.
    pub(crate) fn set(&mut self, report: &Report, style: &Style) {
        let text = style.fitted(&text(report));
        if text != self.newest {
            let keep = if self.newest.is_empty() { KEEP } else { "" };
            // One write, so that nothing of the command's comes between. A terminal that is gone has no title.
            let _ = self.tty.write_all(format!("{keep}\x1b]2;{text}\x07").as_bytes());
            self.newest = text;
        }
    }
}

impl Drop for Title {
    fn drop(&mut self) {
        if !self.newest.is_empty() {
            let _ = self.tty.write_all(BRING_BACK.as_bytes());
        }
    }
}

/// `epoch 3/10  left 12 s (11–13)  train.py`
fn text(report: &Report) -> String {
    let mut words = progress_words(report);
    words.rotate_left(1);
    // Nothing in a name may end the code that sets the title.
    shortened(&shown(&words.join("  ")), WIDEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::sample;

    #[test]
    fn a_title_says_where_the_run_is_and_no_name_ends_it() {
        let mut report = sample::running();
        report.run.name = "a\x07\x1b]2;b".to_owned();
        let text = text(&report);
        assert!(text.starts_with("epoch "), "{text}");
        assert!(!text.contains(['\x07', '\x1b']), "{text}");
    }
}
