//! Stages as a program names them, and the guard that times one.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use laptime_core::{FIRST_USER_STAGE, MAX_STAGES, StageId};

use crate::active::{active, wake_flusher};
use crate::clock::now;
use crate::lane::{Lane, Pushed};
use crate::thread_lane::current_lane;

/// Names given to user stages in this process, in the order of their numbers.
static NAMES: Mutex<StageNames> = Mutex::new(StageNames::new());

/// The names, in the order of their numbers.
pub(crate) type StageNames = Vec<String>;

pub(crate) fn names() -> MutexGuard<'static, StageNames> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of the stage with this name; the same name gives the same number for the process' life.
///
/// Once all numbers are taken, further names share [`StageId::OTHER`].
pub fn stage_id(name: &str) -> StageId {
    if let Some(built_in) = StageId::built_in(name) {
        return built_in;
    }
    let mut names = names();
    let known = names.iter().position(|known| known == name);
    let at = known.unwrap_or(names.len());
    let Some(number) = u16::try_from(at).ok().map(|at| at + FIRST_USER_STAGE).filter(|id| *id < MAX_STAGES)
    else {
        return StageId::OTHER;
    };
    if known.is_none() {
        names.push(name.to_owned());
        if let Some(recorder) = active() {
            recorder.header.name_stage(StageId(number), name);
        }
    }
    StageId(number)
}

/// The user stages named so far, from the `skip`th on.
pub(crate) fn stage_names_from(skip: usize) -> Vec<(StageId, String)> {
    let numbers = FIRST_USER_STAGE..MAX_STAGES;
    names().iter().zip(numbers).skip(skip).map(|(name, number)| (StageId(number), name.clone())).collect()
}

/// A stage named in the source: what [`stage!`](crate::stage!) makes once for each place it stands.
pub struct Stage {
    name: &'static str,
    /// The stage's number plus one; 0 until it is first used.
    number: AtomicU32,
}

impl Stage {
    /// A stage with this name.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, number: AtomicU32::new(0) }
    }

    /// Begins the stage on this thread; it ends when the guard is dropped.
    #[inline]
    pub fn enter(&self) -> StageGuard {
        let Some(lane) = current_lane() else { return StageGuard::IDLE };
        let number = self.number.load(Ordering::Relaxed);
        let stage = if number == 0 { self.look_up() } else { StageId((number - 1) as u16) };
        StageGuard::begin(lane, stage)
    }

    #[cold]
    fn look_up(&self) -> StageId {
        let stage = stage_id(self.name);
        self.number.store(u32::from(stage.0) + 1, Ordering::Relaxed);
        stage
    }
}

/// Times a stage from here to the end of the guard's scope: `let _forward = stage!("forward");`.
///
/// Without a recorder it does nothing.
#[macro_export]
macro_rules! stage {
    ($name:literal) => {{
        static STAGE: $crate::Stage = $crate::Stage::new($name);
        STAGE.enter()
    }};
}

/// Begins a stage whose name is only known at run time; [`stage!`](crate::stage!) is faster.
pub fn enter_stage(stage: StageId) -> StageGuard {
    current_lane().map_or(StageGuard::IDLE, |lane| StageGuard::begin(lane, stage))
}

/// Ends its stage when it is dropped, on the thread that began it.
#[must_use = "the stage ends when the guard is dropped: bind it to a name such as `_forward`"]
pub struct StageGuard {
    lane: Option<Lane>,
    stage: StageId,
    /// Lanes belong to threads.
    _not_send: PhantomData<*const ()>,
}

impl StageGuard {
    const IDLE: Self = Self { lane: None, stage: StageId::UNACCOUNTED, _not_send: PhantomData };

    #[inline]
    pub(crate) fn begin(lane: Lane, stage: StageId) -> Self {
        lane.enter(stage, now());
        Self { lane: Some(lane), stage, _not_send: PhantomData }
    }
}

impl Drop for StageGuard {
    #[inline]
    fn drop(&mut self) {
        if let Some(lane) = self.lane
            && lane.exit(self.stage, now()) == Pushed::Wake
        {
            wake_flusher();
        }
    }
}
