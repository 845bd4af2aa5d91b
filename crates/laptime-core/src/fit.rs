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
    /// Rows trained on in each epoch.
    pub rows: Option<u64>,
    /// Samples in a full batch.
    pub batch: Option<u64>,
    /// Epochs that were asked for.
    pub epochs: Option<u64>,
    /// Steps in an epoch.
    pub steps_per_epoch: Option<u64>,
    /// Numbers the model learns.
    pub parameters: Option<u64>,
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
        self.rows = newer.rows.or(self.rows);
        self.batch = newer.batch.or(self.batch);
        self.epochs = newer.epochs.or(self.epochs);
        self.steps_per_epoch = newer.steps_per_epoch.or(self.steps_per_epoch);
        self.parameters = newer.parameters.or(self.parameters);
        self.settings.extend(newer.settings);
    }
}
