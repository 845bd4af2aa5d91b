//! The GPU of a training: what it did in the steps, and what was set for it.

use super::document::Speedup;
use super::evidence::Evidence;
use crate::device_shares::DeviceShares;
use crate::report::DeviceSummary;

/// What a fit does beside its steps; its GPU's shares are of the steps alone.
const BESIDE: [&str; 2] = ["evaluate", "checkpoint"];
/// What the names of devices that are no CPU begin with.
const DEVICES: [&str; 2] = ["cuda", "gpu"];
/// Tensor cores below this share of the time that kernels ran are idle.
const TENSOR_IDLE: f64 = 0.01;
/// Tensor cores compute TF32 and bfloat16 from this generation on.
const AMPERE: f64 = 8.0;

/// The GPU that a training of PyTorch is on, where its times are known.
pub(super) struct Gpu<'a> {
    evidence: &'a Evidence<'a>,
    device: &'a DeviceSummary,
    shares: DeviceShares<'a>,
    /// The share of the training that is steps.
    steps: f64,
}

impl<'a> Gpu<'a> {
    /// Of a training; `None` on a CPU, and where only the host's times are known.
    pub(super) fn of(evidence: &'a Evidence<'a>) -> Option<Self> {
        let shares = DeviceShares::of_fit(evidence.report, evidence.fit).filter(|_| is_on_gpu(evidence))?;
        let device = evidence.report.devices.iter().flatten().next()?;
        let beside: f64 = BESIDE.iter().map(|stage| evidence.training.share(stage)).sum();
        Some(Self { evidence, device, shares, steps: (1.0 - beside).max(0.0) })
    }

    /// The share of the training that a row of its ledger takes.
    pub(super) fn share(&self, row: &str) -> f64 {
        self.shares.of(row) * self.steps
    }

    /// The share of the training in which it computes.
    pub(super) fn computing(&self) -> f64 {
        self.shares.busy() * self.steps
    }

    /// The share in which it waits for launches, or keeps up with them so that it may.
    pub(super) fn waiting_for_launches(&self) -> f64 {
        self.share("idle_host") + self.share("unexplained")
    }

    /// Whether its tensor cores do nothing; `None` where no counter says.
    pub(super) fn idles_tensor_cores(&self) -> Option<bool> {
        self.device.tensor_share.map(|share| share < TENSOR_IDLE)
    }

    /// Whether it has tensor cores for TF32 and bfloat16; `None` where nobody says.
    pub(super) fn has_tensor_cores(&self) -> Option<bool> {
        self.evidence.setting("torch.capability")?.parse().ok().map(|generation: f64| generation >= AMPERE)
    }

    /// Whether the model computes with fp32, as far as its weights and the script's autocast say.
    pub(super) fn is_fp32(&self) -> bool {
        let is_plain = |name: &str| matches!(self.evidence.setting(name), None | Some("float32" | "off"));
        is_plain("torch.dtype") && is_plain("torch.autocast")
    }
}

/// Convolutions of the model, where it says.
pub(super) fn convolutions(evidence: &Evidence<'_>) -> Option<u64> {
    evidence.setting("torch.convolutions")?.parse().ok()
}

/// Whether a training is on a GPU.
pub(super) fn is_on_gpu(evidence: &Evidence<'_>) -> bool {
    let device = evidence.fit.device.as_deref().unwrap_or("").to_ascii_lowercase();
    DEVICES.iter().any(|known| device.starts_with(known))
}

/// What is usual of a change that makes a share of the training so many times faster.
pub(super) fn typical_of(share: f64, low: f64, high: f64) -> Speedup {
    Speedup::typical(of_share(share, low), of_share(share, high))
}

/// How much faster all is when a share of it is so many times faster.
pub(super) fn of_share(share: f64, faster: f64) -> f64 {
    let share = share.clamp(0.0, 1.0);
    1.0 / (1.0 - share + share / faster)
}
