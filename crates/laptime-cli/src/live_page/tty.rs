//! The terminal of this process: how large it is, its keys, and how it was before.

use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};

pub(super) const CTRL_C: u8 = 3;
pub(super) const CTRL_L: u8 = 12;

/// Another screen, so that the one before comes back as it was, and no cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";
/// The size of a terminal that does not know it.
const USUAL: (u16, u16) = (80, 24);

/// Whose the keyboard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// The page's.
    Read,
    /// Somebody else's.
    LeftAlone,
}

/// The terminal; dropping it leaves the terminal as it was.
pub(super) struct Tty {
    file: File,
    keys: Keys,
    /// Whether the page has the screen, and how the keys were before.
    taken: bool,
    before: Option<Termios>,
}

impl Tty {
    /// The terminal that this process belongs to, untouched.
    pub(super) fn open(keys: Keys) -> io::Result<Self> {
        if std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb") {
            return Err(io::Error::other("the terminal cannot be drawn on: TERM is not set, or `dumb`"));
        }
        let file = File::options().read(true).write(true).open("/dev/tty")?;
        Ok(Self { file, keys, taken: false, before: None })
    }

    /// Columns and lines.
    pub(super) fn size(&self) -> (u16, u16) {
        match tcgetwinsize(&self.file) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
            _ => USUAL,
        }
    }

    /// Writes to it; the first time it takes the screen.
    pub(super) fn write(&mut self, text: &[u8]) -> io::Result<()> {
        if !self.taken {
            self.take()?;
        }
        self.file.write_all(text)
    }

    /// A key that is pressed within so long.
    pub(super) fn key(&self, within: Duration) -> io::Result<Option<u8>> {
        if self.keys == Keys::LeftAlone {
            std::thread::sleep(within);
            return Ok(None);
        }
        let mut watched = [PollFd::new(&self.file, PollFlags::IN)];
        let within = Timespec { tv_sec: 0, tv_nsec: i64::from(within.subsec_nanos()) };
        match poll(&mut watched, Some(&within)) {
            // A signal came: whoever waits looks what it wants.
            Err(rustix::io::Errno::INTR) | Ok(0) => return Ok(None),
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        let mut key = [0];
        match (&self.file).read(&mut key)? {
            0 => Err(io::Error::other("the terminal is gone")),
            _ => Ok(Some(key[0])),
        }
    }

    fn take(&mut self) -> io::Result<()> {
        if self.keys == Keys::Read {
            let before = tcgetattr(&self.file)?;
            let mut modes = before.clone();
            // Keys come as they are pressed, unseen; Ctrl-C and Ctrl-Z too, so that neither leaves the page standing.
            modes.local_modes -=
                LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
            modes.special_codes[SpecialCodeIndex::VMIN] = 1;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(&self.file, OptionalActions::Now, &modes)?;
            self.before = Some(before);
        }
        self.taken = true;
        self.file.write_all(ENTER.as_bytes())
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        // Of a terminal that is gone nothing has to be restored.
        if self.taken {
            let _ = self.file.write_all(LEAVE.as_bytes());
        }
        if let Some(before) = &self.before {
            let _ = tcsetattr(&self.file, OptionalActions::Drain, before);
        }
    }
}
