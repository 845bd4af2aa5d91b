//! The ceiling: how much faster the training would be if data were free, measured with one batch over and over.

use laptime_analyse::advise::{Advice, MeasuredSpeedup};
use laptime_analyse::compare::Comparison;
use laptime_core::Change;
use serde::Serialize;

use super::pairs;
use crate::Ending;
use crate::args::AdviseArgs;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::text::ceiling_text;

/// A comparison that shows the ceiling.
#[derive(Serialize)]
struct Ceiling<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    /// How many times faster if data were free.
    ceiling: MeasuredSpeedup,
    pairs: u64,
}

/// Measures the ceiling of a command.
pub(super) fn run(args: &AdviseArgs, advice: Option<&Advice>, screen: &Screen) -> Result<Ending, Failure> {
    let command = pairs::typed(args, advice)?;
    let changes = vec![Change::new("repeat_batch", 1)];
    let Some(pairs) = pairs::measure(args, (command.clone(), command), changes, screen)? else {
        return Ok(Ending::Interrupted);
    };
    pairs.keep(screen);
    if args.json {
        let (ceiling, count) = (pairs.speedup, pairs.count);
        screen.show_json(&Ceiling { comparison: &pairs.comparison, ceiling, pairs: count })?;
    } else {
        screen.show(ceiling_text(&pairs.speedup, pairs.count, &screen.style).trim_end());
    }
    Ok(Ending::Done)
}
