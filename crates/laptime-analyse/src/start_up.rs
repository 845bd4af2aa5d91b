//! Start-up: what a run does before it trains.

use laptime_core::{StageId, Ticks, Timebase};

use crate::process::Process;
use crate::report::{ImportTime, LedgerRow, StartUp};
use crate::supervised::Supervised;

/// Imports that a report names.
const MOST_IMPORTS: usize = 10;
/// Imports that are kept; of more, the quickest are forgotten.
const MOST_KEPT: usize = 256;

/// Modules that were imported before the first fit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Imports(Vec<(String, Ticks)>);

impl Imports {
    /// Takes one more.
    pub(crate) fn take(&mut self, name: &str, length: Ticks) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = known.plus(length),
            None => self.0.push((name.to_owned(), length)),
        }
        if self.0.len() > MOST_KEPT {
            self.0.sort_by_key(|(_, length)| std::cmp::Reverse(*length));
            self.0.truncate(MOST_KEPT / 2);
        }
    }

    /// The slowest first.
    fn slowest(&self, timebase: &Timebase) -> Vec<ImportTime> {
        let mut imports: Vec<&(String, Ticks)> = self.0.iter().collect();
        imports.sort_by_key(|(_, length)| std::cmp::Reverse(*length));
        let time = |(name, length): &&(String, Ticks)| ImportTime {
            name: name.clone(),
            seconds: timebase.seconds(*length),
        };
        imports.iter().take(MOST_IMPORTS).map(time).collect()
    }
}

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
