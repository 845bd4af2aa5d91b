//! Compiled: functions that train as a whole, so that their stages cannot be separated.

use std::collections::BTreeSet;

use crate::report::{Finding, Report};

/// The compiled functions of a run that train, each a stage.
///
/// The hooks report the name of one with the fit it trains.
pub(crate) fn compiled_functions(report: &Report) -> BTreeSet<&str> {
    report.fits.iter().flat_map(|fit| &fit.compiled_functions).map(String::as_str).collect()
}

/// Why there is one stage where others have three.
pub(crate) fn compiled(report: &Report) -> Option<Finding> {
    let names: Vec<&str> = compiled_functions(report).into_iter().collect();
    let one = if names.len() == 1 { "is a compiled function" } else { "are compiled functions" };
    let text = format!(
        "{} {one}: forward, backward and optimizer run inside it and cannot be separated",
        names.join(" and ")
    );
    (!names.is_empty()).then(|| Finding::new("compiled", text))
}
