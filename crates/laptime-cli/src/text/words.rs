//! Stages and metrics in the words a table has room for.

use super::shown;
use super::units::{self, UNKNOWN};
pub(crate) use crate::stage_words::stage_name;

/// A stage as the head of a narrow column.
pub(crate) fn stage_column(stage: &str) -> String {
    let short = match stage {
        "data_wait" => "data",
        "host_to_device" => "h2d",
        "forward" => "fwd",
        "backward" => "bwd",
        "optimizer" => "opt",
        "communication" => "comm",
        "evaluate" => "eval",
        "checkpoint" => "ckpt",
        "prepare" => "prep",
        "garbage_collection" => "gc",
        "callbacks" => "calls",
        "after_update" => "after",
        "device_wait" => "wait",
        "idle_data" => "data",
        "idle_host" => "launch",
        "idle_sync" => "sync",
        other => return stage_name(other),
    };
    short.to_owned()
}

/// The one letter a stage has in a bar without colours.
pub(crate) fn stage_letter(stage: &str) -> char {
    match stage {
        "unaccounted" | "between_epochs" | "<other>" => '·',
        other => shown(other).chars().next().unwrap_or('·'),
    }
}

/// A metric as the head of a column: `val acc`.
pub(crate) fn metric_column(metric: &str) -> String {
    shown(&metric.replace("validation", "val").replace("accuracy", "acc").replace('_', " "))
}

/// A metric's value; shares of right answers read as percentages.
pub(crate) fn metric_value(metric: &str, value: Option<f64>) -> String {
    match value {
        Some(share) if metric.ends_with("accuracy") && share.is_finite() => {
            format!("{} %", units::three_digits(share * 100.0))
        }
        Some(value) => units::number(value),
        None => UNKNOWN.to_owned(),
    }
}

/// Samples a second, or tokens where only those are known: `1,024 samples/s`.
pub(crate) fn throughput(samples_per_s: Option<f64>, tokens_per_s: Option<f64>) -> Option<String> {
    let tokens = || tokens_per_s.map(|rate| format!("{} tokens/s", units::per_second(rate)));
    samples_per_s.map(units::rate).or_else(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_stages_are_spoken_and_users_stages_are_quoted_as_they_are() {
        assert_eq!(stage_name("data_wait"), "data wait");
        assert_eq!(stage_name("my_augment"), "my_augment");
        assert_eq!(stage_column("host_to_device"), "h2d");
        assert_eq!(stage_letter("backward"), 'b');
    }

    #[test]
    fn accuracy_reads_as_a_percentage_and_losses_as_numbers() {
        assert_eq!(metric_column("validation_accuracy"), "val acc");
        assert_eq!(metric_value("validation_accuracy", Some(0.981)), "98.1 %");
        assert_eq!(metric_value("validation_loss", Some(0.0412)), "0.0412");
        assert_eq!(metric_value("validation_loss", None), "–");
    }
}
