//! A sweep as it is kept on disk: what was asked for, and every repeat made so far.

use std::time::Duration;

use laptime_analyse::sweep::{Plan, Repeat, Sweep, SweepFacts, SweepStatus};
use laptime_store::{Collection, ProcessIdentity};
use serde::{Deserialize, Serialize};

use crate::command::cluster::Wanted;
use crate::failure::Failure;

/// The version of the file; one that says another is not read.
const SCHEMA: &str = "laptime.sweep.state/1";

/// A sweep, whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SweepState {
    schema: String,
    /// What it is called on disk; the folder's name counts when both differ.
    pub(super) id: String,
    pub(super) started_real_ns: u64,
    pub(super) plan: Plan,
    /// Whether Python is left alone.
    pub(super) no_hooks: bool,
    pub(super) limits: Limits,
    /// The cluster whose machines it is measured on; `None` for this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cluster: Option<OnCluster>,
    pub(super) status: SweepStatus,
    /// Time it took in all sessions, seconds.
    pub(super) wall_s: f64,
    pub(super) cpus: u32,
    /// Who makes it, or made it last.
    maker: Maker,
    pub(super) repeats: Vec<Repeat>,
}

/// A cluster, and how many repeats one of its machines takes at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct OnCluster {
    pub(super) wanted: Wanted,
    pub(super) at_once: u32,
}

/// How long a sweep and a repeat may take, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Limits {
    pub(super) budget_s: Option<f64>,
    pub(super) timeout_s: Option<f64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Maker {
    pid: u32,
    boot_id: String,
    pid_start: u64,
}

impl SweepState {
    /// A sweep of which nothing is measured yet.
    pub(super) fn new(id: &str, started_real_ns: u64, plan: Plan) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            id: id.to_owned(),
            started_real_ns,
            plan,
            no_hooks: false,
            limits: Limits::default(),
            cluster: None,
            status: SweepStatus::Running,
            wall_s: 0.0,
            cpus: std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32),
            maker: Maker::default(),
            repeats: Vec::new(),
        }
    }

    /// The sweep in a folder.
    pub(crate) fn read(entry: &Collection) -> Result<Self, Failure> {
        let failed = || Failure::new(format!("could not read sweep {}", entry.id));
        let state = entry.state().map_err(|error| failed().caused_by(&error))?;
        let state: Self = serde_json::from_slice(&state).map_err(|error| failed().caused_by(&error))?;
        if state.schema != SCHEMA {
            return Err(failed().because(format!("it is a {}, this build reads {SCHEMA}", state.schema)));
        }
        Ok(Self { id: entry.id.clone(), ..state })
    }

    /// Takes it over for this process; `false` when another one still makes it.
    pub(super) fn take_over(&mut self) -> bool {
        let Maker { pid, boot_id, pid_start } = self.maker.clone();
        let others = ProcessIdentity { pid, boot_id, pid_start };
        if self.status == SweepStatus::Running && pid != std::process::id() && others.is_alive() {
            return false;
        }
        let own = ProcessIdentity::current();
        self.maker = Maker { pid: own.pid, boot_id: own.boot_id, pid_start: own.pid_start };
        self.status = SweepStatus::Running;
        true
    }

    /// The file's content.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Plain numbers, words and lists cannot fail to be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The sweep for presenters.
    pub(crate) fn document(&self) -> Sweep {
        Sweep::of(&self.plan, &self.repeats, self.facts())
    }

    /// The points as they stand, for a table that is drawn often.
    pub(crate) fn so_far(&self) -> Sweep {
        Sweep::so_far(&self.plan, &self.repeats, self.facts())
    }

    fn facts(&self) -> SweepFacts {
        SweepFacts {
            id: self.id.clone(),
            command: self.plan.command.clone(),
            status: self.status,
            started: laptime_analyse::rfc3339(self.started_real_ns),
            wall_s: self.wall_s,
            seed: self.plan.seed,
            repeats: self.repeats.len() as u64,
            cpus: self.cpus,
        }
    }
}

impl Limits {
    pub(super) fn budget(&self) -> Option<Duration> {
        self.budget_s.map(Duration::from_secs_f64)
    }
}
