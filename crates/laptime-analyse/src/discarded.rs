//! Discarded: gradients that were computed and thrown away before an update could use them.

use crate::process::Process;
use crate::report::Finding;

/// What stands out when a fit throws gradients away.
///
/// The hooks count backward passes whose gradients were cleared unused, and report them only where that
/// happened at least once for each update: one left over at the end of an epoch is no news.
pub(crate) fn discarded_gradients(process: &Process) -> Option<Finding> {
    let (discarded, updates) = process.fits.values().find_map(|fit| {
        Some((fit.facts.discarded_gradients.filter(|count| *count > 0)?, fit.facts.updates?))
    })?;
    let text = format!(
        "gradients are thrown away: {discarded} backward passes were cleared unused in {updates} updates, \
         because zero_grad() runs between backward() and the update; call it only after optimizer.step()"
    );
    Some(Finding::new("discarded_gradients", text))
}
