//! Layers: what was measured of a model's modules on sampled steps.

use serde::{Deserialize, Serialize};

/// One module of a model. Times are its own, without those of the modules it calls, and like calls and
/// operations sums over the sampled steps so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LayerFacts {
    /// Where it is in the model, such as `0.conv1`; empty for the model itself.
    pub name: String,
    /// Its class.
    pub kind: String,
    /// Its own parameters.
    pub parameters: u64,
    /// Floating-point operations of its forward calls, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flops: Option<u64>,
    /// Steps that were sampled.
    pub steps: u64,
    /// Its calls in them.
    pub calls: u64,
    /// Forward, seconds of the host.
    pub forward_s: f64,
    /// Backward, seconds of the host; absent where it cannot be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backward_s: Option<f64>,
    /// Forward, seconds of the device; absent on a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_forward_s: Option<f64>,
    /// Backward, seconds of the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_backward_s: Option<f64>,
}
