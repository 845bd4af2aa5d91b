//! Limit: what the steps of a fit spend their time on, and how that is said of one fit or of several.

use laptime_core::display_name;
use laptime_core::units::percent;

use crate::process::Process;
use crate::shares::Shares;
use crate::statistics::{t_width, variance};
use crate::step_series::{Block, joined};
use crate::wording::{percent_among, times, times_between};

/// Late batches are the limit from this share of a step on: ready ones would save a quarter.
const LATE: f64 = 0.25;
/// Computing is the limit from this share of a step on.
const COMPUTING: f64 = 0.50;
/// Any other stage, and communication, from this share of a step on.
const OTHER: f64 = 0.40;
/// Nobody can say what limits steps of which no stage claims this share.
const UNCLAIMED: f64 = 0.50;
/// A share that is worth a word beside the one that counts.
const WORTH_A_WORD: f64 = 0.005;
/// Beyond this share of waiting the rest is too short to say how much faster it could be.
const ALL_BUT_ALL: f64 = 0.99;
const LEVEL: f64 = 0.95;

/// What limits the steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Limit<'a> {
    /// Waiting for batches.
    Data,
    /// Making batches in the loop.
    Prepare,
    /// Computing, most of all this stage.
    Computing(&'a str),
    /// Exchange between ranks.
    Communication,
    /// A stage that is none of these.
    Stage(&'a str),
    /// No stage claims most of the time.
    Unclaimed,
    /// Nothing stands out.
    Nothing,
}

impl<'a> Limit<'a> {
    /// What limits steps with these shares.
    pub(crate) fn of(shares: &Shares<'a>) -> Self {
        let (late, computing) = (shares.late(), shares.computing_sum());
        let largest = shares.computing().first().map_or("forward", |stage| stage.0);
        match shares.largest_other() {
            // Where computing takes more than twice as long, faster loading is not the first thing to do.
            _ if late >= LATE && computing <= 2.0 * late => {
                if shares.of("prepare") > shares.of("data_wait") {
                    Self::Prepare
                } else {
                    Self::Data
                }
            }
            _ if computing >= COMPUTING => Self::Computing(largest),
            _ if shares.of("communication") >= OTHER => Self::Communication,
            Some((stage, share)) if share >= OTHER => Self::Stage(stage),
            _ if shares.of("unaccounted") >= UNCLAIMED => Self::Unclaimed,
            _ => Self::Nothing,
        }
    }

    /// Its stable name.
    pub(crate) fn id(&self) -> &'static str {
        match self {
            Self::Data => "data_bound",
            Self::Prepare => "prepare_bound",
            Self::Computing(_) => "compute_bound",
            Self::Communication => "communication_bound",
            Self::Stage(_) => "stage_bound",
            Self::Unclaimed | Self::Nothing => "cannot_tell",
        }
    }

    /// The sentence, true of all fits with these shares; `late_half` is half of the 95 % interval of the time
    /// until a batch is ready, where there is only one fit to have one.
    pub(crate) fn sentence(&self, fits: &[Shares<'a>], hint: &str, late_half: Option<f64>) -> String {
        let share = |stage: &str| percent_among(fits.iter().map(|shares| shares.of(stage)));
        match self {
            Self::Data => {
                let prepared =
                    worded(fits, "prepare", |share| format!(", {share} prepares batches in the loop"));
                let (waits, gain) = (share("data_wait"), gain(fits, late_half));
                format!("data loading is the limit: {waits} of each step waits for data{prepared}; {gain}")
            }
            Self::Prepare => {
                let waits = worded(fits, "data_wait", |share| format!(", {share} waits for data"));
                let (prepares, gain) = (share("prepare"), gain(fits, late_half));
                format!(
                    "preparing batches in the loop is the limit: {prepares} of each step{waits}; {gain}; {hint}"
                )
            }
            Self::Computing(first) => computing(first, fits),
            Self::Communication => {
                format!("exchange between ranks is the limit: {} of each step", share("communication"))
            }
            Self::Stage(stage) => {
                format!("{} is the limit: {} of each step", spoken(stage), share(stage))
            }
            Self::Unclaimed => {
                format!("cannot tell what limits the steps: no stage claims {} of each", share("unaccounted"))
            }
            Self::Nothing => format!(
                "cannot tell what limits the steps: nothing stands out (computing {}, waiting for data {}{}, \
                 claimed by no stage {})",
                percent_among(fits.iter().map(Shares::computing_sum)),
                share("data_wait"),
                worded(fits, "prepare", |share| format!(", preparing batches {share}")),
                share("unaccounted")
            ),
        }
    }
}

/// Words about a stage that has any time worth them.
fn worded(fits: &[Shares<'_>], stage: &str, words: impl Fn(String) -> String) -> String {
    let shares = fits.iter().map(|shares| shares.of(stage));
    if shares.clone().fold(0.0, f64::max) < WORTH_A_WORD {
        return String::new();
    }
    words(percent_among(shares))
}

fn computing(first: &str, fits: &[Shares<'_>]) -> String {
    let share = |stage: &str| percent_among(fits.iter().map(|shares| shares.of(stage)));
    let second =
        fits.iter().flat_map(Shares::computing).filter(|(stage, share)| *stage != first && *share > 0.0);
    let second = second.max_by(|a, b| a.1.total_cmp(&b.1));
    let second = second.map(|(stage, _)| format!(", {} {}", display_name(stage), share(stage)));
    format!(
        "computing is the limit: {} takes {} of each step{}; waiting for data {}{}",
        display_name(first),
        share(first),
        second.unwrap_or_default(),
        share("data_wait"),
        worded(fits, "prepare", |share| format!(", preparing batches {share}"))
    )
}

/// A stage as a person says it; a user's own has the user's name.
fn spoken(stage: &str) -> String {
    match stage {
        "host_to_device" => "copying batches to the device".to_owned(),
        "garbage_collection" => "garbage collection".to_owned(),
        "callbacks" => "calling callbacks".to_owned(),
        stage => display_name(stage),
    }
}

/// What ready batches would gain: `the model could run 13× faster if batches were ready (95 %: 12–15×)`.
fn gain(fits: &[Shares<'_>], half: Option<f64>) -> String {
    let least = fits.iter().map(Shares::late).fold(1.0, f64::min);
    let most = fits.iter().map(Shares::late).fold(0.0, f64::max);
    let faster = match fits {
        [_] if least > ALL_BUT_ALL => format!("more than {}", times(faster(ALL_BUT_ALL))),
        [_] => times(faster(least)),
        _ => between(least, most),
    };
    let half = half.filter(|half| *half > 0.0 && least - half < ALL_BUT_ALL);
    let sure = half.map(|half| format!(" ({}: {})", percent(LEVEL), between(least - half, least + half)));
    format!("the model could run {faster} faster if batches were ready{}", sure.unwrap_or_default())
}

fn faster(late: f64) -> f64 {
    1.0 / (1.0 - late.clamp(0.0, ALL_BUT_ALL))
}

fn between(least: f64, most: f64) -> String {
    match most {
        most if most >= ALL_BUT_ALL => format!("at least {}", times(faster(least))),
        most if most - least < 1e-9 => times(faster(least)),
        most => times_between(faster(least), faster(most)),
    }
}

/// Half of the 95 % interval of the share of a step until its batch is ready, from how it varies between
/// blocks of steps: the interval of a ratio of two sums.
pub(crate) fn late_half_width(process: &Process) -> Option<f64> {
    let blocks: Vec<_> = process.fits.values().flat_map(|fit| joined(fit.steps.blocks(), 20)).collect();
    if blocks.len() < 4 {
        return None;
    }
    let (count, sum) =
        (blocks.len() as f64, |of: fn(&Block) -> u64| blocks.iter().map(of).sum::<u64>() as f64);
    let (ticks, wait) = (sum(|block| block.ticks).max(1.0), sum(|block| block.wait));
    let off = |block: &Block| block.wait as f64 - wait / ticks * block.ticks as f64;
    let residuals: Vec<f64> = blocks.iter().map(off).collect();
    let deviation = (variance(&residuals)? / count).sqrt() / (ticks / count);
    Some(t_width(LEVEL, count - 1.0) * deviation)
}
