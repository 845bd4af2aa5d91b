//! Joining a run that another process made: `laptime run`, a parent that forked or spawned, another rank.

use std::path::{Path, PathBuf};

use laptime_core::{Anchor, RunMeta, Ticks};
use laptime_store::RunReader;

use crate::clock::now;

/// Names the folder of the run to join.
pub const RUN_VARIABLE: &str = "LAPTIME_RUN";
/// When the command was started: `ticks,monotonic_ns,real_ns,boot_ns`.
pub const BEGAN_VARIABLE: &str = "LAPTIME_BEGAN";

/// The run to join and its folder; `None` when there is none, so that a new one is made.
pub(crate) fn joined_run(asked: Option<&Path>) -> Option<(RunMeta, PathBuf)> {
    let folder = match asked {
        Some(folder) => folder.to_owned(),
        None => PathBuf::from(std::env::var_os(RUN_VARIABLE).filter(|folder| !folder.is_empty())?),
    };
    // A run that is gone, or never was one, cannot be joined.
    let meta = RunReader::open(&folder).ok()?.meta().clone();
    Some((meta, std::path::absolute(&folder).unwrap_or(folder)))
}

/// When the command that this process belongs to was started, where that was told.
pub(crate) fn told_beginning() -> Option<Anchor> {
    parse_beginning(&std::env::var(BEGAN_VARIABLE).ok()?).filter(|anchor| anchor.ticks <= now())
}

fn parse_beginning(text: &str) -> Option<Anchor> {
    let mut numbers = text.split(',').map(|number| number.trim().parse::<u64>().ok());
    let mut next = || numbers.next().flatten();
    let (ticks, monotonic_ns, real_ns, boot_ns) = (Ticks(next()?), next()?, next()?, next()?);
    numbers.next().is_none().then_some(Anchor { ticks, monotonic_ns, real_ns, boot_ns })
}

/// An anchor as [`BEGAN_VARIABLE`] holds it.
#[must_use]
pub fn beginning_text(anchor: &Anchor) -> String {
    format!("{},{},{},{}", anchor.ticks.0, anchor.monotonic_ns, anchor.real_ns, anchor.boot_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_survives_the_environment_and_anything_else_is_refused() {
        let anchor = Anchor { ticks: Ticks(1), monotonic_ns: 2, real_ns: 3, boot_ns: u64::MAX };
        assert_eq!(parse_beginning(&beginning_text(&anchor)), Some(anchor));
        for wrong in ["", "1,2,3", "1,2,3,4,5", "a,b,c,d", "-1,2,3,4"] {
            assert_eq!(parse_beginning(wrong), None, "{wrong}");
        }
    }
}
