//! A process under test on a terminal of its own, where keys become signals.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};

pub(crate) struct Terminal {
    child: Child,
    screen: File,
    shown: String,
}

impl Terminal {
    pub(crate) fn start(mut command: Command) -> Self {
        let (mut ours, mut theirs) = (0, 0);
        // SAFETY: live pointers for two descriptors; the rest may be null.
        let made = unsafe {
            let null = std::ptr::null_mut();
            libc::openpty(&raw mut ours, &raw mut theirs, null, null.cast(), null.cast())
        };
        assert_eq!(made, 0);
        // SAFETY: both descriptors were just opened and belong to nobody else.
        let (screen, theirs) = unsafe { (File::from_raw_fd(ours), File::from_raw_fd(theirs)) };
        let own_terminal = move || {
            // SAFETY: calls that are allowed between fork and exec; standard input is the terminal.
            unsafe {
                // Whoever was started in the background of a script ignores these, and so would its children.
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                libc::signal(libc::SIGQUIT, libc::SIG_DFL);
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                libc::close(ours);
            }
            Ok(())
        };
        let copy = || theirs.try_clone().unwrap();
        command.stdin(copy()).stdout(copy()).stderr(copy());
        // SAFETY: as above.
        unsafe { command.pre_exec(own_terminal) };
        Self { child: command.spawn().unwrap(), screen, shown: String::new() }
    }

    /// Waits until this is shown, after what was heard before.
    pub(crate) fn hear(&mut self, wanted: &str) {
        let mut bytes = [0; 4096];
        while !self.shown.contains(wanted) {
            let read = self.screen.read(&mut bytes).unwrap_or(0);
            assert!(read > 0, "{wanted:?} never came after {:?}", self.shown);
            self.shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
        let end = self.shown.find(wanted).unwrap() + wanted.len();
        self.shown.drain(..end);
    }

    pub(crate) fn say(&mut self, keys: &str) {
        self.screen.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: the child is not reaped yet, so the pid is its own.
        unsafe { libc::kill(self.child.id().try_into().unwrap(), signal) };
    }

    /// Waits for its end while the screen is read, so that nobody waits for room on it.
    pub(crate) fn end(&mut self) -> ExitStatus {
        let mut bytes = [0; 4096];
        while matches!(self.screen.read(&mut bytes), Ok(read) if read > 0) {}
        self.child.wait().unwrap()
    }
}
