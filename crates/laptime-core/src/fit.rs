//! What is known of a fit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What can be known of one training within a run; what cannot is `None`, never a guess.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FitFacts {
    /// A short name, such as the model's.
    pub label: String,
    /// What trains: `burn`, `torch`, ….
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
    /// Functions that a compiler made one of several stages, by name: what is inside cannot be told apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compiled_functions: Vec<String>,
    /// The remaining settings by name, such as `optimizer`, `lr` or `width`.
    pub settings: BTreeMap<String, String>,
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
        self.settings.extend(newer.settings);
    }
}
