//! A command in a session of its own, within a time limit: nothing of it reaches the terminal, and nothing of
//! it outlives its end.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use laptime_record::{Finished, anchor};
use laptime_store::clear_rings_of;

use crate::child::{Change, Child, Ended};
use crate::child_usage::ChildUsage;
use crate::environment;
use crate::hooks::Hooks;
use crate::job::Job;
use crate::session;
use crate::signals::{Blocked, Signal};
use crate::supervisor::Supervisor;
use crate::timer::Timer;
use crate::watcher::Watcher;

/// How long a command that was asked to end may take to do so.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a command that was interrupted may take to end by itself: it may be saving what it has.
const GRACE: Duration = Duration::from_secs(5);
/// How often the watcher is notified that time passes.
const BEAT: Duration = Duration::from_millis(200);

/// How commands are run apart.
#[derive(Clone, Copy)]
pub struct Apart<'a> {
    /// The signals that come for this process meanwhile.
    pub signals: &'a Blocked,
    /// Who ends the command should this process be killed.
    pub watcher: Option<&'a Watcher>,
}

/// How a command that was started ended.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// How it ended.
    pub ended: Ended,
    /// What it used.
    pub usage: ChildUsage,
    /// It was laptime that ended it, since its time was over or enough was seen of it.
    pub timed_out: bool,
    /// Somebody asked laptime to end.
    pub interrupted: bool,
    /// It was stopped for a while.
    pub stopped: bool,
}

impl Apart<'_> {
    /// Starts a command and stays with it until it has ended, or for `limit`; `beat` is called a few times a
    /// second meanwhile. What it writes goes into files of the run.
    ///
    /// # Errors
    /// When it cannot be started; there is no run then.
    pub fn run(
        &self,
        job: &Job,
        supervisor: Supervisor,
        limit: Option<Duration>,
        beat: &mut dyn FnMut(),
    ) -> io::Result<(Watched, Finished)> {
        let watching = |child: &Child, supervisor: &mut Supervisor| {
            Watch::new(child, self.signals, Manner::Ask).until(limit).follow(supervisor, &mut || {
                beat();
                false
            })
        };
        self.run_watched(job, supervisor, watching)
    }

    /// Starts a command and stays with it until it has ended or `enough`, which is called a few times a second,
    /// says so; then it is ended as Ctrl-C would. What it writes goes into files of the run.
    ///
    /// # Errors
    /// When it cannot be started; there is no run then.
    pub fn run_part(
        &self,
        job: &Job,
        supervisor: Supervisor,
        enough: &mut dyn FnMut() -> bool,
    ) -> io::Result<(Watched, Finished)> {
        let watching = |child: &Child, supervisor: &mut Supervisor| {
            Watch::new(child, self.signals, Manner::Interrupt).follow(supervisor, enough)
        };
        self.run_watched(job, supervisor, watching)
    }

    fn run_watched(
        &self,
        job: &Job,
        mut supervisor: Supervisor,
        watching: impl FnOnce(&Child, &mut Supervisor) -> Watched,
    ) -> io::Result<(Watched, Finished)> {
        let hooks = Hooks::prepare(&supervisor, &job.attach);
        let variables = environment::variables(&supervisor, &hooks);
        let started = outputs(supervisor.run())
            .map(|(out, error)| [Stdio::null(), out.into(), error.into()])
            .and_then(|streams| Child::start_apart(job, &variables, self.signals, streams, self.watcher));
        let child = match started {
            Ok(child) => child,
            Err(error) => {
                supervisor.abandon();
                return Err(error);
            }
        };
        supervisor.watch(child.pid());
        let watched = watching(&child, &mut supervisor);
        supervisor.note(hooks.troubles(&job.words));
        let (status, message) = watched.ended.status();
        let finished = supervisor.finish(&anchor(), &watched.usage, status, message);
        // What is left of it would disturb the next.
        session::end_leftovers(child.pid());
        if let Some(watcher) = self.watcher {
            watcher.all_ended();
        }
        if let Some(run) = &finished.run {
            clear_rings_of(run, None, Duration::ZERO);
        }
        Ok((watched, finished))
    }
}

/// How a command is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Everything of it is asked to end.
    Ask,
    /// Its process group is interrupted as by Ctrl-C, and asked only when that does not help.
    Interrupt,
}

/// A command that runs, and what was asked of it so far.
struct Watch<'a> {
    child: &'a Child,
    signals: &'a Blocked,
    manner: Manner,
    deadline: Option<Instant>,
    /// When it was interrupted.
    interrupted_at: Option<Instant>,
    /// When it was asked to end.
    asked: Option<Instant>,
    timed_out: bool,
    interrupted: bool,
    stopped: bool,
}

impl<'a> Watch<'a> {
    fn new(child: &'a Child, signals: &'a Blocked, manner: Manner) -> Self {
        let (deadline, interrupted_at, asked) = (None, None, None);
        let (timed_out, interrupted, stopped) = (false, false, false);
        Self { child, signals, manner, deadline, interrupted_at, asked, timed_out, interrupted, stopped }
    }

    fn until(self, limit: Option<Duration>) -> Self {
        Self { deadline: limit.map(|limit| Instant::now() + limit), ..self }
    }

    /// Stays with it until it has ended; `enough` is called a few times a second, and its answer ends it.
    fn follow(mut self, supervisor: &mut Supervisor, enough: &mut dyn FnMut() -> bool) -> Watched {
        let mut next_sample = Timer::every_second();
        loop {
            if let Some(signal) = self.signals.wait(self.patience(&next_sample)) {
                self.take(signal);
            }
            if self.child.change() == Change::Ended {
                // Between its end and its reaping, all that the child used can still be read.
                supervisor.sample();
                let (ended, usage) = self.child.reap();
                let Self { timed_out, interrupted, stopped, .. } = self;
                return Watched { ended, usage, timed_out, interrupted, stopped };
            }
            self.mind_the_time();
            if next_sample.is_due() {
                supervisor.sample();
            }
            if enough() && !self.is_ending() {
                self.timed_out = true;
                self.end();
            }
        }
    }

    /// How long to wait for a signal before there is something else to do.
    fn patience(&self, next_sample: &Timer) -> Duration {
        let left = |at: Instant| at.saturating_duration_since(Instant::now());
        let deadline = self.deadline.filter(|_| !self.is_ending()).map(left);
        let grace = self.interrupted_at.filter(|_| self.asked.is_none()).map(|at| left(at + GRACE));
        let last = self.asked.map(|asked| left(asked + PATIENCE));
        [Some(BEAT), Some(next_sample.left()), deadline, grace, last]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(BEAT)
    }

    fn take(&mut self, signal: Signal) {
        match signal.number {
            libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT => {
                if self.interrupted {
                    // Asked twice: now.
                    session::end(self.child.pid());
                }
                self.interrupted = true;
                self.end();
            }
            libc::SIGTSTP => {
                self.stopped = true;
                session::send(self.child.pid(), libc::SIGSTOP);
                self.signals.stop_by(libc::SIGTSTP);
                session::send(self.child.pid(), libc::SIGCONT);
            }
            _ => {}
        }
    }

    fn is_ending(&self) -> bool {
        self.interrupted_at.is_some() || self.asked.is_some()
    }

    /// Begins to end it.
    fn end(&mut self) {
        match self.manner {
            Manner::Ask => self.ask(),
            Manner::Interrupt if self.is_ending() => {}
            Manner::Interrupt => {
                self.interrupted_at = Some(Instant::now());
                session::interrupt(self.child.pid());
            }
        }
    }

    fn ask(&mut self) {
        if self.asked.is_none() {
            self.asked = Some(Instant::now());
            session::ask_to_end(self.child.pid());
        }
    }

    fn mind_the_time(&mut self) {
        let now = Instant::now();
        if !self.is_ending() && self.deadline.is_some_and(|deadline| now >= deadline) {
            self.timed_out = true;
            self.end();
        }
        if self.interrupted_at.is_some_and(|at| now >= at + GRACE) {
            self.ask();
        }
        if self.asked.is_some_and(|asked| now >= asked + PATIENCE) {
            session::end(self.child.pid());
        }
    }
}

/// The files that take what the command writes.
fn outputs(run: Option<&Path>) -> io::Result<(File, File)> {
    match run {
        Some(run) => Ok((File::create(run.join("stdout.txt"))?, File::create(run.join("stderr.txt"))?)),
        None => {
            let nothing = || fs::OpenOptions::new().write(true).open("/dev/null");
            Ok((nothing()?, nothing()?))
        }
    }
}
