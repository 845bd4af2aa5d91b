//! A process under test on pipes: what it says is waited for, never slept for.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

pub(crate) struct Tracked {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// Whoever was started in the background of a script, or with `nohup`, ignores these, and so would its children.
fn default_signals(command: &mut Command) {
    let reset = || {
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
            // SAFETY: a call that is allowed between fork and exec.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: as above.
    unsafe { command.pre_exec(reset) };
}

impl Tracked {
    pub(crate) fn start(mut command: Command) -> Self {
        default_signals(&mut command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    /// Waits for a line that begins so; gives the rest of it.
    pub(crate) fn hear(&mut self, beginning: &str) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.strip_prefix(beginning).unwrap_or_else(|| panic!("{line:?} instead of {beginning:?}")).to_owned()
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).unwrap();
    }

    fn pid(&self) -> i32 {
        self.child.id().try_into().unwrap()
    }

    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: the child is not reaped yet, so the pid is its own.
        unsafe { libc::kill(self.pid(), signal) };
    }

    /// As a shell's `kill %1`, for one that leads a group of its own.
    pub(crate) fn signal_group(&self, signal: i32) {
        // SAFETY: as above.
        unsafe { libc::kill(-self.pid(), signal) };
    }

    fn change(&self, options: i32) -> ExitStatus {
        let mut word = 0;
        // SAFETY: a live pointer and a child of this process.
        assert_eq!(unsafe { libc::waitpid(self.pid(), &raw mut word, options) }, self.pid());
        ExitStatus::from_raw(word)
    }

    /// Waits until it is stopped; by which signal.
    pub(crate) fn stopped(&self) -> i32 {
        self.change(libc::WUNTRACED).stopped_signal().unwrap()
    }

    pub(crate) fn continued(&self) {
        assert!(self.change(libc::WCONTINUED).continued());
    }

    pub(crate) fn end(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}
