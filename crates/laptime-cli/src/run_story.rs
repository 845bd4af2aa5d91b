//! All that a page shows of one run.

use laptime_analyse::advise::{Advice, advise};
use laptime_analyse::{ProfileStacks, Report, StepTimeline, StepTimes};
use laptime_store::StoreError;

use crate::study::Study;

/// A run as far as it is known: its report, and what the report leaves out.
pub(crate) struct RunStory {
    /// The report.
    pub(crate) report: Report,
    /// What to change of its training.
    pub(crate) advice: Advice,
    /// The stacks that were sampled; none where nobody asked for them.
    pub(crate) stacks: ProfileStacks,
    /// The times of the steps of every fit.
    pub(crate) step_times: Vec<StepTimes>,
    /// A typical step on every track.
    pub(crate) timeline: Option<StepTimeline>,
}

impl RunStory {
    /// Reads what is new of a run and tells all of it.
    pub(crate) fn read(study: &mut Study) -> Result<Self, StoreError> {
        let run = study.report().and_then(|_| study.compared_run())?;
        let advice = advise(&run, Vec::new());
        Ok(Self {
            report: run.report,
            advice,
            stacks: study.profile_stacks(),
            step_times: study.step_times(),
            timeline: study.step_timeline(),
        })
    }
}
