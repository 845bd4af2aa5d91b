//! `laptime data --time`: the copy is made, and its forecast graded.

use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use laptime_core::units;
use laptime_data::elsewhere::Elsewhere;
use laptime_data::survey::Watch;
use laptime_data::transfer::{Move, TimedError, timed};

use crate::Ending;
use crate::args::DataArgs;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::text::timed_text;

/// Makes the copy that is proposed.
pub(super) fn run(
    found: &Elsewhere,
    watch: &Arc<Watch>,
    args: &DataArgs,
    screen: &Screen,
) -> Result<Ending, Failure> {
    let missing = |because: &str| Failure::new("could not make the copy").because(because);
    let next = found.next.as_ref().ok_or_else(|| {
        missing("no tool is installed that copies from there").hint("install rclone, lftp, curl or rsync")
    })?;
    let plan = found.plan.as_ref();
    let plan = plan.ok_or_else(|| missing("the link could not be measured, so nothing is expected"))?;
    let bar = bar(found.survey.bytes, args.quiet || args.json);
    let copied = timed(next, plan.copy_s, watch, &mut |bytes| bar.set_position(bytes));
    bar.finish_and_clear();
    match copied {
        Ok(timed) if args.json => screen.show_json(&timed)?,
        Ok(timed) => screen.show(timed_text(&timed, &next.target, &screen.style).trim_end()),
        Err(TimedError::Stopped) => return Ok(Ending::Interrupted),
        Err(error) => return Err(failed(&error, next)),
    }
    Ok(Ending::Done)
}

fn failed(error: &TimedError, next: &Move) -> Failure {
    let failure = Failure::new(format!("could not copy to {}", next.target)).caused_by(error);
    match error {
        TimedError::Exists(_) => failure.hint("move it away; it is not written over"),
        _ => failure.hint(next.line()),
    }
}

fn bar(bytes: u64, quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(bytes), target);
    if let Ok(style) =
        ProgressStyle::with_template("copying: {bytes} of {total_bytes} · {elapsed} · Ctrl-C stops")
    {
        bar.set_style(style);
    }
    bar.set_message(units::bytes(bytes));
    bar
}
