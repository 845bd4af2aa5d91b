//! Which point to measure next: rounds in random order, until every point is known well enough.
//!
//! The answer follows from the plan and the repeats made so far alone, so a sweep that was interrupted goes
//! on as if it had not been.

use super::estimate::Repeated;
use super::machines::evened;
use super::plan::{Goal, Plan};
use super::repeat::Repeat;

/// The next repeat to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The round it belongs to.
    pub round: u32,
    /// The point of the grid.
    pub point: usize,
}

/// The next repeat; `None` when every point is measured well enough.
#[must_use]
pub fn next_turn(plan: &Plan, repeats: &[Repeat]) -> Option<Turn> {
    next_turn_on(plan, repeats, &[], None)
}

/// The next repeat for a machine while others are being made: of the earliest round that wants some, one of a point
/// that this machine measured least often, so that machines come to share the points among them. Among those, and for
/// a machine that made all, the order is that of [`next_turn`]. `None` when nothing is to be made until those end.
#[must_use]
pub fn next_turn_on(
    plan: &Plan,
    repeats: &[Repeat],
    running: &[Turn],
    machine: Option<&str>,
) -> Option<Turn> {
    let even = evened(plan, repeats);
    let of_points = by_point(plan, &even);
    let round_of = |(point, own): (usize, &Vec<&Repeat>)| {
        let runs = running.iter().any(|turn| turn.point == point);
        let next = own.iter().map(|repeat| repeat.round + 1).max().unwrap_or(0);
        (!runs && wants_more(&plan.goal, own)).then_some(next)
    };
    let rounds: Vec<Option<u32>> = of_points.iter().enumerate().map(round_of).collect();
    let round = rounds.iter().flatten().copied().min()?;
    let mut wanted = shuffled(plan.points(), plan.seed, round);
    wanted.retain(|point| rounds[*point] == Some(round));
    let made_here = |point: &usize| {
        let here = |repeat: &&&Repeat| repeat.node.as_ref().map(|node| node.machine.as_str()) == machine;
        of_points[*point].iter().filter(here).count()
    };
    // The first of the least.
    wanted.into_iter().min_by_key(made_here).map(|point| Turn { round, point })
}

/// Repeats that count towards the goal of a point.
///
/// A tainted one does not, for as many as the point needs at least; beyond that the machine is what it is.
fn counted(goal: &Goal, repeats: &[&Repeat]) -> u32 {
    let tainted = repeats.iter().filter(|repeat| !repeat.taints.is_empty()).count();
    let forgiven = tainted.min(goal.fewest as usize);
    u32::try_from(repeats.len() - forgiven).unwrap_or(u32::MAX)
}

/// Whether a point is to be measured again. One that failed is not.
fn wants_more(goal: &Goal, repeats: &[&Repeat]) -> bool {
    if repeats.iter().any(|repeat| repeat.outcome.reason().is_some()) {
        return false;
    }
    match counted(goal, repeats) {
        counted if counted < goal.fewest => true,
        counted if counted >= goal.most => false,
        _ => too_short(goal, repeats) || too_wide(goal, repeats),
    }
}

fn too_short(goal: &Goal, repeats: &[&Repeat]) -> bool {
    repeats.iter().map(|repeat| repeat.measured.wall_s).sum::<f64>() < goal.min_time_s
}

fn too_wide(goal: &Goal, repeats: &[&Repeat]) -> bool {
    let times: Vec<f64> = trusted(goal, repeats).0.iter().map(|repeat| repeat.measured.finest_s()).collect();
    let precision = Repeated::of(&times).and_then(|mean| mean.precision());
    precision.is_none_or(|precision| precision > goal.precision)
}

/// The repeats a point's means rest on, and whether those are tainted: the clean ones where they suffice
/// for an interval, else all.
pub(crate) fn trusted<'a>(goal: &Goal, repeats: &[&'a Repeat]) -> (Vec<&'a Repeat>, bool) {
    let finished = || repeats.iter().copied().filter(|repeat| repeat.outcome.reason().is_none());
    let clean: Vec<&Repeat> = finished().filter(|repeat| repeat.taints.is_empty()).collect();
    let all: Vec<&Repeat> = finished().collect();
    if clean.len() == all.len() || clean.len() >= goal.fewest.clamp(1, 2) as usize {
        (clean, false)
    } else {
        (all, true)
    }
}

/// The repeats of every point.
pub(super) fn by_point<'a>(plan: &Plan, repeats: &'a [Repeat]) -> Vec<Vec<&'a Repeat>> {
    let mut of_points: Vec<Vec<&Repeat>> = vec![Vec::new(); plan.points()];
    for repeat in repeats.iter().filter(|repeat| repeat.point < plan.points()) {
        of_points[repeat.point].push(repeat);
    }
    of_points
}

/// Seconds the repeats take that are sure to come; a point not yet tried takes as long as the others do.
#[must_use]
pub fn time_left_s(plan: &Plan, repeats: &[Repeat]) -> Option<f64> {
    let of_points = by_point(plan, repeats);
    let mean = |repeats: &mut dyn Iterator<Item = &Repeat>| {
        crate::statistics::mean(&repeats.map(|repeat| repeat.measured.wall_s).collect::<Vec<_>>())
    };
    let usual = mean(&mut repeats.iter())?;
    let of_point = |repeats: &Vec<&Repeat>| {
        if !wants_more(&plan.goal, repeats) {
            return 0.0;
        }
        let missing = plan.goal.fewest.saturating_sub(counted(&plan.goal, repeats)).max(1);
        f64::from(missing) * mean(&mut repeats.iter().copied()).unwrap_or(usual)
    };
    Some(of_points.iter().map(of_point).sum())
}

/// The points in an order of their own for every seed and round.
fn shuffled(points: usize, seed: u64, round: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points).collect();
    let mut random = SplitMix(seed ^ u64::from(round).wrapping_mul(0xd1b5_4a32_d192_ed03));
    for at in (1..points).rev() {
        order.swap(at, (random.next() % (at as u64 + 1)) as usize);
    }
    order
}

/// A small generator of random numbers with good mixing and no state to keep (SplitMix64).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::machine::Taint;
    use crate::sweep::machines::Node;
    use crate::sweep::planted::{failed, finished, plan};
    use proptest::prelude::*;

    fn five() -> Plan {
        plan(&[("x", &["1", "2", "3", "4", "5"])])
    }

    /// Runs a whole sweep, each repeat made by `make`.
    fn conduct(plan: &Plan, mut make: impl FnMut(Turn, usize) -> Repeat) -> Vec<Repeat> {
        let mut repeats = Vec::new();
        while let Some(turn) = next_turn(plan, &repeats) {
            let repeat = make(turn, repeats.len());
            repeats.push(repeat);
            assert!(repeats.len() < 1_000, "it never ends");
        }
        repeats
    }

    fn tries(repeats: &[Repeat], point: usize) -> usize {
        repeats.iter().filter(|repeat| repeat.point == point).count()
    }

    #[test]
    fn every_round_has_every_point_once_in_an_order_of_its_own() {
        let repeats = conduct(&five(), |turn, _| finished(turn, 1.0));
        let order = |round| -> Vec<usize> {
            repeats.iter().filter(|repeat| repeat.round == round).map(|repeat| repeat.point).collect()
        };
        for round in 0..3 {
            let mut points = order(round);
            points.sort_unstable();
            assert_eq!(points, [0, 1, 2, 3, 4]);
        }
        assert!(order(0) != order(1) || order(1) != order(2), "{:?}", order(0));
        assert_eq!(repeats.len(), 15);
    }

    #[test]
    fn a_noisy_point_is_repeated_until_its_interval_is_narrow_and_no_more_than_allowed() {
        let noise = [1.0, 1.3, 0.8, 1.1, 0.9, 1.2];
        let repeats =
            conduct(&five(), |turn, at| finished(turn, if turn.point == 2 { noise[at % 6] } else { 1.0 }));
        assert_eq!([0, 1, 2, 3, 4].map(|point| tries(&repeats, point)), [3, 3, 10, 3, 3]);
    }

    #[test]
    fn a_point_that_fails_is_not_tried_again_and_the_others_go_on() {
        let repeats =
            conduct(&five(), |turn, _| if turn.point == 1 { failed(turn) } else { finished(turn, 1.0) });
        assert_eq!([0, 1, 2].map(|point| tries(&repeats, point)), [3, 1, 3]);
    }

    #[test]
    fn tainted_repeats_are_made_again_but_not_for_ever() {
        let tainted = |turn| Repeat { taints: vec![Taint::OthersBusy], ..finished(turn, 1.0) };
        let always = conduct(&five(), |turn, _| tainted(turn));
        assert_eq!(tries(&always, 0), 6);
        let first =
            conduct(&five(), |turn, _| if turn.round == 0 { tainted(turn) } else { finished(turn, 1.0) });
        assert_eq!(tries(&first, 0), 4);
    }

    #[test]
    fn means_rest_on_clean_repeats_where_there_are_two() {
        let goal = five().goal;
        let turn = Turn { round: 0, point: 0 };
        let clean = finished(turn, 1.0);
        let tainted = Repeat { taints: vec![Taint::Steal], ..finished(turn, 9.0) };
        let counts = |repeats: &[&Repeat]| {
            let (used, spoiled) = trusted(&goal, repeats);
            (used.len(), spoiled)
        };
        assert_eq!(counts(&[&clean, &tainted, &clean]), (2, false));
        assert_eq!(counts(&[&clean, &tainted, &tainted]), (3, true));
        assert_eq!(counts(&[]), (0, false));
    }

    #[test]
    fn the_minimum_time_of_a_point_is_filled() {
        let mut plan = five();
        plan.goal.min_time_s = 5.0;
        assert_eq!(tries(&conduct(&plan, |turn, _| finished(turn, 1.0)), 0), 5);
    }

    #[test]
    fn the_time_left_counts_what_is_sure_to_come() {
        let plan = five();
        assert_eq!(time_left_s(&plan, &[]), None);
        let one = finished(Turn { round: 0, point: 0 }, 2.0);
        assert_eq!(time_left_s(&plan, &[one]), Some(2.0 * 14.0));
        let all = conduct(&plan, |turn, _| finished(turn, 1.0));
        assert_eq!(time_left_s(&plan, &all), Some(0.0));
    }

    /// Runs a whole sweep on machines side by side; `next` says which of the running repeats ends, and `lost` whether
    /// it has to be made again.
    fn conduct_on(plan: &Plan, machines: usize, mut next: impl FnMut(usize) -> (usize, bool)) -> Vec<Repeat> {
        let (mut repeats, mut running) = (Vec::new(), Vec::<(Turn, usize)>::new());
        loop {
            let idle = (0..machines).filter(|at| !running.iter().any(|(_, on)| on == at)).collect::<Vec<_>>();
            for machine in idle {
                let turns: Vec<Turn> = running.iter().map(|(turn, _)| *turn).collect();
                let turn = next_turn_on(plan, &repeats, &turns, Some(&machine.to_string()));
                running.extend(turn.map(|turn| (turn, machine)));
            }
            if running.is_empty() {
                return repeats;
            }
            let (at, lost) = next(running.len());
            let (turn, machine) = running.remove(at % running.len());
            if !lost {
                let node = Some(Node { machine: machine.to_string(), ..Node::default() });
                repeats.push(Repeat { node, ..finished(turn, 1.0) });
            }
            assert!(repeats.len() < 1_000, "it never ends");
        }
    }

    #[test]
    fn machines_share_the_points_among_them() {
        let repeats = conduct_on(&five(), 3, |_| (0, false));
        for machine in ["0", "1", "2"] {
            let own =
                repeats.iter().filter(|one| one.node.as_ref().is_some_and(|node| node.machine == machine));
            let points: std::collections::BTreeSet<usize> = own.clone().map(|repeat| repeat.point).collect();
            // Fifteen repeats: five each, and hardly any of them of the same point.
            assert!(own.count() == 5 && points.len() >= 4, "machine {machine}: {points:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_ends_first_or_is_lost_the_same_repeats_are_made_and_each_once(
            machines in 1..5_usize,
            ends in proptest::collection::vec((0..5_usize, proptest::bool::weighted(0.2)), 200),
        ) {
            let plan = five();
            let mut ends = ends.into_iter();
            let repeats = conduct_on(&plan, machines, |_| ends.next().unwrap_or((0, false)));
            let mut made: Vec<(u32, usize)> = repeats.iter().map(|one| (one.round, one.point)).collect();
            made.sort_unstable();
            let alone = conduct(&plan, |turn, _| finished(turn, 1.0));
            let mut wanted: Vec<(u32, usize)> = alone.iter().map(|one| (one.round, one.point)).collect();
            wanted.sort_unstable();
            prop_assert_eq!(made, wanted);
        }

        #[test]
        fn one_machine_goes_through_a_sweep_in_the_order_of_one_alone(seed in any::<u64>()) {
            let plan = Plan { seed, ..five() };
            let order = |repeats: Vec<Repeat>| repeats.iter().map(|one| (one.round, one.point)).collect::<Vec<_>>();
            let alone = order(conduct(&plan, |turn, _| finished(turn, 1.0)));
            prop_assert_eq!(order(conduct_on(&plan, 1, |_| (0, false))), alone);
        }

        #[test]
        fn a_sweep_interrupted_anywhere_goes_on_as_if_it_had_not_been(seed in any::<u64>(), stop in 0..15usize) {
            let plan = Plan { seed, ..five() };
            let whole = conduct(&plan, |turn, _| finished(turn, 1.0));
            prop_assert_eq!(next_turn(&plan, &whole[..stop]).map(|turn| (turn.round, turn.point)),
                Some((whole[stop].round, whole[stop].point)));
        }
    }
}
