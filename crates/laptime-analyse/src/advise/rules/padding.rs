//! Sequences that are padded further than the longest of their batch: what is computed of that is thrown away.

use laptime_core::units::percent;

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const RULE: Rule = Rule { id: "padding", subject: "padding", look };

/// What is computed of every token.
const COMPUTING: [&str; 3] = ["forward", "loss", "backward"];
/// Columns of padding are worth a change from this share on, and padding beside longer rows a word.
const MUCH: f64 = 0.1;
const MUCH_IN_ROWS: f64 = 0.3;
/// The part of computing that goes with the tokens at least; the calls of operations and the updates do not.
const BY_TOKEN: f64 = 0.6;
/// Attention goes with the square of the length and the rest with the length: all goes with a power between.
const WITH_ATTENTION: f64 = 1.5;

fn look(evidence: &Evidence<'_>) -> Outcome {
    let share = |name| evidence.setting(name).and_then(|share| share.parse::<f64>().ok());
    let (Some(padding), Some(columns)) = (share("torch.padding"), share("torch.padded_columns")) else {
        return Outcome::DoesNotApply;
    };
    if columns < MUCH && padding >= MUCH_IN_ROWS {
        let because = format!("{} of a batch pads short rows beside long ones", percent(padding));
        return Outcome::Unknown(format!("{because}; batches of like lengths may gain"));
    }
    if columns < MUCH {
        return Outcome::Fine;
    }
    let computing: f64 = COMPUTING.iter().map(|stage| evidence.training.stage_s(stage)).sum();
    let (least, most) = (columns * BY_TOKEN, 1.0 - (1.0 - columns).powf(WITH_ATTENTION));
    Outcome::advice(Advised {
        title: "pad to the longest row of a batch".to_owned(),
        because: format!(
            "{} of a batch is padding by its attention_mask, {} beyond its longest row; computing with it takes \
             {} of the training",
            percent(padding),
            percent(columns),
            percent(computing / evidence.training.seconds)
        ),
        change: "pad each batch to its own longest row: padding=\"longest\", not \"max_length\"".to_owned(),
        speedup: Speedup::typical(evidence.without(computing * least), evidence.without(computing * most)),
        injects: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{BACKWARD, FORWARD, MS, OPTIMIZER, advice, gains, on_cpu, with};

    fn padded(padding: &str, columns: &str) -> crate::compare::ComparedRun {
        let run = on_cpu("torch", &[(FORWARD, 30 * MS), (BACKWARD, 60 * MS), (OPTIMIZER, 10 * MS)]);
        with(run, &[("torch.padding", padding), ("torch.padded_columns", columns)])
    }

    #[test]
    fn columns_of_padding_are_computed_for_nothing() {
        assert_eq!(gains(&padded("0.700", "0.500")), [("padding", 1.37, 2.39)]);
    }

    #[test]
    fn short_rows_beside_long_ones_leave_it_open_and_batches_without_padding_are_fine() {
        let mixed = advice(&padded("0.500", "0.000"));
        assert!(mixed.items.is_empty() && mixed.unknown.iter().any(|(subject, _)| *subject == "padding"));
        assert!(advice(&padded("0.050", "0.020")).fine.contains(&"padding"));
    }
}
