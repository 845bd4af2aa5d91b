//! A command in the same process group and session with the same standard streams, so that it cannot tell
//! that laptime is there: signals reach it once, and its stops are laptime's too.

use std::ffi::OsString;
use std::io;

use laptime_core::Anchor;
use laptime_profile::Sampler;
use laptime_record::{Finished, anchor};

use crate::bystander::Bystander;
use crate::child::{Change, Child, Ended};
use crate::child_usage::ChildUsage;
use crate::environment;
use crate::hooks::{Attach, Hooks};
use crate::signals::Blocked;
use crate::supervisor::Supervisor;
use crate::timer::Timer;

/// A command that runs.
pub struct Foreground<'a> {
    words: &'a [OsString],
    child: Child,
    supervisor: Supervisor,
    hooks: Hooks,
    signals: &'a Blocked,
    /// Knows which signals the command has got already.
    bystander: Option<Bystander>,
    sampler: Option<io::Result<Sampler>>,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Ran {
    /// What is left of the recording.
    pub finished: Finished,
    /// How it ended.
    pub ended: Ended,
    /// Why its profile is not there in full.
    pub profile_trouble: Option<io::Error>,
}

impl<'a> Foreground<'a> {
    /// Starts a command.
    ///
    /// # Errors
    /// What the system says when it cannot be started; there is no run then.
    pub fn start(
        words: &'a [OsString],
        mut supervisor: Supervisor,
        signals: &'a Blocked,
        attach: &Attach,
    ) -> io::Result<Self> {
        let hooks = Hooks::prepare(&supervisor, attach);
        let variables = environment::variables(&supervisor, &hooks);
        // Before the command: a signal to the whole group may come as soon as that runs.
        let bystander = Bystander::stand();
        match Child::start(words, &variables, signals) {
            Ok(child) => {
                supervisor.watch(child.pid());
                Ok(Self { words, child, supervisor, hooks, signals, bystander, sampler: None })
            }
            Err(error) => {
                supervisor.abandon();
                Err(error)
            }
        }
    }

    /// Who keeps the run.
    #[must_use]
    pub fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// Reads the stacks of the command and all it starts from now on; the command does not notice.
    pub fn profile(&mut self) {
        let (pid, supervisor) = (self.child.pid(), &self.supervisor);
        let run = supervisor.run().ok_or_else(|| io::Error::other("the run is not kept"));
        self.sampler = Some(run.and_then(|run| Sampler::start(pid, run, supervisor.rank())));
    }

    /// Stays with it until it has ended.
    #[must_use]
    pub fn wait(mut self) -> Ran {
        let (ended, at, usage) = self.follow();
        let sampled = self.sampler.map_or(Ok(()), |started| started.and_then(Sampler::stop));
        self.supervisor.note(self.hooks.troubles(self.words));
        let (status, message) = ended.status();
        let finished = self.supervisor.finish(&at, &usage, status, message);
        Ran { finished, ended, profile_trouble: sampled.err() }
    }

    /// Forwards signals, stops with the command, and reads the probes, until the command has ended.
    fn follow(&mut self) -> (Ended, Anchor, ChildUsage) {
        let mut next_sample = Timer::every_second();
        loop {
            let signal = self.signals.wait(next_sample.left().min(self.hooks.left()));
            let to_the_group = self.bystander.as_mut().map_or(0, Bystander::seen);
            if let Some(signal) = signal.filter(|signal| !signal.is_in(to_the_group)) {
                self.child.forward(&signal);
            }
            match self.child.change() {
                Change::Ended => {
                    // Between its end and its reaping, all that the child used can still be read.
                    self.supervisor.sample();
                    let (ended, usage) = self.child.reap();
                    return (ended, anchor(), usage);
                }
                Change::Stopped(signal) => self.signals.stop_by(signal),
                Change::None => {}
            }
            if next_sample.is_due() {
                self.supervisor.sample();
            }
            self.hooks.look(&mut self.supervisor);
        }
    }
}
