//! The modules of a model in a report.

use serde::Serialize;

/// One module of a model, per sampled step. Times are its own, without those of the modules it calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerSummary {
    /// Which fit trains the model.
    pub fit: u32,
    /// Where it is in the model, such as `0.conv1`; empty for the model itself.
    pub name: String,
    /// Its class.
    pub kind: String,
    /// Its own parameters.
    pub parameters: u64,
    /// Steps that were sampled.
    pub steps: u64,
    /// Its calls in a step.
    pub calls: f64,
    /// Forward, seconds of the host.
    pub forward_s: f64,
    /// Backward, seconds of the host; absent where it cannot be seen.
    pub backward_s: Option<f64>,
    /// Forward, seconds of the device; absent on a CPU.
    pub device_forward_s: Option<f64>,
    /// Backward, seconds of the device.
    pub device_backward_s: Option<f64>,
    /// Share of the time of all modules of its fit, forward and backward, 0 to 1: by the device's times where all
    /// have them.
    pub share: f64,
    /// Floating-point operations of its forward calls, where they are known.
    pub flops: Option<f64>,
    /// Floating-point operations a second in forward.
    pub flops_per_s: Option<f64>,
}

impl LayerSummary {
    /// Forward and backward as the device took them, or the host.
    #[must_use]
    pub fn times(&self, on_device: bool) -> (f64, Option<f64>) {
        match self.device_forward_s.filter(|_| on_device) {
            Some(forward) => (forward, self.device_backward_s),
            None => (self.forward_s, self.backward_s),
        }
    }

    /// Whether the device's times stand for all of these: else the host's do.
    #[must_use]
    pub fn are_on_device(layers: &[Self]) -> bool {
        !layers.is_empty() && layers.iter().all(|layer| layer.device_forward_s.is_some())
    }
}
