//! A part of loading that could be cheaper: what that gains.

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::pipeline::Pipeline;

/// A function that was never made fast is made this many times cheaper, or more.
const CHEAPER: f64 = 10.0;
/// How far the prediction may be off besides.
const UNCERTAIN: f64 = 0.15;
/// A prediction is at most 25 % wide to either side.
const WIDEST: f64 = 1.56;

/// What a training gains when a share of its loading is made much cheaper; `None` where loading was not timed.
pub(super) fn gain_without(evidence: &Evidence<'_>, share: f64) -> Option<Speedup> {
    let pipeline = Pipeline::of(evidence)?;
    let workers = evidence.fit.workers.unwrap_or(0);
    let step_s = |left: f64| pipeline.with_loading(left.clamp(0.01, 1.0)).step_s(workers, true);
    let (now, cheaper, free) =
        (step_s(1.0), step_s(1.0 - share * (1.0 - 1.0 / CHEAPER)), step_s(1.0 - share));
    let gain = Speedup::between(now / cheaper, now / free, (UNCERTAIN, UNCERTAIN)).not_slower();
    Some(Speedup { high: gain.high.min(gain.low * WIDEST), ..gain })
}
