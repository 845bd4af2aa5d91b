//! One repeat: the command in a session of its own, watched as `laptime run` watches one, and measured.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use laptime_analyse::sweep::{MachineDuring, Measured, Outcome, Plan, Repeat, Taint, Turn};
use laptime_core::{RunMeta, units};
use laptime_record::{ChildUsage, Options, Supervisor, anchor};
use laptime_store::clear_rings_of;

use super::conduct::Attempt;
use super::machine::{Machine, own_cpu_s};
use super::reason::{ended_badly, last_line};
use super::session;
use super::template::filled;
use crate::command::run::Ended;
use crate::command::run::child::{Change, Child, Timer};
use crate::command::run::environment;
use crate::command::run::hooks::Hooks;
use crate::command::run::signals::{Blocked, Signal};
use crate::study::Study;

/// How long a command that was asked to end may take to do so.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often whoever watches is told that time passes.
const BEAT: Duration = Duration::from_millis(200);

/// Makes repeats.
pub(super) struct Executor<'a> {
    /// Where the runs of the repeats are kept.
    pub(super) runs: PathBuf,
    pub(super) signals: &'a Blocked,
    pub(super) machine: Box<dyn Machine>,
    pub(super) no_hooks: bool,
}

/// How a command that was started ended.
struct Watched {
    ended: Ended,
    usage: ChildUsage,
    /// It was laptime that ended it, since its time was over.
    timed_out: bool,
    interrupted: bool,
    /// It was stopped for a while.
    stopped: bool,
}

/// A command that runs, and what was told to it so far.
struct Watch<'a> {
    child: &'a Child,
    signals: &'a Blocked,
    deadline: Option<Instant>,
    /// When it was asked to end, and by whom.
    asked: Option<Instant>,
    timed_out: bool,
    interrupted: bool,
    stopped: bool,
}

impl Executor<'_> {
    /// Measures a point once; `beat` is called a few times a second meanwhile.
    pub(super) fn measure(
        &mut self,
        plan: &Plan,
        turn: Turn,
        limit: Option<Duration>,
        beat: &mut dyn FnMut(),
    ) -> Attempt {
        let values = plan.values(turn.point);
        let typed = filled(&plan.command, &plan.parameters, &values);
        let meta =
            RunMeta { name: plan.point_name(turn.point), command: typed.clone(), ..RunMeta::default() };
        let supervisor =
            Supervisor::start(&Options { root: Some(self.runs.clone()), meta, ..Options::default() });
        let folder = supervisor.run().map(Path::to_owned);
        let (before, cpu_before) = (self.machine.read(), own_cpu_s());
        let repeat = |outcome| Repeat {
            point: turn.point,
            round: turn.round,
            run: folder.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()),
            outcome,
            measured: Measured::default(),
            machine: MachineDuring::default(),
            taints: Vec::new(),
        };
        let began = Instant::now();
        let (watched, finished) = match self.start_and_watch(&typed, supervisor, limit, beat) {
            Ok(both) => both,
            Err(error) => {
                let reason = format!("could not be started: {error}");
                return Attempt::Made(Box::new(repeat(Outcome::Failed { reason })));
            }
        };
        let wall_s = began.elapsed().as_secs_f64();
        let after = self.machine.read();
        let Some(run) = finished.run.clone() else { return self.without_a_run(repeat, &watched, wall_s) };
        if watched.interrupted {
            // Half a repeat says nothing; the point is measured anew when the sweep goes on.
            let _ = fs::remove_dir_all(&run);
            return Attempt::Interrupted;
        }
        let report = Study::of_finished(finished).report().ok();
        let seen_cpu_s = report.as_ref().and_then(|report| report.machine.cpu_s).unwrap_or(0.0);
        let used_s = (watched.usage.user_ns + watched.usage.system_ns) as f64 * 1e-9;
        let own_s = used_s.max(seen_cpu_s) + own_cpu_s() - cpu_before;
        let machine = MachineDuring::between(&before, &after, own_s, wall_s);
        let mut taints = machine.taints(after.cpus, wall_s);
        taints.extend(watched.stopped.then_some(Taint::Stopped));
        let measured = report.map(|report| Measured::of(&report, plan.target));
        let measured = measured.unwrap_or(Measured { wall_s, ..Measured::default() });
        let starved = machine.memory_kills.is_some_and(|kills| kills > 0);
        let outcome = watched.outcome(starved, &last_line(&run), limit);
        Attempt::Made(Box::new(Repeat { measured, machine, taints, ..repeat(outcome) }))
    }

    /// A repeat whose run could not be kept is still worth its wall time.
    fn without_a_run(&self, repeat: impl Fn(Outcome) -> Repeat, watched: &Watched, wall_s: f64) -> Attempt {
        if watched.interrupted {
            return Attempt::Interrupted;
        }
        let measured = Measured { wall_s, ..Measured::default() };
        Attempt::Made(Box::new(Repeat { measured, ..repeat(watched.outcome(false, "", None)) }))
    }

    fn start_and_watch(
        &self,
        typed: &[String],
        mut supervisor: Supervisor,
        limit: Option<Duration>,
        beat: &mut dyn FnMut(),
    ) -> io::Result<(Watched, laptime_record::Finished)> {
        let hooks = Hooks::prepare(&supervisor, self.no_hooks);
        let variables = environment::variables(&supervisor, &hooks);
        let words = own_program(typed);
        let started = outputs(supervisor.run())
            .and_then(|files| Child::start_apart(&words, &variables, self.signals, files));
        let child = match started {
            Ok(child) => child,
            Err(error) => {
                supervisor.abandon();
                return Err(error);
            }
        };
        supervisor.watch(child.pid());
        let deadline = limit.map(|limit| Instant::now() + limit);
        let watch = Watch {
            child: &child,
            signals: self.signals,
            deadline,
            asked: None,
            timed_out: false,
            interrupted: false,
            stopped: false,
        };
        let watched = watch.follow(&mut supervisor, beat);
        supervisor.note(hooks.troubles(&words));
        let (status, message) = watched.ended.told();
        let finished = supervisor.finish(&anchor(), &watched.usage, status, message);
        // What is left of it would disturb the next.
        session::end_leftovers(child.pid());
        if let Some(run) = &finished.run {
            clear_rings_of(run, None, Duration::ZERO);
        }
        Ok((watched, finished))
    }
}

impl Watch<'_> {
    fn follow(mut self, supervisor: &mut Supervisor, beat: &mut dyn FnMut()) -> Watched {
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
            beat();
        }
    }

    /// How long to wait for a signal before there is something else to do.
    fn patience(&self, next_sample: &Timer) -> Duration {
        let left = |at: Instant| at.saturating_duration_since(Instant::now());
        let deadline = self.deadline.filter(|_| self.asked.is_none()).map(left);
        let last = self.asked.map(|asked| left(asked + PATIENCE));
        [Some(BEAT), Some(next_sample.left()), deadline, last].into_iter().flatten().min().unwrap_or(BEAT)
    }

    fn take(&mut self, signal: Signal) {
        match signal.number {
            libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT => {
                if self.interrupted {
                    // Asked twice: now.
                    session::end(self.child.pid());
                }
                self.interrupted = true;
                self.ask();
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

    fn ask(&mut self) {
        if self.asked.is_none() {
            self.asked = Some(Instant::now());
            session::ask_to_end(self.child.pid());
        }
    }

    fn mind_the_time(&mut self) {
        let now = Instant::now();
        if self.asked.is_none() && self.deadline.is_some_and(|deadline| now >= deadline) {
            self.timed_out = true;
            self.ask();
        }
        if self.asked.is_some_and(|asked| now >= asked + PATIENCE) {
            session::end(self.child.pid());
        }
    }
}

impl Watched {
    fn outcome(&self, starved: bool, last_line: &str, limit: Option<Duration>) -> Outcome {
        if self.timed_out {
            let limit = units::duration(limit.unwrap_or_default().as_secs_f64());
            return Outcome::TimedOut { reason: format!("not within {limit}") };
        }
        ended_badly(self.ended, starved.then_some(self.usage.peak_resident_bytes), last_line)
    }
}

/// The files that take the command's words.
fn outputs(run: Option<&Path>) -> io::Result<(File, File)> {
    match run {
        Some(run) => Ok((File::create(run.join("stdout.txt"))?, File::create(run.join("stderr.txt"))?)),
        None => {
            let nothing = || fs::OpenOptions::new().write(true).open("/dev/null");
            Ok((nothing()?, nothing()?))
        }
    }
}

/// The words to execute: `laptime` is this very program, also where Python started it.
fn own_program(typed: &[String]) -> Vec<OsString> {
    let words = || typed.iter().map(OsString::from);
    let own = std::env::current_exe().ok().filter(|_| typed.first().is_some_and(|word| word == "laptime"));
    let Some(own) = own else { return words().collect() };
    let interpreter = own.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"));
    let mut all: Vec<OsString> = vec![own.into()];
    if interpreter {
        all.extend(["-m".into(), "laptime".into()]);
    }
    all.extend(words().skip(1));
    all
}

#[cfg(test)]
mod tests;
