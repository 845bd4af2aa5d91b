//! Scalars: what TensorBoard shows of an epoch. What is not known of it has no point.

use laptime_analyse::{EpochSummary, LapKind};

/// One number of an epoch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scalar {
    /// Such as `laptime/epoch_time_s`.
    pub(super) tag: String,
    /// Seconds where the tag ends in `_s`, samples a second, a share from 0 to 1, or a loss.
    pub(super) value: f64,
}

/// When the points of an epoch are, seconds since 1970: at the end of its pass. `None` of an epoch that was cut
/// short, or whose end has no clock time.
pub(super) fn moment(epoch: &EpochSummary) -> Option<f64> {
    epoch.ended_unix_s.filter(|_| epoch.complete)
}

/// Everything known of an epoch that came to its end; of folded epochs the times of a mean one, of steps without
/// epochs those of a mean step.
pub(super) fn scalars(epoch: &EpochSummary) -> Vec<Scalar> {
    let waited = epoch.stages.get("data_wait");
    let wait_share = waited.filter(|_| epoch.wall_s > 0.0).map(|waited| waited / epoch.wall_s);
    let (name, times) = match epoch.kind {
        LapKind::Epoch | LapKind::Folded => ("epoch_time_s", epoch.count as f64),
        LapKind::Window => ("step_time_s", epoch.steps as f64),
    };
    let known = [
        (name, Some(epoch.wall_s / times)),
        // An epoch that nothing evaluated has no time of evaluation, rather than one of zero.
        ("evaluate_s", Some(epoch.evaluate_s / epoch.count as f64).filter(|seconds| *seconds > 0.0)),
        ("samples_per_s", epoch.samples_per_s),
        ("tokens_per_s", epoch.tokens_per_s),
        ("data_wait_share", wait_share),
        ("time_left_s", epoch.time_left.map(|left| left.mean)),
        ("loss", epoch.loss),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let stages = epoch.stages.iter().map(|(stage, seconds)| (format!("stage/{stage}_s"), *seconds / times));
    let device = epoch.device_stages.iter().flatten();
    let device = device.map(|(row, seconds)| (format!("device/{row}_s"), *seconds / times));
    let scalar = |(name, value): (String, f64)| Scalar { tag: format!("laptime/{name}"), value };
    known.chain(stages).chain(device).filter(|(_, value)| value.is_finite()).map(scalar).collect()
}

/// What a tag means, for the reader of a chart.
pub(super) fn description(tag: &str) -> &'static str {
    match tag.strip_prefix("laptime/").unwrap_or(tag) {
        "epoch_time_s" => "Wall time of the pass over the training data, seconds.",
        "step_time_s" => "Wall time of a mean step since the point before, seconds.",
        "evaluate_s" => "Time of the evaluation that followed the pass, seconds.",
        "samples_per_s" => "Samples trained on in a second of the pass.",
        "tokens_per_s" => "Tokens trained on in a second of the pass.",
        "data_wait_share" => "Share of the pass spent waiting for data, 0 to 1.",
        "time_left_s" => {
            "Time to the end of the planned epochs, as predicted at the end of the pass, seconds."
        }
        "loss" => "Mean training loss of the epoch.",
        tag if tag.starts_with("device/") => {
            "Time of this row of the device within the pass, or a mean step, seconds; the rows add up to its time."
        }
        _ => {
            "Time of this stage alone within the pass, or a mean step, seconds; the stages add up to its time."
        }
    }
}

#[cfg(test)]
mod tests {
    use laptime_analyse::Estimate;

    use super::*;
    use crate::text::sample;

    fn value(scalars: &[Scalar], tag: &str) -> Option<f64> {
        scalars.iter().find(|scalar| scalar.tag == tag).map(|scalar| scalar.value)
    }

    #[test]
    fn an_epoch_has_a_number_for_all_that_is_known_of_it() {
        let mut epoch = sample::finished().epochs[0].clone();
        epoch.time_left = Some(Estimate { mean: 7.5, low: 7.0, high: 8.0, level: 0.9 });
        let scalars = scalars(&epoch);
        let share = epoch.stages["data_wait"] / epoch.wall_s;
        let expected = [
            ("laptime/epoch_time_s", Some(epoch.wall_s)),
            ("laptime/evaluate_s", Some(epoch.evaluate_s)),
            ("laptime/samples_per_s", epoch.samples_per_s),
            ("laptime/data_wait_share", Some(share)),
            ("laptime/time_left_s", Some(7.5)),
            ("laptime/loss", epoch.loss),
        ];
        for (tag, expected) in expected {
            assert_eq!(value(&scalars, tag), expected, "{tag}");
        }
        for (stage, seconds) in &epoch.stages {
            assert_eq!(value(&scalars, &format!("laptime/stage/{stage}_s")), Some(*seconds));
        }
        assert_eq!(scalars.len(), expected.len() + epoch.stages.len());
    }

    #[test]
    fn of_a_fit_without_epochs_the_times_are_those_of_a_mean_step() {
        let stretch = sample::by_steps().epochs[1].clone();
        let scalars = scalars(&stretch);
        assert_eq!(value(&scalars, "laptime/step_time_s"), Some(stretch.wall_s / 1000.0));
        assert_eq!(value(&scalars, "laptime/stage/forward_s"), Some(stretch.stages["forward"] / 1000.0));
        assert_eq!(value(&scalars, "laptime/tokens_per_s"), stretch.tokens_per_s);
        assert_eq!(value(&scalars, "laptime/epoch_time_s"), None);
    }

    #[test]
    fn the_rows_of_a_device_stand_beside_the_stages_of_the_host() {
        let epoch = sample::on_gpu(&[("forward", 0.2), ("idle_host", 0.1)], Some(0.67), "").epochs[0].clone();
        let scalars = scalars(&epoch);
        assert_eq!(value(&scalars, "laptime/device/forward_s"), Some(0.2));
        assert_eq!(value(&scalars, "laptime/device/idle_host_s"), Some(0.1));
        assert_eq!(value(&scalars, "laptime/stage/forward_s"), Some(epoch.stages["forward"]));
    }

    #[test]
    fn what_is_not_known_has_no_point() {
        let mut epoch = sample::finished().epochs[0].clone();
        (epoch.samples_per_s, epoch.loss, epoch.evaluate_s) = (None, None, 0.0);
        epoch.stages.remove("data_wait");
        let scalars = scalars(&epoch);
        for tag in ["evaluate_s", "samples_per_s", "data_wait_share", "time_left_s", "loss"] {
            assert_eq!(value(&scalars, &format!("laptime/{tag}")), None, "{tag}");
        }
        epoch.loss = Some(f64::NAN);
        assert_eq!(super::scalars(&epoch), scalars);
    }
}
