//! The native module of the Python package: Python types to Rust types and back, no logic.
//!
//! Decided: the module holds the whole `laptime` command too, so that one wheel has both. The price is
//! the size of the file and the time to build Burn, which the shared release profile pays once. Nothing of
//! it runs at import.

mod batch_iterator;
mod facts;
mod hooks;
mod lap;
mod options;
mod process;
mod sample_count;
mod shown;
mod stage;
mod timed;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::batch_iterator::batch_iterator;
    #[pymodule_export]
    use crate::hooks::{
        arm, book_since, count, enter, epoch_begin, epoch_end, epoch_is_open, exit, finish, fit_begin,
        fit_end, fit_is_open, fit_update, in_batches, is_active, mark, measured, now, run_folder, stage_id,
        start, step,
    };
    #[pymodule_export]
    use crate::process::{be_worker, rank};
    #[pymodule_export]
    use crate::shown::{main, show_run};
    #[pymodule_export]
    use crate::stage::{Stage, new_stage};

    use super::{Bound, PyModule, PyResult, lap};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("lap", lap::function(module)?)
    }
}
