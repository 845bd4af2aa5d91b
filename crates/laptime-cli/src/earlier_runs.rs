//! Earlier runs of a script: what they came to and a newer one has not.

use laptime_analyse::compare::ComparedRun;
use laptime_core::RunMeta;
use laptime_launch::program::run_name;
use laptime_store::Catalogue;

use crate::study::Study;

/// The newest of them say what the script is like today.
const MOST: usize = 3;

/// The newest other runs of the same script, newest last, whatever its options: a run that is resumed has others.
/// Those that cannot be read are left out.
pub(crate) fn earlier_runs(catalogue: &Catalogue, of: &RunMeta) -> Vec<ComparedRun> {
    if of.command.is_empty() {
        return Vec::new();
    }
    let script = run_name(&of.command);
    let mut entries = catalogue.list().unwrap_or_default();
    entries.retain(|entry| run_name(&entry.meta.command) == script && entry.meta.id != of.id);
    let newest = entries.len().saturating_sub(MOST);
    let read = |path| Study::open(path).and_then(|study| study.without_profile().compared_run()).ok();
    entries[newest..].iter().filter_map(|entry| read(&entry.path)).collect()
}
