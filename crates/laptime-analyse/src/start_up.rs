//! Start-up: what a run does before it trains.

use laptime_core::StageId;

use crate::process::Process;
use crate::report::{LedgerRow, StartUp};
use crate::supervised::Supervised;

/// From the run's start to its first fit; `None` where nothing was trained.
pub(crate) fn start_up(run: &Supervised<'_>, ledger: &[LedgerRow]) -> Option<StartUp> {
    let process: &Process = run.process;
    let timebase = process.timebase();
    let trained = process.fits.values().filter_map(|fit| fit.began).min()?;
    let seconds = timebase.seconds(trained.since(run.extent().started));
    let stage = StageId::IMPORTS.built_in_name();
    let imported = ledger.iter().find(|row| Some(row.stage.as_str()) == stage).map(|row| row.seconds);
    let imports_s = imported.unwrap_or(0.0).min(seconds);
    Some(StartUp {
        seconds,
        imports_s,
        imports: process.imports.slowest(&timebase),
        preparation_s: seconds - imports_s,
    })
}
