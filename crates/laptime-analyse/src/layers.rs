//! Layers: the modules of each fit's model, longest first.

use laptime_core::LayerFacts;

use crate::process::Process;
use crate::report::LayerSummary;

/// The modules of every fit; `None` where none were measured.
pub(crate) fn layers(process: &Process) -> Option<Vec<LayerSummary>> {
    let fits = process.fits.iter().flat_map(|(number, fit)| {
        let of_fit = fit.layers.values().filter(|facts| facts.steps > 0);
        ranked(of_fit.map(|facts| summary(*number, facts)).collect())
    });
    let layers: Vec<LayerSummary> = fits.collect();
    (!layers.is_empty()).then_some(layers)
}

fn summary(fit: u32, facts: &LayerFacts) -> LayerSummary {
    let a_step = |sum: f64| if sum.is_finite() { sum.max(0.0) / facts.steps as f64 } else { 0.0 };
    let forward_s = a_step(facts.forward_s);
    let device_forward_s = facts.device_forward_s.map(a_step);
    let flops = facts.flops.map(|flops| a_step(flops as f64));
    let forward = device_forward_s.unwrap_or(forward_s);
    LayerSummary {
        fit,
        name: facts.name.clone(),
        kind: facts.kind.clone(),
        parameters: facts.parameters,
        steps: facts.steps,
        calls: a_step(facts.calls as f64),
        forward_s,
        backward_s: facts.backward_s.map(a_step),
        device_forward_s,
        device_backward_s: facts.device_backward_s.map(a_step),
        share: 0.0,
        flops,
        flops_per_s: flops.filter(|flops| *flops > 0.0 && forward > 0.0).map(|flops| flops / forward),
    }
}

/// The modules of one fit with their shares, longest first.
fn ranked(mut layers: Vec<LayerSummary>) -> Vec<LayerSummary> {
    let on_device = LayerSummary::are_on_device(&layers);
    let time = |layer: &LayerSummary| {
        let (forward, backward) = layer.times(on_device);
        forward + backward.unwrap_or(0.0)
    };
    let all: f64 = layers.iter().map(time).sum();
    for layer in &mut layers {
        layer.share = if all > 0.0 { time(layer) / all } else { 0.0 };
    }
    layers.sort_by(|one, other| other.share.total_cmp(&one.share).then_with(|| one.name.cmp(&other.name)));
    layers
}

#[cfg(test)]
mod tests {
    use laptime_core::{ProcessFacts, Record};

    use super::*;

    fn layer(name: &str, steps: u64, forward_s: f64, backward_s: Option<f64>) -> LayerFacts {
        LayerFacts { name: name.into(), steps, calls: steps, forward_s, backward_s, ..LayerFacts::default() }
    }

    fn folded(records: impl IntoIterator<Item = (u32, LayerFacts)>) -> Vec<LayerSummary> {
        let mut process = Process::new(ProcessFacts::default());
        for (fit, facts) in records {
            process.take(&Record::Layer { fit, facts: Box::new(facts) });
        }
        layers(&process).unwrap_or_default()
    }

    #[test]
    fn the_longest_module_is_first_and_shares_add_up_per_fit() {
        let found = folded([
            (0, layer("fast", 4, 0.5, Some(0.5))),
            (0, layer("slow", 4, 1.5, Some(1.5))),
            (1, layer("only", 2, 1.0, None)),
        ]);
        let rows: Vec<_> = found.iter().map(|layer| (layer.fit, layer.name.as_str(), layer.share)).collect();
        assert_eq!(rows, [(0, "slow", 0.75), (0, "fast", 0.25), (1, "only", 1.0)]);
        assert_eq!((found[0].forward_s, found[0].backward_s, found[0].calls), (0.375, Some(0.375), 1.0));
    }

    #[test]
    fn the_newest_record_of_a_module_replaces_the_older_ones() {
        let found = folded([(0, layer("conv", 1, 9.0, None)), (0, layer("conv", 3, 3.0, None))]);
        assert_eq!((found.len(), found[0].steps, found[0].forward_s), (1, 3, 1.0));
    }

    #[test]
    fn device_times_decide_only_where_every_module_has_them() {
        let on_device = |name, host, device| LayerFacts {
            device_forward_s: Some(device),
            flops: Some(100),
            ..layer(name, 1, host, None)
        };
        let found = folded([(0, on_device("queued", 3.0, 1.0)), (0, on_device("computed", 1.0, 3.0))]);
        assert_eq!((found[0].name.as_str(), found[0].share), ("computed", 0.75));
        assert_eq!(found[1].flops_per_s, Some(100.0));
        let mixed = folded([(0, on_device("queued", 3.0, 1.0)), (0, layer("host", 1, 1.0, None))]);
        assert_eq!((mixed[0].name.as_str(), mixed[0].share), ("queued", 0.75));
    }

    #[test]
    fn nothing_sampled_is_absent_and_nonsense_costs_no_more_than_itself() {
        assert!(folded([(0, layer("never", 0, 1.0, None))]).is_empty());
        let found = folded([(0, layer("odd", 1, f64::NAN, Some(-1.0))), (0, layer("even", 1, 1.0, None))]);
        assert_eq!((found[0].name.as_str(), found[0].share, found[1].share), ("even", 1.0, 0.0));
    }
}
