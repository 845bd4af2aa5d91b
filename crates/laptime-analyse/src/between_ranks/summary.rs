//! Summary: the communication of a run, for its report.

use std::collections::BTreeMap;

use laptime_core::GroupFacts;

use super::cause::cause;
use super::clocks::distance;
use super::joined::{Joined, Member};
use super::lateness::Lateness;
use super::one_off::one_off;
use super::sentence::sentence;
use super::straggler::{Found, chronic, found};
use crate::communication::Group;
use crate::process::Process;
use crate::report::{
    ClockDistance, CommunicationSummary, Finding, FitStraggler, GroupSummary, Pattern, Straggler,
};
use crate::statistics::mean;

/// Whoever costs steps less than this holds others up, and is not yet the limit.
const LIMIT: f64 = 1.10;
/// Fits that have a finding of their own.
const MOST_FITS: usize = 8;

/// What the other ranks say of one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Beside {
    /// Of the time it stood still, the share in which it waited for others.
    pub(crate) waiting: Option<f64>,
    /// The share of the steps in which it came last.
    pub(crate) late: Option<f64>,
    /// How far its wall clock is from that of the first rank of its group.
    pub(crate) clock: Option<ClockDistance>,
}

/// The ranks of a run side by side.
#[derive(Clone, Debug)]
pub(crate) struct Between {
    /// For the report.
    pub(crate) summary: CommunicationSummary,
    /// What the others say of each rank.
    pub(crate) ranks: BTreeMap<u32, Beside>,
    /// What stands out; the first is a verdict where a rank limits the steps.
    pub(crate) findings: Vec<Finding>,
}

/// One group in all ranks that recorded.
struct Seen<'a> {
    members: Vec<Member<'a>>,
    joined: Option<Joined<'a>>,
    lateness: Option<Lateness>,
}

/// Lays the ranks of a run side by side; `None` where no collective was seen.
pub(crate) fn between(ranks: &[(u32, &Process)]) -> Option<Between> {
    let seen = groups(ranks);
    let folds = || ranks.iter().filter_map(|(_, process)| process.communication.as_deref());
    let counts = folds().flat_map(|fold| fold.groups.values()).map(|group| group.count);
    if counts.sum::<u64>() == 0 {
        return None;
    }
    let most =
        seen.iter().filter(|seen| seen.joined.is_some()).max_by(|a, b| a.waited().total_cmp(&b.waited()));
    let fits = most.and_then(Seen::of_fits);
    let straggler = most.and_then(|seen| seen.straggler(fits.is_some()));
    let once = most.and_then(Seen::one_off);
    let per_step =
        folds().filter(|fold| fold.steps > 0).map(|fold| fold.step_bytes() as f64 / fold.steps as f64);
    let (busy, exposed) = folds()
        .fold((0, 0), |sum: (u64, u64), fold| (sum.0 + fold.exposure.busy, sum.1 + fold.exposure.exposed));
    let of_fits = fits.iter().flatten().filter(|_| straggler.is_none()).take(MOST_FITS);
    let of_fits = of_fits.map(|one| Finding { fit: Some(one.fit), ..finding(&one.straggler) });
    let of_fits =
        of_fits.map(|one| Finding { text: format!("fit {}: {}", one.fit.unwrap_or(0) + 1, one.text), ..one });
    let findings = straggler.iter().map(finding).chain(of_fits).chain(once.iter().map(finding)).collect();
    let summary = CommunicationSummary {
        bytes_per_step: mean(&per_step.collect::<Vec<_>>()),
        bytes_per_s: most.and_then(Seen::bytes_per_s),
        hidden_share: (busy > 0).then(|| 1.0 - exposed as f64 / busy as f64),
        groups: seen.iter().map(Seen::summary).collect(),
        compared_steps: most.and_then(|seen| seen.lateness.as_ref()).map_or(0, |late| late.steps() as u64),
        straggler,
        fits,
        one_off: once,
    };
    Some(Between { summary, ranks: beside(&seen, ranks.len()), findings })
}

/// Every group that any rank knows, with the ranks that know it; those that gave most first.
fn groups<'a>(ranks: &[(u32, &'a Process)]) -> Vec<Seen<'a>> {
    let mut by_name: BTreeMap<(&str, &[u32]), Vec<Member<'a>>> = BTreeMap::new();
    for (rank, process) in ranks {
        let fold = process.communication.as_deref();
        for group in fold.into_iter().flat_map(|fold| fold.groups.values()).filter(|group| group.count > 0) {
            let GroupFacts { name, ranks, .. } = &group.facts;
            by_name.entry((name, ranks)).or_default().push(Member { rank: *rank, process, group });
        }
    }
    let mut seen: Vec<Seen<'a>> = by_name.into_values().map(Seen::new).collect();
    seen.sort_by_key(|seen| std::cmp::Reverse(seen.bytes()));
    seen
}

/// Of several groups of a rank, that in which it stood still longest tells how late it is.
fn beside(seen: &[Seen<'_>], all: usize) -> BTreeMap<u32, Beside> {
    let mut longest: BTreeMap<u32, (f64, Beside)> = BTreeMap::new();
    for seen in seen {
        let (Some(joined), Some(lateness)) = (&seen.joined, &seen.lateness) else { continue };
        for (at, member) in joined.members.iter().enumerate() {
            let (still, waited) = (lateness.still[at], lateness.waited[at]);
            let known = longest.entry(member.rank).or_insert((-1.0, Beside::default()));
            if still > known.0 {
                let waiting = (still > 0.0).then(|| (waited / still).clamp(0.0, 1.0));
                let late = (lateness.steps() > 0).then(|| lateness.share(&[at]));
                // Only a group of all ranks has the run's first rank in it.
                let clock =
                    (joined.members.len() == all).then(|| distance(&joined.members, &joined.tiles, at));
                *known = (still, Beside { waiting, late, clock: clock.flatten() });
            }
        }
    }
    longest.into_iter().map(|(rank, (_, beside))| (rank, beside)).collect()
}

fn finding(straggler: &Straggler) -> Finding {
    let is_limit = straggler.speedup.is_some_and(|gain| gain.mean >= LIMIT);
    let id = match straggler.pattern {
        Pattern::Chronic => "straggler",
        Pattern::Rotating => "rotating_stragglers",
        Pattern::OneOff => "held_up_once",
    };
    Finding { verdict: is_limit, ..Finding::new(id, sentence(straggler, is_limit)) }
}

impl<'a> Seen<'a> {
    fn new(members: Vec<Member<'a>>) -> Self {
        let joined = Joined::of(&members);
        let lateness = joined.as_ref().map(Lateness::of);
        Self { members, joined, lateness }
    }

    fn groups(&self) -> impl Iterator<Item = &'a Group> + use<'a, '_> {
        self.members.iter().map(|member| member.group)
    }

    fn bytes(&self) -> u64 {
        self.groups().map(|group| group.bytes).fold(0, u64::saturating_add)
    }

    /// How long its ranks waited for each other, seconds.
    fn waited(&self) -> f64 {
        self.lateness.as_ref().map_or(0.0, |lateness| lateness.waited.iter().sum())
    }

    /// What is given over what the shortest stays say it takes.
    fn bytes_per_s(&self) -> Option<f64> {
        let tiles = &self.joined.as_ref()?.tiles;
        let stays: f64 = tiles.iter().map(|tile| tile.stays).sum();
        let transfer = tiles.iter().map(|tile| tile.transfer * tile.meetings.len() as f64).sum::<f64>();
        let all: f64 = self.members.iter().map(|member| member.group.stay as f64 * member.tick()).sum();
        let bytes: f64 = self.groups().map(|group| group.met_bytes as f64).sum();
        let seconds = all * transfer / stays;
        (seconds > 0.0 && bytes > 0.0).then(|| bytes / seconds)
    }

    fn summary(&self) -> GroupSummary {
        let facts = self.members.first().map(|member| member.group.facts.clone()).unwrap_or_default();
        let count: u64 = self.groups().map(|group| group.count).sum();
        GroupSummary {
            name: facts.name,
            backend: facts.backend,
            purpose: facts.purpose,
            ranks: facts.ranks,
            collectives: count as f64 / self.members.len().max(1) as f64,
            bytes: self.bytes(),
            bytes_per_s: self.bytes_per_s(),
        }
    }

    /// Whom all wait for, over the whole run; of several fits only who is late in all of them.
    fn straggler(&self, of_several_fits: bool) -> Option<Straggler> {
        let (joined, lateness) = (self.joined.as_ref()?, self.lateness.as_ref()?);
        let found = if of_several_fits { chronic(joined, lateness) } else { found(joined, lateness) };
        found.map(|found| described(joined, found))
    }

    /// Whom they wait for in each of several fits; `None` of one.
    fn of_fits(&self) -> Option<Vec<FitStraggler>> {
        let fits = self.joined.as_ref()?.by_fit();
        let of = |(fit, joined): &(u32, Joined<'_>)| {
            let found = found(joined, &Lateness::of(joined))?;
            Some(FitStraggler { fit: *fit, straggler: described(joined, found) })
        };
        (fits.len() > 1).then(|| fits.iter().filter_map(of).collect())
    }

    fn one_off(&self) -> Option<Straggler> {
        let joined = self.joined.as_ref()?;
        let once = one_off(joined)?;
        Some(Straggler {
            pattern: Pattern::OneOff,
            ranks: vec![joined.members[once.member].rank],
            host: host(joined, &[once.member]),
            stage: once.blamed.map(|blamed| blamed.stage),
            excess_s: Some(once.lost_s),
            last_share: None,
            speedup: None,
            step: Some(u64::from(once.step)),
            cause: None,
        })
    }
}

fn described(joined: &Joined<'_>, found: Found) -> Straggler {
    let Found { pattern, members, share, speedup, blamed } = found;
    let cause = cause(&joined.members, &members, blamed.as_ref().map(|blamed| blamed.stage.as_str()));
    Straggler {
        pattern,
        ranks: members.iter().map(|at| joined.members[*at].rank).collect(),
        host: host(joined, &members),
        stage: blamed.as_ref().map(|blamed| blamed.stage.clone()),
        excess_s: blamed.as_ref().map(|blamed| blamed.excess_s),
        last_share: share,
        speedup: Some(speedup),
        step: None,
        cause,
    }
}

/// The machine that some members have in common, where others are on another.
fn host(joined: &Joined<'_>, members: &[usize]) -> Option<String> {
    let of = |member: &Member<'_>| member.process.facts.host.clone();
    let first = of(joined.members.get(*members.first()?)?)?;
    let same = members.iter().all(|at| of(&joined.members[*at]).as_ref() == Some(&first));
    let several = joined.members.iter().any(|member| of(member).as_ref() != Some(&first));
    (same && several).then_some(first)
}
