//! Origin: the frameworks and devices of a run, as its fits report.

use laptime_core::{FitFacts, Role};

use crate::process::Process;

/// Every framework that trained, with its version where it is known: `torch 2.15.0`. What was known before
/// stays where no fit says more.
pub(crate) fn frameworks(known: &[String], processes: &[Process]) -> Vec<String> {
    let named = |facts: &FitFacts| {
        let name = facts.framework.as_ref()?;
        let version = facts.framework_version.as_ref().map(|version| format!(" {version}"));
        Some(format!("{name}{}", version.unwrap_or_default()))
    };
    let mut frameworks = distinct(processes, named);
    for name in known {
        if !frameworks.iter().any(|known| known.split(' ').next() == Some(name) || known == name) {
            frameworks.push(name.clone());
        }
    }
    frameworks
}

/// What the models are on; several are named one after another. `None` where no fit says.
pub(crate) fn device(processes: &[Process]) -> Option<String> {
    let devices = distinct(processes, |facts| facts.device.clone());
    (!devices.is_empty()).then(|| devices.join(", "))
}

/// What the fits of all that train say, each thing once, in the order it was met.
fn distinct(processes: &[Process], what: impl Fn(&FitFacts) -> Option<String>) -> Vec<String> {
    let trainers = processes.iter().filter(|process| process.facts.role == Role::Trainer);
    let mut found: Vec<String> = Vec::new();
    for one in trainers.flat_map(|process| process.fits.values()).filter_map(|fit| what(&fit.facts)) {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}
