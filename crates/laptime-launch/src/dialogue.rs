//! A command that is spoken with: in a session of its own, a line at a time to its input and from its output.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::child::{Change, Child, Ended};
use crate::job::Job;
use crate::session;
use crate::signals::{Blocked, Signal};
use crate::watcher::Watcher;

/// How long the last words of a command that has ended may take to be read.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How often signals are looked for while the command is silent.
const LOOK: Duration = Duration::from_millis(50);

/// What came of listening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A line, without its end.
    Line(String),
    /// Nothing for that long.
    Silence,
    /// Somebody asked laptime to end.
    Interrupted,
    /// The command has ended.
    Ended(Ended),
}

/// A command and the lines to and from it. Nothing of it outlives this.
pub struct Dialogue<'a> {
    child: Child,
    signals: &'a Blocked,
    watcher: Option<&'a Watcher>,
    input: PipeWriter,
    lines: Receiver<String>,
    /// The last line with anything in it that the command wrote on standard error.
    last_words: Arc<Mutex<String>>,
    /// Who reads them.
    errors: thread::JoinHandle<()>,
    ended: Option<Ended>,
}

impl<'a> Dialogue<'a> {
    /// Starts a command with these variables added to the environment.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(
        words: &[OsString],
        variables: &[(&str, OsString)],
        signals: &'a Blocked,
        watcher: Option<&'a Watcher>,
    ) -> io::Result<Self> {
        let (theirs_in, input) = io::pipe()?;
        let (output, theirs_out) = io::pipe()?;
        let (errors, theirs_error) = io::pipe()?;
        let streams = [OwnedFd::from(theirs_in), theirs_out.into(), theirs_error.into()].map(Stdio::from);
        let job = Job { words: words.to_vec(), ..Job::default() };
        let child = Child::start_apart(&job, variables, signals, streams, watcher)?;
        let (sender, lines) = channel();
        let last_words = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&last_words);
        thread::spawn(move || pass_lines(output, &sender));
        let errors = thread::spawn(move || keep_last(errors, &kept));
        Ok(Self { child, signals, watcher, input, lines, last_words, errors, ended: None })
    }

    /// Sends a line.
    ///
    /// # Errors
    /// When the command reads no more.
    pub fn say(&mut self, line: &str) -> io::Result<()> {
        self.input.write_all(format!("{line}\n").as_bytes())
    }

    /// Waits for a line for at most so long.
    pub fn hear(&mut self, patience: Duration) -> Heard {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(signal) = self.signals.wait(Duration::ZERO)
                && self.asks_to_end(signal)
            {
                return Heard::Interrupted;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let closed = match self.lines.recv_timeout(left.min(LOOK)) {
                Ok(line) => return Heard::Line(line),
                Err(RecvTimeoutError::Disconnected) => true,
                Err(RecvTimeoutError::Timeout) => false,
            };
            if let Some(ended) = self.has_ended() {
                // What it wrote before its end is on its way, unless what it left running holds the pipe open.
                return self.lines.recv_timeout(LAST_WORDS).map_or(Heard::Ended(ended), Heard::Line);
            }
            if left.is_zero() {
                return Heard::Silence;
            }
            if closed {
                thread::sleep(LOOK.min(left));
            }
        }
    }

    /// The last line with anything in it that it wrote on standard error.
    #[must_use]
    pub fn last_words(&self) -> String {
        // Of a command that has ended all is read soon, unless what it left running holds the pipe open.
        let deadline = Instant::now() + LAST_WORDS;
        while self.ended.is_some() && !self.errors.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        self.last_words.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn has_ended(&mut self) -> Option<Ended> {
        if self.ended.is_none() && self.child.change() == Change::Ended {
            self.ended = Some(self.child.reap().0);
        }
        self.ended
    }

    /// Whether a signal is a wish to end; one to stop is followed, by the command too.
    fn asks_to_end(&self, signal: Signal) -> bool {
        match signal.number {
            libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT => true,
            libc::SIGTSTP => {
                session::send(self.child.pid(), libc::SIGSTOP);
                self.signals.stop_by(libc::SIGTSTP);
                session::send(self.child.pid(), libc::SIGCONT);
                false
            }
            _ => false,
        }
    }
}

impl Drop for Dialogue<'_> {
    fn drop(&mut self) {
        session::end(self.child.pid());
        if self.ended.is_none() {
            self.child.reap();
        }
        if let Some(watcher) = self.watcher {
            watcher.all_ended();
        }
    }
}

fn pass_lines(output: PipeReader, sender: &Sender<String>) {
    for line in BufReader::new(output).lines() {
        let Ok(line) = line else { return };
        if sender.send(line).is_err() {
            return;
        }
    }
}

fn keep_last(errors: PipeReader, kept: &Mutex<String>) {
    for line in BufReader::new(File::from(OwnedFd::from(errors))).split(b'\n') {
        let Ok(line) = line else { return };
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        if !line.is_empty() {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = line;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, signals: &Blocked, test: impl FnOnce(&mut Dialogue<'_>)) {
        let words = ["sh", "-c", script].map(OsString::from);
        test(&mut Dialogue::start(&words, &[("GREETING", "hello".into())], signals, None).unwrap());
    }

    #[test]
    fn lines_go_both_ways_and_the_end_comes_after_the_last() {
        let script = "read name; echo $GREETING $name; echo oops >&2; exit 3";
        shell(script, &Blocked::all(), |dialogue| {
            dialogue.say("you").unwrap();
            assert_eq!(dialogue.hear(Duration::from_secs(10)), Heard::Line("hello you".into()));
            assert_eq!(dialogue.hear(Duration::from_secs(10)), Heard::Ended(Ended::Exit(3)));
            assert_eq!(dialogue.last_words(), "oops");
        });
    }

    #[test]
    fn nothing_that_it_started_outlives_it() {
        let mut started = String::new();
        shell("sleep 600 & echo $!; sleep 600", &Blocked::all(), |dialogue| {
            let Heard::Line(pid) = dialogue.hear(Duration::from_secs(10)) else { panic!("no line") };
            started = pid;
            assert_eq!(dialogue.hear(Duration::ZERO), Heard::Silence);
        });
        let stat = std::fs::read_to_string(format!("/proc/{started}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    }
}
