//! What is known of a fit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Frameworks whose hooks record details.
const DETAILED: [&str; 3] = ["keras", "tensorflow", "torch"];

/// What can be known of one training within a run; what cannot is `None`, never a guess.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FitFacts {
    /// A short name, such as the model's.
    pub label: String,
    /// What trains: `laptime`, `torch`, ….
    pub framework: Option<String>,
    /// The framework's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framework_version: Option<String>,
    /// What the model is on: `cpu`, `cuda:0`, ….
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Rows trained on in each epoch.
    pub rows: Option<u64>,
    /// Samples in a full batch.
    pub batch: Option<u64>,
    /// Epochs that were asked for.
    pub epochs: Option<u64>,
    /// Steps that were asked for in all, of a training without epochs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Where the number of epochs or steps asked for was read: `range(num_epochs)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_source: Option<String>,
    /// Steps in an epoch.
    pub steps_per_epoch: Option<u64>,
    /// Numbers the model learns.
    pub parameters: Option<u64>,
    /// Functions that a compiler made one of several stages, by name: their stages cannot be separated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compiled_functions: Vec<String>,
    /// Processes that load its data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u64>,
    /// The number type it computes with, where that is not the usual one: `bf16`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<String>,
    /// Floating-point operations that a sample takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flops_per_sample: Option<u64>,
    /// What it is to end at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
    /// Epochs without a lower loss after which it is to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patience: Option<u64>,
    /// Updates of the model so far, where they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updates: Option<u64>,
    /// Backward passes so far whose gradients were cleared before an update used them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discarded_gradients: Option<u64>,
    /// The most memory that the framework had taken on the device, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_device_bytes: Option<u64>,
    /// The remaining settings by name, such as `optimizer`, `lr` or `width`.
    pub settings: BTreeMap<String, String>,
}

/// A loss of at most, or an accuracy of at least, some value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// A loss to come down to.
    Loss(f64),
    /// An accuracy to come up to, as a share.
    Accuracy(f64),
}

impl FitFacts {
    /// Takes over what the other facts know.
    pub fn learn(&mut self, newer: Self) {
        if !newer.label.is_empty() {
            self.label = newer.label;
        }
        self.framework = newer.framework.or_else(|| self.framework.take());
        self.framework_version = newer.framework_version.or_else(|| self.framework_version.take());
        self.device = newer.device.or_else(|| self.device.take());
        self.rows = newer.rows.or(self.rows);
        self.batch = newer.batch.or(self.batch);
        self.epochs = newer.epochs.or(self.epochs);
        self.steps = newer.steps.or(self.steps);
        self.plan_source = newer.plan_source.or_else(|| self.plan_source.take());
        self.steps_per_epoch = newer.steps_per_epoch.or(self.steps_per_epoch);
        self.parameters = newer.parameters.or(self.parameters);
        for name in newer.compiled_functions {
            if !self.compiled_functions.contains(&name) {
                self.compiled_functions.push(name);
            }
        }
        self.workers = newer.workers.or(self.workers);
        self.precision = newer.precision.or_else(|| self.precision.take());
        self.flops_per_sample = newer.flops_per_sample.or(self.flops_per_sample);
        self.goal = newer.goal.or(self.goal);
        self.patience = newer.patience.or(self.patience);
        self.updates = newer.updates.or(self.updates);
        self.discarded_gradients = newer.discarded_gradients.or(self.discarded_gradients);
        self.peak_device_bytes = newer.peak_device_bytes.max(self.peak_device_bytes);
        self.settings.extend(newer.settings);
        self.read_settings();
    }

    /// Takes facts out of the settings that early logs kept them in.
    fn read_settings(&mut self) {
        fn take<T: std::str::FromStr>(settings: &mut BTreeMap<String, String>, name: &str) -> Option<T> {
            let value = settings.get(name)?.parse().ok()?;
            settings.remove(name);
            Some(value)
        }
        let settings = &mut self.settings;
        self.workers = take(settings, "num_workers").or(self.workers);
        self.precision = take(settings, "dtype").or_else(|| self.precision.take());
        self.flops_per_sample = take(settings, "flops_per_sample").or(self.flops_per_sample);
        self.goal = take(settings, "until_loss").map(Goal::Loss).or(self.goal);
        self.goal = take(settings, "until_accuracy").map(Goal::Accuracy).or(self.goal);
        self.patience = take(settings, "early_stop").or(self.patience);
        self.updates = take(settings, "updates").or(self.updates);
        self.discarded_gradients = take(settings, "discarded_gradients").or(self.discarded_gradients);
    }

    /// All that somebody chose for the training, by name, as it is shown: the settings and the facts among them.
    #[must_use]
    pub fn choices(&self) -> BTreeMap<String, String> {
        let goal = self.goal.map(|goal| match goal {
            Goal::Loss(value) => ("until_loss", value.to_string()),
            Goal::Accuracy(value) => ("until_accuracy", value.to_string()),
        });
        let facts = [
            self.workers.map(|workers| ("num_workers", workers.to_string())),
            self.precision.clone().map(|precision| ("dtype", precision)),
            self.patience.map(|epochs| ("early_stop", epochs.to_string())),
            goal,
        ];
        let facts = facts.into_iter().flatten().map(|(name, value)| (name.to_owned(), value));
        let settings = self.settings.clone().into_iter().filter(|(name, _)| !is_detail(name));
        settings.chain(facts).collect()
    }
}

/// Whether a setting is a detail of how a framework computes, such as `torch.tf32`: too much for a report, and worth a
/// word where two runs differ in it.
#[must_use]
pub fn is_detail(setting: &str) -> bool {
    let framework = setting.split_once('.').map(|(framework, _)| framework);
    framework.is_some_and(|framework| DETAILED.contains(&framework))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_that_early_logs_kept_as_settings_are_read() {
        let old = [("num_workers", "2"), ("until_loss", "0.1"), ("lr", "0.01"), ("early_stop", "never")];
        let settings = old.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let mut facts = FitFacts::default();
        facts.learn(FitFacts { settings, ..FitFacts::default() });
        assert_eq!((facts.workers, facts.goal, facts.patience), (Some(2), Some(Goal::Loss(0.1)), None));
        // What makes no sense as a fact stays what it was.
        assert_eq!(facts.settings.keys().collect::<Vec<_>>(), ["early_stop", "lr"]);
        let choices = facts.choices();
        assert_eq!(choices.keys().collect::<Vec<_>>(), ["early_stop", "lr", "num_workers", "until_loss"]);
    }

    #[test]
    fn details_of_how_a_framework_computes_are_no_choices() {
        let settings = [("torch.tf32", "off"), ("torch", "1"), ("loader.depth", "2")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let facts = FitFacts { settings, ..FitFacts::default() };
        assert_eq!(facts.choices().keys().collect::<Vec<_>>(), ["loader.depth", "torch"]);
    }
}
