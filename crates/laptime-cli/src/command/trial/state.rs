//! A trial as it is kept on disk.

use laptime_analyse::advise::Proof;
use laptime_store::Collection;
use serde::{Deserialize, Serialize};

use super::conduct::{Executed, Trial};

/// The version of the file; one that says another is not read.
const SCHEMA: &str = "laptime.trial/1";

/// A trial with what was measured so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::command) struct TrialState {
    schema: String,
    a: SideState,
    b: SideState,
    /// What the times are of: `total`, `training` or a stage.
    measure: String,
    pairs: Vec<PairState>,
    /// Times of two executions of `a` before the first pair, seconds; absent where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::command) aa_s: Option<(f64, f64)>,
    /// The advice that it proves; absent where it proves none.
    pub(in crate::command) proof: Option<Proof>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SideState {
    name: String,
    command: Vec<String>,
    changes: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct PairState {
    /// Ids of the runs.
    a: String,
    b: String,
    a_s: f64,
    b_s: f64,
}

impl TrialState {
    /// A trial as far as it is executed.
    pub(in crate::command) fn new(trial: &Trial, executed: &Executed) -> Self {
        let side = |at: usize| {
            let side = &trial.sides[at];
            let changes = side.changes.iter().map(ToString::to_string).collect();
            SideState { name: side.name.clone(), command: side.command.clone(), changes }
        };
        let runs = executed.a.iter().zip(&executed.b).zip(&executed.pairs);
        let pair = |((a, b), (a_s, b_s)): ((&_, &_), &(f64, f64))| {
            let id = |run: &laptime_analyse::compare::ComparedRun| run.report.run.id.clone();
            PairState { a: id(a), b: id(b), a_s: *a_s, b_s: *b_s }
        };
        let measure = trial.measure.name().to_owned();
        let pairs = runs.map(pair).collect();
        Self { schema: SCHEMA.to_owned(), a: side(0), b: side(1), measure, pairs, aa_s: None, proof: None }
    }

    /// Keeps it.
    pub(in crate::command) fn keep(&self, collection: &Collection) -> std::io::Result<()> {
        collection.keep(&serde_json::to_vec_pretty(self)?, false)
    }

    /// One that was kept; `None` where it cannot be read or has another version.
    pub(in crate::command) fn read(collection: &Collection) -> Option<Self> {
        let state: Self = serde_json::from_slice(&collection.state().ok()?).ok()?;
        (state.schema == SCHEMA).then_some(state)
    }
}
