//! Convolutions on a GPU: the layout that tensor cores want, and the fastest algorithm for shapes that stay the same.

use laptime_core::units::{counted, percent};

use super::super::evidence::Evidence;
use super::super::gpu::{Gpu, convolutions, typical_of};
use super::super::injected;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const CHANNELS_LAST: Rule =
    Rule { id: "channels_last", subject: "channels-last", look: look_at_layout };
pub(super) const BENCHMARK: Rule =
    Rule { id: "cudnn_benchmark", subject: "cuDNN benchmark", look: look_at_benchmark };

/// Below this share a GPU computes too little for it to matter.
const COMPUTES: f64 = 0.5;
/// A model with fewer convolutions spends its time elsewhere.
const MANY: u64 = 4;
/// What the layout gains where tensor cores compute; an H200 computes ResNet-50 in bfloat16 1.85 times as fast.
const ON_TENSOR_CORES: (f64, f64) = (1.2, 2.0);
/// The same in plain fp32.
const IN_FP32: (f64, f64) = (1.0, 1.3);
/// What measured algorithms gain over those that cuDNN expects to be fast.
const BY_BENCHMARK: (f64, f64) = (1.0, 1.15);

fn look_at_layout(evidence: &Evidence<'_>) -> Outcome {
    let Some((gpu, convolutions)) = computed_on(evidence) else { return Outcome::DoesNotApply };
    match evidence.setting("torch.layout") {
        Some("channels_first") => {}
        Some(_) => return Outcome::Fine,
        None => return Outcome::DoesNotApply,
    }
    let is_tf32 = matches!(evidence.setting("torch.tf32"), Some("on" | "convolutions"));
    let on_tensor_cores = gpu.idles_tensor_cores().map_or(!gpu.is_fp32() || is_tf32, |are_idle| !are_idle);
    let (by, more) = match on_tensor_cores {
        true => (ON_TENSOR_CORES, ""),
        false => (IN_FP32, "; more with TF32 or autocast"),
    };
    Outcome::advice(Advised {
        title: "lay pictures out channels-last".to_owned(),
        because: format!(
            "the GPU computes {} of the time, and {} have pictures channels-first{more}",
            percent(gpu.computing()),
            counted(convolutions, "convolution")
        ),
        change: "model.to(memory_format=torch.channels_last), and the same for each batch of pictures"
            .to_owned(),
        speedup: typical_of(gpu.computing(), by.0, by.1),
        injects: injected("channels_last", 1),
    })
}

fn look_at_benchmark(evidence: &Evidence<'_>) -> Outcome {
    let Some((gpu, convolutions)) = computed_on(evidence) else { return Outcome::DoesNotApply };
    match evidence.setting("torch.cudnn_benchmark") {
        Some("off") => {}
        Some(_) => return Outcome::Fine,
        None => return Outcome::DoesNotApply,
    }
    Outcome::advice(Advised {
        title: "let cuDNN measure its algorithms".to_owned(),
        because: format!(
            "the GPU computes {} of the time, with {} by algorithms that were not measured",
            percent(gpu.computing()),
            counted(convolutions, "convolution")
        ),
        change: "torch.backends.cudnn.benchmark = True, unless pictures differ in size".to_owned(),
        speedup: typical_of(gpu.computing(), BY_BENCHMARK.0, BY_BENCHMARK.1),
        injects: injected("cudnn_benchmark", 1),
    })
}

/// The GPU that computes most of the time, and how many convolutions the model has; `None` where there are few.
fn computed_on<'a>(evidence: &'a Evidence<'a>) -> Option<(Gpu<'a>, u64)> {
    let gpu = Gpu::of(evidence).filter(|gpu| gpu.computing() >= COMPUTES)?;
    let convolutions = convolutions(evidence).filter(|count| *count >= MANY)?;
    Some((gpu, convolutions))
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{advice, advises, because, busy_gpu, gains, waiting_gpu, with};

    const PICTURES: [(&str, &str); 4] = [
        ("torch.convolutions", "53"),
        ("torch.layout", "channels_first"),
        ("torch.tf32", "off"),
        ("torch.cudnn_benchmark", "off"),
    ];

    #[test]
    fn pictures_channels_first_on_a_busy_gpu_get_the_other_layout() {
        let run = with(busy_gpu(), &PICTURES);
        assert!(advises(&run, "channels_last"));
        assert_eq!(
            because(&run, "channels_last"),
            "the GPU computes 100 % of the time, and 53 convolutions have pictures channels-first; more with TF32 or \
             autocast"
        );
    }

    #[test]
    fn the_layout_gains_more_where_tensor_cores_compute() {
        let gain = |run| gains(&run).into_iter().find(|item| item.0 == "channels_last").map(|item| item.2);
        let plain = gain(with(busy_gpu(), &PICTURES));
        let autocast = gain(with(with(busy_gpu(), &PICTURES), &[("torch.autocast", "bfloat16")]));
        assert!(autocast > plain, "{autocast:?} {plain:?}");
    }

    #[test]
    fn algorithms_that_were_not_measured_get_the_benchmark() {
        assert!(advises(&with(busy_gpu(), &PICTURES), "cudnn_benchmark"));
        let run = with(with(busy_gpu(), &PICTURES), &[("torch.cudnn_benchmark", "on")]);
        assert!(advice(&run).fine.contains(&"cuDNN benchmark"));
    }

    #[test]
    fn channels_last_models_without_convolutions_and_waiting_gpus_need_neither() {
        let last = with(with(busy_gpu(), &PICTURES), &[("torch.layout", "channels_last")]);
        assert!(advice(&last).fine.contains(&"channels-last"));
        let products = with(with(busy_gpu(), &PICTURES), &[("torch.convolutions", "0")]);
        for run in [products, with(waiting_gpu(), &PICTURES)] {
            assert!(!advises(&run, "channels_last") && !advises(&run, "cudnn_benchmark"));
        }
    }
}
