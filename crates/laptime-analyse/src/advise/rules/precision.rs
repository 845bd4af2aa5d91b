//! Matrices in fp32 while tensor cores idle: TF32, or bfloat16 by autocast.

use laptime_core::units::percent;

use super::super::evidence::Evidence;
use super::super::gpu::{Gpu, convolutions, is_on_gpu, typical_of};
use super::super::injected;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const TF32: Rule = Rule { id: "tf32", subject: "TF32", look: look_at_tf32 };
pub(super) const AUTOCAST: Rule = Rule { id: "autocast", subject: "precision", look: look_at_precision };

/// Where the GPU computes less than this share of the training, faster matrices gain little.
const COMPUTES: f64 = 0.3;
/// What TF32 makes of the computing; an H200 computes ResNet-50 2.1 times as fast.
const BY_TF32: (f64, f64) = (1.2, 2.5);
/// What bfloat16 makes of it, from plain fp32 and from TF32; an H200 computes ResNet-50 2.3 and 1.1 times as fast.
const BY_BFLOAT: (f64, f64) = (1.5, 3.0);
const BY_BFLOAT_AFTER_TF32: (f64, f64) = (1.05, 1.6);

fn look_at_tf32(evidence: &Evidence<'_>) -> Outcome {
    let Some(gpu) = Gpu::of(evidence).filter(can_gain).filter(|gpu| is_known(evidence, gpu)) else {
        return Outcome::DoesNotApply;
    };
    if is_tf32(evidence, &gpu) {
        return Outcome::Fine;
    }
    Outcome::advice(Advised {
        title: "compute fp32 matrices as TF32".to_owned(),
        because: because(&gpu),
        change: change_to_tf32(evidence).to_owned(),
        speedup: typical_of(gpu.computing(), BY_TF32.0, BY_TF32.1),
        injects: injected("tf32", 1),
    })
}

fn look_at_precision(evidence: &Evidence<'_>) -> Outcome {
    let Some(gpu) = Gpu::of(evidence) else {
        return if is_on_gpu(evidence) { unknown(evidence) } else { Outcome::DoesNotApply };
    };
    // Where TF32 is off, busy tensor cores compute something shorter, wherever the script casts to it.
    let is_shorter = evidence.setting("torch.tf32") == Some("off") && gpu.idles_tensor_cores() == Some(false);
    if !gpu.is_fp32() || is_shorter {
        return Outcome::Fine;
    }
    if !can_gain(&gpu) {
        return Outcome::DoesNotApply;
    }
    if !is_known(evidence, &gpu) {
        return Outcome::Unknown(
            "neither the script nor a counter says what the GPU computes with".to_owned(),
        );
    }
    let by = if is_tf32(evidence, &gpu) { BY_BFLOAT_AFTER_TF32 } else { BY_BFLOAT };
    Outcome::advice(Advised {
        title: "compute in bfloat16 where it is safe".to_owned(),
        because: because(&gpu),
        change: "with torch.autocast(\"cuda\", torch.bfloat16): around the forward pass and the loss"
            .to_owned(),
        speedup: typical_of(gpu.computing(), by.0, by.1),
        injects: injected("autocast", "bf16"),
    })
}

/// Whether the GPU computes enough, in fp32, and could do it faster.
fn can_gain(gpu: &Gpu<'_>) -> bool {
    gpu.is_fp32() && gpu.has_tensor_cores() != Some(false) && gpu.computing() >= COMPUTES
}

/// Whether anything says what the GPU computes with.
fn is_known(evidence: &Evidence<'_>, gpu: &Gpu<'_>) -> bool {
    evidence.setting("torch.tf32").is_some() || gpu.idles_tensor_cores().is_some()
}

/// Whether the matrices are TF32 already: by the counters, else by what is set for those that the model has.
fn is_tf32(evidence: &Evidence<'_>, gpu: &Gpu<'_>) -> bool {
    let is_set = match evidence.setting("torch.tf32") {
        Some("on") => true,
        Some("convolutions") => has_convolutions(evidence),
        Some("products") => !has_convolutions(evidence),
        _ => false,
    };
    is_set || gpu.idles_tensor_cores() == Some(false)
}

fn has_convolutions(evidence: &Evidence<'_>) -> bool {
    convolutions(evidence).is_some_and(|count| count > 0)
}

fn because(gpu: &Gpu<'_>) -> String {
    let idle = match gpu.idles_tensor_cores() {
        Some(true) => ", and its tensor cores are idle",
        _ => "",
    };
    format!("the GPU computes {} of the time in fp32{idle}", percent(gpu.computing()))
}

fn change_to_tf32(evidence: &Evidence<'_>) -> &'static str {
    if has_convolutions(evidence) {
        "torch.set_float32_matmul_precision(\"high\") and torch.backends.cudnn.allow_tf32 = True"
    } else {
        "torch.set_float32_matmul_precision(\"high\")"
    }
}

fn unknown(evidence: &Evidence<'_>) -> Outcome {
    let is_shorter = |name: &str| !matches!(evidence.setting(name), None | Some("float32" | "off"));
    if ["keras.dtype", "torch.dtype", "torch.autocast"].into_iter().any(is_shorter) {
        return Outcome::Fine;
    }
    let device = evidence.fit.device.as_deref().unwrap_or("the GPU");
    Outcome::Unknown(format!("only the host's times are known, not what {device} does"))
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{
        FORWARD, MS, advice, advises, because, busy_gpu, changed, gains, on_cpu, waiting_gpu, with,
    };

    const FP32: [(&str, &str); 4] = [
        ("torch.tf32", "off"),
        ("torch.autocast", "off"),
        ("torch.capability", "9.0"),
        ("torch.convolutions", "53"),
    ];

    #[test]
    fn idle_tensor_cores_under_fp32_get_tf32_and_bfloat16() {
        let run = changed(with(busy_gpu(), &FP32), |report| idle(report, 0.0));
        assert!(advises(&run, "tf32") && advises(&run, "autocast"));
        assert_eq!(
            because(&run, "tf32"),
            "the GPU computes 100 % of the time in fp32, and its tensor cores are idle"
        );
        let advice = advice(&run);
        assert!(advice.items.iter().all(|item| item.speedup.typical));
        let injects: Vec<_> = advice.items.iter().filter_map(|item| item.injects.as_deref()).collect();
        assert!(injects.contains(&"tf32=1") && injects.contains(&"autocast=bf16"));
    }

    #[test]
    fn convolutions_are_tf32_unless_somebody_forbids_it() {
        let run = with(with(busy_gpu(), &FP32), &[("torch.tf32", "convolutions")]);
        assert!(!advises(&run, "tf32") && advises(&run, "autocast"));
        let products = with(run, &[("torch.convolutions", "0")]);
        assert!(advises(&products, "tf32"));
    }

    #[test]
    fn busy_tensor_cores_without_tf32_compute_something_shorter_already() {
        let run = changed(with(busy_gpu(), &FP32), |report| idle(report, 0.3));
        assert!(!advises(&run, "tf32") && !advises(&run, "autocast"));
        assert!(advice(&run).fine.contains(&"precision"));
    }

    #[test]
    fn autocast_an_old_gpu_and_one_that_waits_need_no_advice() {
        let autocast = with(with(busy_gpu(), &FP32), &[("torch.autocast", "bfloat16")]);
        let old = with(with(busy_gpu(), &FP32), &[("torch.capability", "7.5")]);
        for run in [autocast, old, with(waiting_gpu(), &FP32)] {
            assert!(!advises(&run, "tf32") && !advises(&run, "autocast"), "{:?}", gains(&run));
        }
    }

    #[test]
    fn a_run_that_does_not_say_what_it_computes_with_gets_no_advice() {
        assert!(advice(&busy_gpu()).items.is_empty());
        assert_eq!(advice(&busy_gpu()).unknown[0].0, "precision");
    }

    #[test]
    fn a_gpu_whose_times_are_not_known_is_said_to_be_unknown() {
        let mut run = on_cpu("keras", &[(FORWARD, 10 * MS)]);
        run.report.fits[0].device = Some("gpu:0".to_owned());
        assert_eq!(advice(&run).unknown[0].1, "only the host's times are known, not what gpu:0 does");
        assert!(advice(&on_cpu("keras", &[(FORWARD, 10 * MS)])).unknown.is_empty());
    }

    fn idle(report: &mut crate::Report, share: f64) {
        report.devices.iter_mut().flatten().for_each(|device| device.tensor_share = Some(share));
    }
}
