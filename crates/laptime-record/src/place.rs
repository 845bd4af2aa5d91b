//! The place of a recorder: a run of its own, or one that it joins.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use laptime_core::{Anchor, RunMeta, Sample, Timebase};
use laptime_store::{Catalogue, Disk, LogName, LogWriter, ProcessIdentity, RingIdentity};

use crate::clock;
use crate::join::Invitation;
use crate::machine;
use crate::options::Options;
use crate::probe::nothing_used_at;
use crate::rank::rank_from_environment;

/// Where a process records, and from when on.
pub(crate) struct Place {
    pub(crate) began: Anchor,
    /// What this process had used then; `None` where the recorder begins only now, and takes its own reading.
    pub(crate) used: Option<Sample>,
    pub(crate) meta: RunMeta,
    pub(crate) folder: PathBuf,
    /// The folder again, or why it could not be made.
    pub(crate) made: io::Result<PathBuf>,
    pub(crate) log: LogName,
    /// What this process knows of a run that it joined.
    pub(crate) known: Option<Box<RunMeta>>,
    process: ProcessIdentity,
    joined: u32,
    /// When this process itself began to be recorded.
    own_began: Anchor,
    own_used: Option<Sample>,
}

impl Place {
    /// The run that is to be joined, by the options or the environment; else a new one.
    pub(crate) fn take(disk: &mut dyn Disk, options: &Options) -> Self {
        let now = clock::anchor();
        let invitation = match &options.join {
            Some(run) => Invitation::to(run),
            None => Invitation::read(&|name| std::env::var_os(name), &now),
        };
        let invitation = invitation.or_else(|| Self::meet(disk, options, &now));
        match invitation {
            Some(invitation) => Self::join(invitation, options, now),
            None => Self::make(disk, options, now),
        }
    }

    /// The run that all ranks of a launch join; `None` for a process that is alone.
    fn meet(disk: &mut dyn Disk, options: &Options, now: &Anchor) -> Option<Invitation> {
        let launch = options.launch.as_ref()?;
        let run = make_run(disk, options, options.began_at().unwrap_or(now), LogName::Rank(launch.rank));
        Invitation::to(&run.made.ok()?)
    }

    fn join(invitation: Invitation, options: &Options, now: Anchor) -> Self {
        static RECORDERS: AtomicU32 = AtomicU32::new(1);
        let rank = if options.rank > 0 { options.rank } else { rank_from_environment().0 };
        let own_began = *options.began_at().unwrap_or(&now);
        // Every process of the command was forked after the command's start.
        let used = invitation.began.map(|began| nothing_used_at(began.ticks));
        Self {
            began: invitation.began.unwrap_or(own_began),
            used: used.or_else(|| options.used_before()),
            meta: invitation.meta,
            made: Ok(invitation.run.clone()),
            folder: invitation.run,
            log: LogName::Rank(rank),
            known: Some(Box::new(known_of(options))),
            process: ProcessIdentity::current(),
            joined: RECORDERS.fetch_add(1, Ordering::Relaxed),
            own_began,
            own_used: options.used_before(),
        }
    }

    /// The log of this process: its rank's own, unless another process of the run has that already.
    pub(crate) fn open_log(&mut self, disk: Box<dyn Disk>) -> LogWriter {
        if self.joined == 0 {
            return LogWriter::named(disk, &self.folder, self.log);
        }
        let own = self.log;
        let beside = LogName::of(own.rank(), &self.process, self.joined);
        let writer = LogWriter::claim(disk, &self.folder, own, beside);
        self.log = writer.log();
        if self.log == own {
            self.joined = 0;
        } else {
            // What the command did before is start-up of the process that trains, not of its helpers.
            (self.began, self.used) = (self.own_began, self.own_used.take());
        }
        writer
    }

    /// Whether another process of the run has this rank's own log.
    pub(crate) fn is_beside_another(&self) -> bool {
        self.joined > 0
    }

    fn make(disk: &mut dyn Disk, options: &Options, now: Anchor) -> Self {
        let began = *options.began_at().unwrap_or(&now);
        let log = LogName::Rank(options.rank);
        let MadeRun { meta, folder, made } = make_run(disk, options, &began, log);
        Self {
            began,
            used: options.used_before(),
            meta,
            folder,
            made,
            log,
            known: None,
            process: ProcessIdentity::current(),
            joined: 0,
            own_began: began,
            own_used: None,
        }
    }

    pub(crate) fn ring_identity(&self, rate: Timebase) -> RingIdentity {
        RingIdentity {
            process: self.process.clone(),
            rank: self.log.rank(),
            joined: self.joined,
            run: self.folder.clone(),
            started: self.began.ticks,
            ns_per_tick: rate.ns_per_tick,
            clock: clock::source_name().into(),
        }
    }
}

/// What a process that joins a run knows of it and its maker may not.
fn known_of(options: &Options) -> RunMeta {
    let launch = options.launch.as_ref().map(|launch| launch.shared_name.clone());
    RunMeta { launch, ..options.meta.clone() }
}

/// A run that was made, or was to be.
#[derive(Debug)]
pub struct MadeRun {
    /// Its description.
    pub meta: RunMeta,
    /// Where it is, or would be.
    pub folder: PathBuf,
    /// The folder again, or why it could not be made.
    pub made: io::Result<PathBuf>,
}

/// Makes a run; of a launch the one its ranks share.
pub fn make_run(disk: &mut dyn Disk, options: &Options, began: &Anchor, log: LogName) -> MadeRun {
    let variable = || std::env::var_os("LAPTIME_DIR").filter(|dir| !dir.is_empty());
    let root = options.root.clone().or_else(|| variable().map(PathBuf::from));
    let root = root.unwrap_or_else(|| PathBuf::from(".laptime"));
    // Absolute, since the program may change its directory and a salvage starts elsewhere.
    let root = std::path::absolute(&root).unwrap_or(root);
    let machine = machine::describe();
    let mut meta = RunMeta { started_real_ns: began.real_ns, machine, ..options.meta.clone() };
    meta.ranks = meta.ranks.max(1);
    meta.launch = options.launch.as_ref().map(|launch| launch.shared_name.clone());
    let catalogue = Catalogue::at(&root);
    let made = match &options.launch {
        Some(launch) => catalogue.create_shared(disk, &mut meta, &launch.name, log),
        None => catalogue.create(disk, &mut meta),
    };
    let folder = root.join(&meta.id);
    MadeRun { meta, folder, made }
}
