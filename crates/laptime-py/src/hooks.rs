//! The recorder as functions, for hooks and for the package itself.
//!
//! After the start none of these raises on account of the recorder: a panic turns recording off.

use laptime_core::{Counter, Metric};
use laptime_record::{self as record, FitFacts, StageId, Status, guarded};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::facts::fit_facts;
use crate::options::options;

/// Starts recording now; says whether this process is being recorded.
#[pyfunction]
#[pyo3(signature = (options=None))]
pub(crate) fn start(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
    let options = self::options(options.unwrap_or(&PyDict::new(py)))?;
    silence_panics();
    Ok(py.detach(|| guarded(false, || record::start(&options))))
}

/// Starts recording with the first thing that is recorded.
#[pyfunction]
#[pyo3(signature = (options=None))]
pub(crate) fn arm(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    let options = self::options(options.unwrap_or(&PyDict::new(py)))?;
    silence_panics();
    guarded((), || record::arm(options));
    Ok(())
}

/// A panic of ours is shown in the report, not on the training's standard error.
fn silence_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}

/// Ends recording with `finished`, `failed` or `killed`; gives the run's folder, if there is one.
#[pyfunction]
#[pyo3(signature = (status="finished", message=None))]
pub(crate) fn finish(py: Python<'_>, status: &str, message: Option<String>) -> Option<String> {
    let status = match status {
        "failed" => Status::Failed,
        "killed" => Status::Killed,
        _ => Status::Finished,
    };
    let finished = py.detach(|| guarded(None, || record::finish(status, message)));
    finished?.run.map(|run| run.to_string_lossy().into_owned())
}

/// Whether what is recorded is kept.
#[pyfunction]
pub(crate) fn is_active() -> bool {
    record::is_active()
}

/// The folder of the run that is being recorded.
#[pyfunction]
pub(crate) fn run_folder() -> Option<String> {
    guarded(None, || record::run_folder().map(|run| run.to_string_lossy().into_owned()))
}

/// The folder of the run that the next record joins: in a forked child its parent's.
#[pyfunction]
pub(crate) fn run_to_join() -> Option<String> {
    guarded(None, || record::run_to_join().map(|run| run.to_string_lossy().into_owned()))
}

/// The number of the stage with this name.
#[pyfunction]
pub(crate) fn stage_id(name: &str) -> u16 {
    guarded(StageId::OTHER.0, || record::stage_id(name).0)
}

/// Begins a stage on this thread.
#[pyfunction]
pub(crate) fn enter(id: u16) {
    guarded((), || record::enter(StageId(id)));
}

/// Ends a stage on this thread.
#[pyfunction]
pub(crate) fn exit(id: u16) {
    guarded((), || record::exit(StageId(id)));
}

/// The recorder's clock, ticks.
#[pyfunction]
pub(crate) fn now() -> u64 {
    record::now().0
}

/// Begins a fit on this thread and gives its number; -1 when nothing is recorded.
#[pyfunction]
#[pyo3(signature = (facts=None))]
pub(crate) fn fit_begin(facts: Option<&Bound<'_, PyDict>>) -> i64 {
    guarded(-1, || {
        let facts = facts.map_or_else(FitFacts::default, fit_facts);
        record::fit_begin(facts, None).map_or(-1, i64::from)
    })
}

/// Adds what is now known of this thread's fit.
#[pyfunction]
pub(crate) fn fit_update(facts: &Bound<'_, PyDict>) {
    guarded((), || record::fit_update(fit_facts(facts)));
}

/// Whether a fit is open on this thread.
#[pyfunction]
pub(crate) fn fit_is_open() -> bool {
    guarded(false, record::fit_is_open)
}

/// Ends this thread's fit.
#[pyfunction]
pub(crate) fn fit_end() {
    guarded((), || record::fit_end(None));
}

/// Begins an epoch and gives its number; -1 when nothing is recorded.
#[pyfunction]
pub(crate) fn epoch_begin() -> i64 {
    guarded(-1, || record::epoch_begin(None).map_or(-1, i64::from))
}

/// Ends the open epoch.
#[pyfunction]
pub(crate) fn epoch_end() {
    guarded((), || record::epoch_end(None));
}

/// Counts an amount of `file_read_bytes`, `batch_bytes`, `host_to_device_bytes` or `between_ranks_bytes`.
#[pyfunction]
pub(crate) fn count(counter: &str, amount: u64) {
    if let Some(counter) = Counter::named(counter) {
        guarded((), || record::count(counter, amount));
    }
}

/// Records `loss`, `accuracy`, `validation_loss` or `validation_accuracy`.
#[pyfunction]
pub(crate) fn measured(metric: &str, value: f64) {
    if let Some(metric) = Metric::named(metric) {
        guarded((), || record::measured(metric, value));
    }
}
