//! What the hooks of a framework report of a training; see [`laptime_record::Training`] for what it means.
//!
//! What they report in every step is in [`crate::step_calls`].
//!
//! Objects are known by their address, which costs nothing to pass on.

use laptime_record::{
    self as record, Address, MANUAL, ModuleKind, PassId, StageId, Training, Update, guarded,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::facts::fit_facts;

/// The address of an object; `None` stands for a script that updates its model itself.
fn address(object: &Bound<'_, PyAny>) -> Address {
    if object.is_none() { MANUAL } else { Address(object.as_ptr().addr()) }
}

// The kinds of modules as Python passes them.
const MODULE_MODEL: u8 = 0;
const MODULE_LOSS: u8 = 1;
const MODULE_SILENT: u8 = 2;

/// Puts the numbers that hooks pass and get into the module, so that Python copies none.
pub(crate) fn add_numbers(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("MODULE_MODEL", MODULE_MODEL)?;
    module.add("MODULE_LOSS", MODULE_LOSS)?;
    module.add("MODULE_SILENT", MODULE_SILENT)?;
    module.add("UPDATE_BEGUN", Update::Begun as u8)?;
    module.add("UPDATE_UNSETTLED", Update::Unsettled as u8)?;
    module.add("UPDATE_NESTED", Update::Nested as u8)
}

pub(crate) fn saturated(samples: u64) -> u32 {
    u32::try_from(samples).unwrap_or(u32::MAX)
}

/// Runs `body` on this thread's training; a panic gives `otherwise`.
#[inline]
pub(crate) fn with_training<T>(otherwise: T, body: impl FnOnce(&mut Training) -> T) -> T {
    guarded(otherwise, || record::training(body))
}

/// Whether this thread is inside a call that is a stage already.
#[pyfunction]
pub(crate) fn is_inside() -> bool {
    record::is_inside()
}

/// A model is called, outermost, to be trained or not; says whether the samples of its input are wanted.
#[pyfunction]
pub(crate) fn begin_model(model: &Bound<'_, PyAny>, trains: bool) -> bool {
    with_training(false, |training| training.begin_model(address(model), trains))
}

/// A compiled function is called, outermost; `may_train` unless it is known not to.
#[pyfunction]
pub(crate) fn begin_function(stage_id: u16, may_train: bool) {
    with_training((), |training| training.begin_function(StageId(stage_id), may_train));
}

/// A function is called that trains, and whose calls are seen one by one.
#[pyfunction]
pub(crate) fn approach_step() {
    with_training((), Training::approach_step);
}

/// The data has ended; the pass does when its iterator is taken down.
#[pyfunction]
pub(crate) fn linger() {
    with_training((), Training::linger);
}

/// The compiled function has returned.
#[pyfunction]
pub(crate) fn end_function(stage_id: u16) {
    with_training((), |training| training.end_function(StageId(stage_id)));
}

/// Samples in the input of the call under way.
#[pyfunction]
pub(crate) fn take_samples(sample_count: u64) {
    with_training((), |training| training.take_samples(saturated(sample_count)));
}

/// Tokens in the input of the call under way.
#[pyfunction]
pub(crate) fn take_tokens(token_count: u64) {
    with_training((), |training| training.take_tokens(token_count));
}

/// The module is a model, or computes a loss, or its call is no stage.
#[pyfunction]
pub(crate) fn register_module(module: &Bound<'_, PyAny>, kind: u8) {
    let kind = match kind {
        MODULE_MODEL => ModuleKind::Model,
        MODULE_LOSS => ModuleKind::Loss,
        _ => ModuleKind::Silent,
    };
    with_training((), |training| training.register_module(address(module), kind));
}

/// The model is trained from here on.
#[pyfunction]
pub(crate) fn train_model(model: &Bound<'_, PyAny>) {
    with_training((), |training| training.train_model(address(model)));
}

/// The module at this address is gone.
#[pyfunction]
pub(crate) fn forget_module(address: usize) {
    with_training((), |training| training.forget_module(Address(address)));
}

/// An evaluation without a loader, or a checkpoint, begins as this stage.
#[pyfunction]
pub(crate) fn begin_pause(stage_id: u16) {
    with_training((), |training| training.begin_pause(StageId(stage_id)));
}

/// The evaluation or checkpoint has ended.
#[pyfunction]
pub(crate) fn end_pause(stage_id: u16) {
    with_training((), |training| training.end_pause(StageId(stage_id)));
}

/// Something that is no step is about to begin: the lap of steps ends before it.
#[pyfunction]
pub(crate) fn pause_steps() {
    with_training((), Training::pause_steps);
}

/// An evaluation without a loader, or a checkpoint, has ended.
#[pyfunction]
pub(crate) fn record_activity() {
    with_training((), Training::record_activity);
}

/// A batch was copied to a device.
#[pyfunction]
pub(crate) fn moved_to_device() {
    with_training((), Training::moved_to_device);
}

/// An optimizer is made; a foreign one may use gradients in a way of its own.
#[pyfunction]
pub(crate) fn optimizer_created(optimizer: &Bound<'_, PyAny>, foreign: bool) {
    with_training((), |training| training.optimizer_created(address(optimizer), foreign));
}

/// The optimizer at this address is gone.
#[pyfunction]
pub(crate) fn forget_optimizer(address: usize) {
    with_training((), |training| training.forget_optimizer(Address(address)));
}

/// A compiled function updates the optimizer's model: `UPDATE_BEGUN`, or `UPDATE_UNSETTLED`: settle first.
#[pyfunction]
pub(crate) fn begin_compiled_update(optimizer: &Bound<'_, PyAny>) -> u8 {
    with_training(Update::Nested, |training| training.begin_compiled_update(address(optimizer))) as u8
}

/// The compiled function has updated the model.
#[pyfunction]
pub(crate) fn end_compiled_update(optimizer: &Bound<'_, PyAny>) {
    with_training((), |training| training.end_compiled_update(address(optimizer)));
}

/// What the last update computed is there: the script has waited for it.
#[pyfunction]
pub(crate) fn results_arrived() {
    with_training((), Training::results_arrived);
}

/// The script has updated its model itself, settled before: its step ends.
#[pyfunction]
pub(crate) fn end_own_step() {
    with_training((), Training::end_own_step);
}

/// Begins the update that was settled.
#[pyfunction]
pub(crate) fn enter_update() {
    with_training((), Training::enter_update);
}

/// The update has failed.
#[pyfunction]
pub(crate) fn leave_update() {
    with_training((), Training::leave_update);
}

/// Whether steps are counted by a pass over a loader, or by the user's `batches`.
#[pyfunction]
pub(crate) fn is_counted() -> bool {
    with_training(true, |training| training.is_counted())
}

/// Whether the optimizer belongs to the fit.
#[pyfunction]
pub(crate) fn has_optimizer(optimizer: &Bound<'_, PyAny>) -> bool {
    with_training(true, |training| training.has_optimizer(address(optimizer)))
}

/// The optimizer belongs to the fit from here on.
#[pyfunction]
pub(crate) fn register_optimizer(optimizer: &Bound<'_, PyAny>) {
    with_training((), |training| training.register_optimizer(address(optimizer)));
}

/// A pass over a loader begins, and the wait for its first batch; gives the pass' number.
#[pyfunction]
pub(crate) fn begin_pass(loader: &Bound<'_, PyAny>, in_eval_mode: bool) -> u32 {
    with_training(PassId(u32::MAX), |training| training.begin_pass(address(loader), in_eval_mode)).0
}

/// The batches of a pass come from this iterator.
#[pyfunction]
pub(crate) fn iterate(pass_id: u32, iterator: &Bound<'_, PyAny>) {
    with_training((), |training| training.iterate(PassId(pass_id), address(iterator)));
}

/// The step of the pass that trains is interrupted by an evaluation.
#[pyfunction]
pub(crate) fn interrupt_step() {
    with_training((), Training::interrupt_step);
}

/// Samples in the batch that has come.
#[pyfunction]
pub(crate) fn count_samples(iterator: &Bound<'_, PyAny>, sample_count: u64) {
    with_training((), |training| training.count_samples(address(iterator), saturated(sample_count)));
}

/// The data has ended; a batch that came before may still be in use.
#[pyfunction]
pub(crate) fn exhaust_pass(pass_id: u32, in_eval_mode: bool) {
    with_training((), |training| training.exhaust_pass(PassId(pass_id), in_eval_mode));
}

/// The iterator is gone, or the loop was left.
#[pyfunction]
pub(crate) fn end_pass(pass_id: u32, in_eval_mode: bool) {
    with_training((), |training| training.end_pass(PassId(pass_id), in_eval_mode));
}

/// The address of the loader that brought this step's data.
#[pyfunction]
pub(crate) fn training_loader() -> Option<usize> {
    with_training(None, Training::training_loader).map(|loader| loader.0)
}

/// Whether a pass is under way.
#[pyfunction]
pub(crate) fn has_passes() -> bool {
    with_training(false, |training| training.has_passes())
}

/// The pass that brought this step's data is an epoch from its begin on; `False` without one.
#[pyfunction]
pub(crate) fn begin_pass_epoch() -> bool {
    with_training(false, Training::begin_pass_epoch)
}

/// The pass that brought this step's data counts steps but is no epoch; `False` without one.
#[pyfunction]
pub(crate) fn begin_pass_steps() -> bool {
    with_training(false, Training::begin_pass_steps)
}

/// Without a loader: whether a loop counts the epochs, and whether it has gone on since the last step.
#[pyfunction]
pub(crate) fn follow_loop(in_loop: bool, is_new: bool) {
    with_training((), |training| training.follow_loop(in_loop, is_new));
}

/// Begins a fit with its first optimizer, unless the user's own is open; its rows may have to be counted.
#[pyfunction]
pub(crate) fn begin_training(optimizer: &Bound<'_, PyAny>, facts: &Bound<'_, PyDict>, counts_rows: bool) {
    let facts = fit_facts(facts);
    with_training((), |training| training.begin_fit(address(optimizer), facts, counts_rows));
}

/// Whether a fit that the hooks began is open.
#[pyfunction]
pub(crate) fn in_training() -> bool {
    with_training(false, |training| training.in_fit())
}

/// Whether the fit's epoch is a pass over a loader.
#[pyfunction]
pub(crate) fn in_pass_epoch() -> bool {
    with_training(false, |training| training.in_pass_epoch())
}

/// Ends the fit with its last epoch, evaluation or checkpoint.
#[pyfunction]
pub(crate) fn end_training() {
    with_training((), Training::end_fit);
}

/// This process is a loader's worker: its module calls are the stage, and what its parent did is forgotten.
#[pyfunction]
pub(crate) fn training_in_worker(stage_id: u16) {
    guarded((), || record::training_in_worker(StageId(stage_id)));
}
