//! Imports: what a process imported before its first fit.

use laptime_core::{Ticks, Timebase};

use crate::report::ImportTime;

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
    pub(crate) fn slowest(&self, timebase: &Timebase) -> Vec<ImportTime> {
        let mut imports: Vec<&(String, Ticks)> = self.0.iter().collect();
        imports.sort_by_key(|(_, length)| std::cmp::Reverse(*length));
        let time = |(name, length): &&(String, Ticks)| ImportTime {
            name: name.clone(),
            seconds: timebase.seconds(*length),
        };
        imports.iter().take(MOST_IMPORTS).map(time).collect()
    }
}
