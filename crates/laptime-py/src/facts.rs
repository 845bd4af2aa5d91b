//! What a Python dict says of a fit.

use laptime_record::FitFacts;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Facts from a dict: the known keys where their values make sense, everything else as a setting.
pub(crate) fn fit_facts(dict: &Bound<'_, PyDict>) -> FitFacts {
    let mut facts = FitFacts::default();
    for (key, value) in dict {
        let Ok(key) = key.extract::<String>() else { continue };
        if !value.is_none() {
            put(&mut facts, &key, &value);
        }
    }
    facts
}

fn put(facts: &mut FitFacts, key: &str, value: &Bound<'_, PyAny>) {
    let number = || value.extract::<u64>().ok();
    let text = || value.str().ok().map(|text| text.to_string_lossy().into_owned());
    match key {
        "label" => facts.label = text().unwrap_or_default(),
        "framework" => facts.framework = text(),
        "framework_version" => facts.framework_version = text(),
        "device" => facts.device = text(),
        "steps" => facts.steps = number(),
        "plan_source" => facts.plan_source = text(),
        "compiled" => facts.compiled_functions.extend(text()),
        "rows" => facts.rows = number(),
        "batch" => facts.batch = number(),
        "epochs" => facts.epochs = number(),
        "steps_per_epoch" => facts.steps_per_epoch = number(),
        "parameters" => facts.parameters = number(),
        "workers" => facts.workers = number(),
        "peak_device_bytes" => facts.peak_device_bytes = number(),
        _ => facts.settings.extend(text().map(|text| (key.to_owned(), text))),
    }
}
