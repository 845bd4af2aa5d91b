//! Events: what the training thread puts on record, in the order it happened.

use crate::{CollectiveKind, Counter, Metric, StageId, StageTotal, Ticks};

/// One thing that happened on one thread.
///
/// Before every mark (the begin or end of a fit or epoch) the thread puts the totals of all its
/// stages on record, so a scope's ledger is the difference of two snapshots: it closes even when
/// single spans had to be dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// One stretch of one stage that has ended.
    Span {
        /// The stage.
        stage: StageId,
        /// When it began.
        start: Ticks,
        /// When it ended.
        end: Ticks,
        /// Its exclusive time: children subtracted.
        own: Ticks,
        /// Whether an evaluation pass was open around it, which then owns its time.
        in_evaluate: bool,
    },
    /// One step that has ended.
    Step {
        /// When its batch was requested.
        start: Ticks,
        /// When the next batch was requested.
        end: Ticks,
        /// Samples trained on.
        samples: u32,
        /// The loss, where the training reported it.
        loss: Option<f64>,
    },
    /// A fit begins.
    FitBegin {
        /// Its number within the process, from 0.
        fit: u32,
        /// When.
        at: Ticks,
    },
    /// The fit that was open ends.
    FitEnd {
        /// Its number.
        fit: u32,
        /// When.
        at: Ticks,
    },
    /// An epoch of the open fit begins.
    EpochBegin {
        /// Its number within the fit, from 0.
        epoch: u32,
        /// When.
        at: Ticks,
    },
    /// The pass over the training data ends.
    EpochEnd {
        /// Its number within the fit.
        epoch: u32,
        /// When.
        at: Ticks,
    },
    /// The totals of one stage on this thread since it began recording; a snapshot before a mark.
    Total(StageTotal),
    /// A moment between two steps at which the totals before it held: a lap of steps may be cut here.
    ///
    /// Trainings without epochs have these, so that analysis can choose the laps.
    Cut {
        /// When.
        at: Ticks,
    },
    /// On a device's track: the device has done all that one of its streams was given until `host`.
    ///
    /// What lies between two boundaries of a stream is the work launched between their host times, and waiting
    /// for it.
    Boundary {
        /// Which stream, numbered within the device in the order they were seen; 0 is the first one.
        stream: u16,
        /// What the host launches work for from here on; [`StageId::UNACCOUNTED`] when that is not looked at
        /// until the next boundary.
        stage: StageId,
        /// When the host passed.
        host: Ticks,
        /// When the device did, by the host's clock.
        done: Ticks,
    },
    /// On a communication track: one collective that has ended.
    Collective {
        /// The group's number within the process; [`crate::Record::Group`] says what it is.
        group: u16,
        /// What it did.
        kind: CollectiveKind,
        /// Its number within the group, from 0: the same in all ranks of the group.
        sequence: u32,
        /// When this rank gave its part.
        start: Ticks,
        /// When it was done here.
        end: Ticks,
        /// Bytes that this rank gave.
        bytes: u64,
    },
    /// Something was counted.
    Count {
        /// What.
        counter: Counter,
        /// When.
        at: Ticks,
        /// How much came on top.
        amount: u64,
    },
    /// The training reported a metric. On a device's track: the loss of the step that was under way at `at`.
    Measured {
        /// What was measured.
        metric: Metric,
        /// When.
        at: Ticks,
        /// The value; may be NaN or infinite.
        value: f64,
    },
}

impl Event {
    /// The latest instant this event speaks of; `None` for a snapshot, which has no time of its own.
    #[must_use]
    pub fn instant(&self) -> Option<Ticks> {
        match *self {
            Self::Span { end, .. }
            | Self::Step { end, .. }
            | Self::Collective { end, .. }
            | Self::Boundary { done: end, .. } => Some(end),
            Self::FitBegin { at, .. }
            | Self::FitEnd { at, .. }
            | Self::EpochBegin { at, .. }
            | Self::EpochEnd { at, .. }
            | Self::Cut { at }
            | Self::Count { at, .. }
            | Self::Measured { at, .. } => Some(at),
            Self::Total(_) => None,
        }
    }
}
