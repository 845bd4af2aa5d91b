//! Tally: what the steps of an epoch or a window add up to.

use laptime_core::Ticks;

/// One step that ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    /// When it began.
    pub(crate) start: Ticks,
    /// How long it took.
    pub(crate) time: Ticks,
    /// Exclusive time it waited for data.
    pub(crate) wait: Ticks,
    /// Samples it trained on.
    pub(crate) samples: u32,
    /// Tokens it trained on; 0 where the input has none.
    pub(crate) tokens: u64,
    /// Its loss, where that is known.
    pub(crate) loss: Option<f64>,
}

/// Steps added up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Steps that ended.
    pub(crate) steps: u64,
    /// Time of those steps.
    pub(crate) time: Ticks,
    /// Samples trained on.
    pub(crate) samples: u64,
    /// Tokens trained on.
    pub(crate) tokens: u64,
    loss_sum: f64,
    losses: u64,
}

impl Tally {
    /// Takes a step that ended.
    pub(crate) fn take(&mut self, step: &Step) {
        let (loss_sum, losses) = step.loss.map_or((0.0, 0), |loss| (loss, 1));
        let (samples, time) = (u64::from(step.samples), step.time);
        self.add(&Self { steps: 1, time, samples, tokens: step.tokens, loss_sum, losses });
    }

    /// Takes the steps of another.
    pub(crate) fn add(&mut self, other: &Self) {
        self.steps = self.steps.saturating_add(other.steps);
        self.time = self.time.plus(other.time);
        self.samples = self.samples.saturating_add(other.samples);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.loss_sum += other.loss_sum;
        self.losses = self.losses.saturating_add(other.losses);
    }

    /// Takes the steps of a later one, whose losses replace these.
    pub(crate) fn follow(&mut self, next: &Self) {
        let older = (self.loss_sum, self.losses);
        self.add(next);
        (self.loss_sum, self.losses) = if next.losses > 0 { (next.loss_sum, next.losses) } else { older };
    }

    /// Mean loss of the steps that have one; may be NaN or infinite.
    pub(crate) fn mean_loss(&self) -> Option<f64> {
        (self.losses > 0).then(|| self.loss_sum / self.losses as f64)
    }
}
