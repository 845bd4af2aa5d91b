//! Joining a run that another process made: what `laptime run` passes to the command through the environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use laptime_core::{Anchor, RunMeta, Ticks};
use laptime_store::RunReader;

/// The variable that names the run to join: the absolute path of its folder.
pub const RUN_VARIABLE: &str = "LAPTIME_RUN";
/// The variable that says when the command was started: `ticks,monotonic_ns,real_ns,boot_ns`.
pub const BEGAN_VARIABLE: &str = "LAPTIME_BEGAN";

/// An anchor as the value of [`BEGAN_VARIABLE`].
#[must_use]
pub fn began_text(began: &Anchor) -> String {
    format!("{},{},{},{}", began.ticks.0, began.monotonic_ns, began.real_ns, began.boot_ns)
}

fn began_from(text: &str) -> Option<Anchor> {
    let mut values = text.split(',').map(|value| value.trim().parse::<u64>().ok());
    let mut next = || values.next().flatten();
    let (ticks, monotonic_ns, real_ns, boot_ns) = (Ticks(next()?), next()?, next()?, next()?);
    Some(Anchor { ticks, monotonic_ns, real_ns, boot_ns })
}

/// A run to join.
pub(crate) struct Invitation {
    pub(crate) run: PathBuf,
    pub(crate) meta: RunMeta,
    /// When the command was started; `None` when that is unknown.
    pub(crate) began: Option<Anchor>,
}

impl Invitation {
    /// What the environment says; `None` without a run that is there.
    pub(crate) fn read(variable: &dyn Fn(&str) -> Option<OsString>, now: &Anchor) -> Option<Self> {
        let run = PathBuf::from(variable(RUN_VARIABLE).filter(|run| !run.is_empty())?);
        let text = |name: &str| variable(name)?.into_string().ok();
        // A value from another boot or machine lies ahead of this clock, or says nothing.
        let past = |began: &Anchor| began.ticks <= now.ticks && began.monotonic_ns <= now.monotonic_ns;
        let began = text(BEGAN_VARIABLE).and_then(|value| began_from(&value)).filter(past);
        Some(Self { began, ..Self::to(&run)? })
    }

    /// A run in a folder; `None` when there is none.
    pub(crate) fn to(run: &Path) -> Option<Self> {
        let meta = RunReader::open(run).ok()?.meta().clone();
        let run = std::path::absolute(run).unwrap_or_else(|_| run.to_owned());
        Some(Self { run, meta, began: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGAN: Anchor = Anchor { ticks: Ticks(7), monotonic_ns: 8, real_ns: 9, boot_ns: 10 };
    const NOW: Anchor = Anchor { ticks: Ticks(70), monotonic_ns: 80, real_ns: 90, boot_ns: 100 };

    fn read(run: &str, variables: &[(&str, &str)]) -> Option<Invitation> {
        let value = |name: &str| {
            let given = variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            if name == RUN_VARIABLE { Some(run.into()) } else { given.map(OsString::from) }
        };
        Invitation::read(&value, &NOW)
    }

    #[test]
    fn the_beginning_survives_the_environment_and_nonsense_is_no_beginning() {
        assert_eq!(began_from(&began_text(&BEGAN)), Some(BEGAN));
        for nonsense in ["", "1,2,3", "1,2,3,x", "-1,2,3,4"] {
            assert_eq!(began_from(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_run_that_is_there_is_joined() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("run.json"), "{}").unwrap();
        let run = folder.path().to_str().unwrap();
        let variables = [("LAPTIME_BEGAN", "7,8,9,10")];
        assert_eq!(read(run, &variables).unwrap().began, Some(BEGAN));
        assert_eq!(read(run, &[("LAPTIME_BEGAN", "700,8,9,10")]).unwrap().began, None);
        assert!(read("/no/such/run", &variables).is_none());
        assert!(read("", &variables).is_none());
    }
}
