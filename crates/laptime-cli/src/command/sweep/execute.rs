//! One repeat: the command in a session of its own, watched as `laptime run` watches one, and measured.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use laptime_analyse::sweep::{MachineDuring, Measured, Outcome, Plan, Repeat, Taint, Turn};
use laptime_core::{RunMeta, units};
use laptime_launch::{Apart, Attach, Job, Machine, Supervisor, Watched, own_cpu_s};
use laptime_record::Options;

use super::conduct::Attempt;
use super::reason::{ended_badly, last_line};
use super::template::filled;
use crate::study::Study;

/// Makes repeats.
pub(super) struct Executor<'a> {
    /// Where the runs of the repeats are kept.
    pub(super) runs: PathBuf,
    pub(super) apart: Apart<'a>,
    pub(super) attach: Attach,
    pub(super) machine: Box<dyn Machine>,
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
            node: None,
        };
        let began = Instant::now();
        let job = Job { words: own_program(&typed), folder: None, attach: self.attach.clone() };
        let (watched, finished) = match self.apart.run(&job, supervisor, limit, beat) {
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
            // Half a repeat says nothing; the point is measured again when the sweep is resumed.
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
        let outcome = outcome(&watched, starved, &last_line(&run), limit);
        Attempt::Made(Box::new(Repeat { measured, machine, taints, ..repeat(outcome) }))
    }

    /// A repeat whose run could not be kept is still worth its wall time.
    fn without_a_run(&self, repeat: impl Fn(Outcome) -> Repeat, watched: &Watched, wall_s: f64) -> Attempt {
        if watched.interrupted {
            return Attempt::Interrupted;
        }
        let measured = Measured { wall_s, ..Measured::default() };
        Attempt::Made(Box::new(Repeat { measured, ..repeat(outcome(watched, false, "", None)) }))
    }
}

fn outcome(watched: &Watched, starved: bool, last_line: &str, limit: Option<Duration>) -> Outcome {
    if watched.timed_out {
        let limit = units::duration(limit.unwrap_or_default().as_secs_f64());
        return Outcome::TimedOut { reason: format!("timed out after {limit}") };
    }
    ended_badly(watched.ended, starved.then_some(watched.usage.peak_resident_bytes), last_line)
}

/// The words to execute: `laptime` is this very program, also where Python started it.
pub(in crate::command) fn own_program(typed: &[String]) -> Vec<OsString> {
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
