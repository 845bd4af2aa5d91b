//! The native module of the Python package: Python types to Rust types and back, no logic.
//!
//! Decided: the module holds the whole `laptime` command too, so that one wheel has both. The price is
//! the size of the file. Nothing of it runs at import.

mod batch_iterator;
mod device;
mod epoch_feed;
mod facts;
mod framework_fit;
mod garbage;
mod hooks;
mod lap;
mod loader;
mod options;
mod process;
mod sample_count;
mod settings;
mod shown;
mod stage;
mod step_calls;
mod timed;
mod torch;
mod training;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::batch_iterator::batch_iterator;
    #[pymodule_export]
    use crate::device::{begin_capture, begin_device, begin_device_work, end_capture, end_device_work};
    #[pymodule_export]
    use crate::epoch_feed::{EpochFeed, epoch_feed};
    #[pymodule_export]
    use crate::framework_fit::{
        batch_arrived, begin_framework_epoch, begin_framework_fit, count_step, data_exhausted,
        end_framework_epoch, end_framework_fit, next_step, request_batch, step_computed, step_submitted,
        update_framework_fit, wait_for_batch,
    };
    #[pymodule_export]
    use crate::hooks::{
        arm, count, enter, epoch_begin, epoch_end, exit, finish, fit_begin, fit_end, fit_is_open, fit_update,
        is_active, measured, now, run_folder, run_to_join, stage_id, start,
    };
    #[pymodule_export]
    use crate::loader::{DamagedPackError, LoadedArray, PackBatches, PackLoader};
    #[pymodule_export]
    use crate::process::{be_worker, import_begins, imported, layers_off, rank, record_layer, trouble};
    #[pymodule_export]
    use crate::settings::{settings, switched};
    #[pymodule_export]
    use crate::shown::{main, run_card, run_page, show_run, summarize_run};
    #[pymodule_export]
    use crate::stage::{Stage, new_stage};
    #[pymodule_export]
    use crate::torch::{IndexIterator, register_torch};
    #[pymodule_export]
    use crate::training::{
        approach_step, begin_compiled_update, begin_function, begin_model, begin_pass, begin_pass_epoch,
        begin_pass_steps, begin_pause, begin_training, count_samples, end_compiled_update, end_function,
        end_own_step, end_pass, end_pause, end_training, enter_update, exhaust_pass, follow_loop,
        forget_module, forget_optimizer, has_optimizer, has_passes, in_pass_epoch, in_training,
        interrupt_step, is_counted, is_inside, iterate, leave_update, linger, moved_to_device,
        optimizer_created, pause_steps, record_activity, register_module, register_optimizer,
        results_arrived, take_samples, take_tokens, train_model, training_in_worker, training_loader,
    };

    use super::{Bound, PyModule, PyResult, lap, step_calls, training};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("LOG_VERSION", laptime_store::LOG_VERSION)?;
        module.add("lap", lap::function(module)?)?;
        step_calls::add_to(module)?;
        training::add_numbers(module)
    }
}
