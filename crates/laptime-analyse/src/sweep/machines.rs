//! The machines a sweep was measured on, as blocks of its design: settings are compared as if all had been measured
//! on one machine.

use std::borrow::Cow;

use laptime_core::{Estimate, units};
use serde::{Deserialize, Serialize};

use super::best::Measure;
use super::findings::SweepFinding;
use super::plan::Plan;
use super::repeat::{Measured, Repeat};
use super::two_way::{Observation, TwoWay};
use crate::statistics::variance_ratio_above;

/// Machines that are named in one sentence.
const MOST_NAMES: usize = 4;
/// A difference of settings between machines that chance makes less often is worth a sentence.
const CHANCE: f64 = 0.01;

/// Where a repeat was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Its name, for people.
    pub name: String,
    /// Its machine: the kernel's id of its boot. Nodes of one machine have the same.
    pub machine: String,
    /// CPUs of that machine.
    pub cpus: u32,
}

/// One machine of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepMachine {
    /// Its name.
    pub name: String,
    /// The kernel's id of its boot.
    pub machine: String,
    /// Its CPUs.
    pub cpus: u32,
    /// Repeats that were made on it.
    pub repeats: u64,
    /// How many times as long as on the fastest machine everything takes on it, where that can be known.
    pub relative: Option<Estimate>,
}

/// The times of a repeat that a machine stretches: how to read one, and how to stretch it.
type Stretched = (fn(&Measured) -> Option<f64>, fn(&mut Measured, f64));

const STRETCHED: [Stretched; 5] = [
    (|of| of.step_s, |of, times| of.step_s = of.step_s.map(|step| step * times)),
    (|of| of.epoch_s, |of, times| of.epoch_s = of.epoch_s.map(|epoch| epoch * times)),
    (|of| Some(of.wall_s), |of, times| of.wall_s *= times),
    (
        |of| of.samples_per_s.map(|rate| 1.0 / rate),
        |of, times| of.samples_per_s = of.samples_per_s.map(|rate| rate / times),
    ),
    (
        |of| Some(of.arrival?.at_s),
        |of, times| of.arrival.iter_mut().for_each(|arrival| arrival.at_s *= times),
    ),
];

/// The repeats as if one machine, the mean of them all, had made them; as they are where one did, or where machines
/// and settings cannot be told apart.
pub(super) fn evened<'a>(plan: &Plan, repeats: &'a [Repeat]) -> Cow<'a, [Repeat]> {
    let machines = Machines::of(repeats);
    if machines.nodes.len() < 2 {
        return Cow::Borrowed(repeats);
    }
    let mut even = repeats.to_vec();
    for (of, stretch) in STRETCHED {
        if let Some(fit) = machines.fit(plan, repeats, of).filter(|fit| fit.degrees >= 1.0) {
            machines.even(&fit, repeats, of, |at, times| stretch(&mut even[at].measured, times));
        }
    }
    Cow::Owned(even)
}

/// The machines, from the one that made the most repeats; none when the sweep was made where it was started.
pub(super) fn machines(plan: &Plan, repeats: &[Repeat], by: Measure) -> Vec<SweepMachine> {
    let machines = Machines::of(repeats);
    if machines.nodes.iter().all(Option::is_none) {
        return Vec::new();
    }
    let fit = machines.fit(plan, repeats, |measured| by.cost_of(measured));
    let fastest = fit
        .as_ref()
        .and_then(|fit| (0..fit.effects.len()).min_by(|a, b| fit.effects[*a].total_cmp(&fit.effects[*b])));
    let one = |(at, node): (usize, &Option<&Node>)| SweepMachine {
        name: node.map_or("this machine", |node| &node.name).to_owned(),
        machine: node.map_or("", |node| &node.machine).to_owned(),
        cpus: node.map_or(0, |node| node.cpus),
        repeats: machines.places.iter().filter(|place| **place == at).count() as u64,
        relative: fit.as_ref().zip(fastest).and_then(|(fit, fastest)| fit.ratio(at, fastest)),
    };
    let mut all: Vec<SweepMachine> = machines.nodes.iter().enumerate().map(one).collect();
    all.sort_by_key(|machine| std::cmp::Reverse(machine.repeats));
    all
}

/// What the machines mean for the comparison of settings.
pub(super) fn findings(
    plan: &Plan,
    repeats: &[Repeat],
    known: &[SweepMachine],
    by: Measure,
) -> Vec<SweepFinding> {
    let machines = Machines::of(repeats);
    if machines.nodes.len() < 2 {
        return Vec::new();
    }
    let Some(fit) = machines.fit(plan, repeats, |measured| by.cost_of(measured)) else { return Vec::new() };
    let finding = |id, text| SweepFinding { id, text };
    if fit.groups.iter().any(|group| *group != fit.groups[0]) {
        let text = "some settings were measured on different machines only: their times differ by the machines too, \
                    so do not compare them";
        return vec![finding("machines_apart", text.to_owned())];
    }
    if fit.degrees < 1.0 {
        let text =
            "too few repeats to tell the machines from the settings: times are as each machine took them";
        return vec![finding("machines_mixed", text.to_owned())];
    }
    let mut found = vec![finding("machines", compared(known))];
    if machines.disagree(&fit, plan, repeats, |measured| by.cost_of(measured)) {
        let text =
            "settings do not compare alike on all machines; what is said here holds on average over them";
        found.push(finding("machines_disagree", text.to_owned()));
    }
    found
}

/// What is known of machines against the fastest.
fn compared(machines: &[SweepMachine]) -> String {
    let slower = machines.iter().filter_map(|machine| {
        let relative = machine.relative.filter(|relative| relative.low > 1.0)?;
        let shown = units::three_digits;
        let (low, high) = (shown(relative.low), shown(relative.high));
        Some(format!("{} takes {}× (95 %: {low}–{high})", machine.name, shown(relative.mean)))
    });
    let slower: Vec<String> = slower.collect();
    let fastest = machines.iter().filter_map(|machine| Some((machine, machine.relative?.mean)));
    let fastest = fastest.min_by(|a, b| a.1.total_cmp(&b.1)).map_or("", |(machine, _)| machine.name.as_str());
    let more = slower.len().saturating_sub(MOST_NAMES);
    let more = if more > 0 { format!(" and {more} more are slower") } else { String::new() };
    match slower.as_slice() {
        [] => format!(
            "no difference is seen between the {} machines; settings are compared within each",
            machines.len()
        ),
        some => format!(
            "settings are compared within machines: {}{more} the time of {fastest}, and that is taken out",
            some[..some.len().min(MOST_NAMES)].join(", ")
        ),
    }
}

/// The machines of some repeats.
struct Machines<'a> {
    /// One node of each; `None` where the sweep was started.
    nodes: Vec<Option<&'a Node>>,
    /// The machine of each repeat.
    places: Vec<usize>,
}

impl<'a> Machines<'a> {
    fn of(repeats: &'a [Repeat]) -> Self {
        let mut nodes: Vec<Option<&Node>> = Vec::new();
        let machine = |node: &Option<&Node>| node.map(|node| node.machine.clone());
        let places = repeats.iter().map(|repeat| {
            let node = repeat.node.as_ref();
            let known = nodes.iter().position(|known| machine(known) == machine(&node));
            known.unwrap_or_else(|| {
                nodes.push(node);
                nodes.len() - 1
            })
        });
        let places = places.collect();
        Self { nodes, places }
    }

    /// Repeats that tell of machines, with a time of theirs: those that ended well, and of those the clean ones where
    /// each setting has one on every machine that measured it.
    fn observed(
        &self,
        repeats: &[Repeat],
        of: impl Fn(&Measured) -> Option<f64>,
    ) -> Vec<(usize, Observation)> {
        let ended = |at: &usize| repeats[*at].outcome.reason().is_none();
        let cell = |at: usize| (repeats[at].point, self.places[at]);
        let all: Vec<usize> = (0..repeats.len()).filter(ended).collect();
        let clean: Vec<usize> = all.iter().copied().filter(|at| repeats[*at].taints.is_empty()).collect();
        let cells =
            |some: &[usize]| some.iter().map(|at| cell(*at)).collect::<std::collections::BTreeSet<_>>();
        let used = if cells(&clean) == cells(&all) { clean } else { all };
        let observation = |at: usize| {
            let log = of(&repeats[at].measured)?.ln();
            let (setting, machine) = cell(at);
            log.is_finite().then_some((at, Observation { setting, machine, log }))
        };
        used.into_iter().filter_map(observation).collect()
    }

    fn fit(&self, plan: &Plan, repeats: &[Repeat], of: impl Fn(&Measured) -> Option<f64>) -> Option<TwoWay> {
        let times: Vec<Observation> = self.observed(repeats, of).into_iter().map(|(_, time)| time).collect();
        let fits = times.iter().all(|time| time.setting < plan.points());
        // A machine of which nothing is known has no effect, and would leave the others undetermined.
        let met = (0..self.nodes.len()).all(|machine| times.iter().any(|time| time.machine == machine));
        TwoWay::of(&times, plan.points(), self.nodes.len()).filter(|_| fits && met)
    }

    /// Takes the machines' effects out of a time. What remains varies a little less than the noise, since the effects
    /// were taken from the same times; it is spread out again, so that intervals stay as wide as they must be.
    fn even(
        &self,
        fit: &TwoWay,
        repeats: &[Repeat],
        of: impl Fn(&Measured) -> Option<f64>,
        mut stretch: impl FnMut(usize, f64),
    ) {
        let spread = (fit.degrees_alone / fit.degrees).sqrt();
        let used = self.observed(repeats, &of);
        for (at, repeat) in repeats.iter().enumerate() {
            let Some(log) = of(&repeat.measured).map(f64::ln).filter(|log| log.is_finite()) else { continue };
            let own = used.iter().filter(|(_, time)| time.setting == repeat.point);
            let own: Vec<f64> = own.map(|(_, time)| time.log - fit.effects[time.machine]).collect();
            let even = log - fit.effects[self.places[at]];
            let level = crate::statistics::mean(&own).unwrap_or(even);
            stretch(at, (level + (even - level) * spread - log).exp());
        }
    }

    /// Whether settings differ from machine to machine by more than the repeats of a setting on one machine do.
    fn disagree(
        &self,
        fit: &TwoWay,
        plan: &Plan,
        repeats: &[Repeat],
        of: impl Fn(&Measured) -> Option<f64>,
    ) -> bool {
        let times: Vec<Observation> = self.observed(repeats, of).into_iter().map(|(_, time)| time).collect();
        // Each setting on each machine as a setting of its own: nothing but noise is left.
        let cell = |time: &Observation| time.setting * self.nodes.len() + time.machine;
        let (mut sums, mut counts) = (vec![0.0; plan.points() * self.nodes.len()], Vec::new());
        counts.resize(sums.len(), 0.0_f64);
        for time in &times {
            sums[cell(time)] += time.log;
            counts[cell(time)] += 1.0;
        }
        let mean = |time: &Observation| sums[cell(time)] / counts[cell(time)];
        let noise: f64 = times.iter().map(|time| (time.log - mean(time)).powi(2)).sum();
        let degrees = times.len() as f64 - counts.iter().filter(|count| **count > 0.0).count() as f64;
        let more_degrees = fit.degrees - degrees;
        if degrees < 1.0 || more_degrees < 1.0 || noise <= 0.0 {
            return false;
        }
        let more = (fit.squares - noise).max(0.0) / more_degrees;
        variance_ratio_above(more / (noise / degrees), more_degrees, degrees) < CHANCE
    }
}

#[cfg(test)]
mod tests;
