//! Sentence: what is said of ranks that others wait for.

use laptime_core::display_name;
use laptime_core::units::{duration, percent};

use crate::report::{Pattern, Straggler};
use crate::wording::{times_between, times_exactly};

/// `rank 3 (host b) is the limit: its backward takes 77 ms longer than the others'; without it …`.
pub(super) fn sentence(straggler: &Straggler, is_limit: bool) -> String {
    match straggler.pattern {
        Pattern::Chronic => chronic(straggler, is_limit),
        Pattern::Rotating => rotating(straggler),
        Pattern::OneOff => one_off(straggler),
    }
}

fn chronic(straggler: &Straggler, is_limit: bool) -> String {
    let one = straggler.ranks.len() == 1;
    let (be, their, them) = if one { ("is", "its", "it") } else { ("are", "their", "them") };
    let limit = if is_limit { format!("{be} the limit") } else { "held the others up".to_owned() };
    let stage = straggler.stage.as_deref().zip(straggler.excess_s).map(|(stage, excess)| match stage {
        "unaccounted" => format!("{} between its stages take {} longer a step", their, duration(excess)),
        stage => {
            let takes = if one { "takes" } else { "takes, each," };
            format!("{their} {} {takes} {} longer than the others'", display_name(stage), duration(excess))
        }
    });
    let mut text = format!("{} {limit}", who(straggler));
    if let Some(stage) = stage {
        text.push_str(&format!(": {stage}"));
    }
    if let Some(cause) = &straggler.cause {
        text.push_str(&format!(" ({cause})"));
    }
    text.push_str(&format!("; without {them} steps would be {}", gain(straggler)));
    text
}

fn rotating(straggler: &Straggler) -> String {
    let stage = straggler.stage.as_deref().map_or_else(String::new, |stage| {
        let excess = straggler.excess_s.map(duration).unwrap_or_default();
        format!(", most in {} ({excess} a step)", display_name(stage))
    });
    format!(
        "the ranks take turns at being late{stage}: no rank is the limit, but without it steps would be {}; look \
         for what holds up one rank at a time, such as uneven batches or a shared machine",
        gain(straggler)
    )
}

fn one_off(straggler: &Straggler) -> String {
    let stage =
        straggler.stage.as_deref().map_or_else(String::new, |stage| format!(", in {}", display_name(stage)));
    let step = straggler.step.map_or_else(String::new, |step| format!(" in step {}", step + 1));
    format!(
        "{} held all others up once, for {}{step}{stage}",
        who(straggler),
        straggler.excess_s.map(duration).unwrap_or_default()
    )
}

/// `rank 3 (host b)`, `ranks 2 and 3 (host b)`.
fn who(straggler: &Straggler) -> String {
    let numbers: Vec<String> = straggler.ranks.iter().map(u32::to_string).collect();
    let ranks = match numbers.as_slice() {
        [one] => format!("rank {one}"),
        [first @ .., last] => format!("ranks {} and {last}", first.join(", ")),
        [] => String::new(),
    };
    let host = straggler.host.as_deref().map_or_else(String::new, |host| format!(" (host {host})"));
    format!("{ranks}{host}")
}

fn gain(straggler: &Straggler) -> String {
    let Some(gain) = straggler.speedup else { return "faster".to_owned() };
    let (low, high) = (gain.low, gain.high);
    format!("{} faster ({}: {})", times_exactly(gain.mean), percent(gain.level), times_between(low, high))
}
