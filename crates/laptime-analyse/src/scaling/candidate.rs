//! Candidate: the best law of one shape through the spots.

use super::least_squares::{Normal, Row};
use super::model::{Model, Shape};
use super::points::Spot;

/// The exponents a law of time can have; beyond them it is something else.
const EXPONENTS: (f64, f64) = (-4.0, 6.0);
/// Places tried in each gap between two points before the best is refined.
const PLACES: usize = 10;
/// Rounds of golden section: the bracket shrinks by 0.618 in each, 40 leave 1e-8 of it.
const ROUNDS: usize = 40;

/// A shape with how far the spots are from it.
#[derive(Clone, Copy, Debug)]
struct Found {
    shape: Shape,
    loss: f64,
}

/// The best law of that shape: weighted by the square of the time, since timing noise is a share of it.
///
/// The weights first come from the measured times and then from the law itself: a point that happens to be
/// fast must not count for more because of it. `None` where the spots do not determine such a law.
pub(super) fn fitted(model: Model, spots: &[Spot]) -> Option<Shape> {
    if spots.len() < model.unknowns() || spots.iter().any(|spot| !defined_at(model, spot.x)) {
        return None;
    }
    let measured: Vec<f64> = spots.iter().map(|spot| spot.y).collect();
    let first = best(model, spots, &measured)?;
    let expected: Vec<f64> = spots.iter().map(|spot| first.shape.at(spot.x).max(0.2 * spot.y)).collect();
    bent(model, first.shape.bend, spots, &expected).map(|found| found.shape)
}

/// Whether the formula means anything at `x`.
pub(super) fn defined_at(model: Model, x: f64) -> bool {
    match model {
        Model::Constant | Model::Linear | Model::Hinge => true,
        Model::Proportional | Model::Power | Model::Staircase => x > 0.0,
        Model::Usl => x >= 1.0,
    }
}

/// The best law of that shape with a bend that is known.
pub(super) fn with_bend(model: Model, bend: f64, spots: &[Spot]) -> Option<Shape> {
    let measured: Vec<f64> = spots.iter().map(|spot| spot.y).collect();
    bent(model, bend, spots, &measured).map(|found| found.shape)
}

fn best(model: Model, spots: &[Spot], scale: &[f64]) -> Option<Found> {
    let at = |bend: f64| bent(model, bend, spots, scale);
    match model {
        Model::Constant | Model::Proportional | Model::Linear | Model::Usl => at(0.0),
        Model::Power => searched(&exponents(), at),
        Model::Hinge => searched(&knees(spots), at),
        Model::Staircase => {
            let widths = widths(spots);
            let all = widths.into_iter().filter_map(|(low, high)| at(roundest(low, high)));
            all.min_by(|a, b| a.loss.total_cmp(&b.loss))
        }
    }
}

/// The best law with that bend.
fn bent(model: Model, bend: f64, spots: &[Spot], scale: &[f64]) -> Option<Found> {
    let rows = spots
        .iter()
        .zip(scale)
        .map(|(spot, scale)| (model.columns(bend, spot.x), spot.y, spot.weight / scale.powi(2)));
    let normal = Normal::of(model.linear_unknowns(), &rows.collect::<Vec<_>>());
    let linear = match model {
        Model::Usl => normal.solution_above_zero(),
        Model::Linear => normal.solution().and_then(|line| without_debt(line, &normal)),
        _ => normal.solution(),
    }?;
    if !model.admits(&linear) {
        return None;
    }
    let shape = Shape { model, linear, bend };
    let far = spots
        .iter()
        .zip(scale)
        .map(|(spot, scale)| spot.weight * ((spot.y - shape.at(spot.x)) / scale).powi(2));
    Some(Found { loss: far.sum(), shape })
}

/// The line, or where it begins below zero, which no time can, the best one through zero.
fn without_debt(line: Row, normal: &Normal) -> Option<Row> {
    if line[0] < 0.0 { normal.solution_above_zero() } else { Some(line) }
}

/// The best bend: the best of the places, refined between its neighbours by golden section.
fn searched(places: &[f64], at: impl Fn(f64) -> Option<Found>) -> Option<Found> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let loss = |found: &Option<Found>| found.map_or(f64::INFINITY, |found| found.loss);
    let all: Vec<Option<Found>> = places.iter().map(|place| at(*place)).collect();
    let centre = (0..all.len()).min_by(|a, b| loss(&all[*a]).total_cmp(&loss(&all[*b])))?;
    let (mut low, mut high) = (places[centre.saturating_sub(1)], places[(centre + 1).min(places.len() - 1)]);
    let mut best = all[centre];
    for _ in 0..ROUNDS {
        let (left, right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        let (at_left, at_right) = (at(left), at(right));
        if loss(&at_left) <= loss(&at_right) {
            high = right;
        } else {
            low = left;
        }
        best = [at_left, at_right, best].into_iter().min_by(|a, b| loss(a).total_cmp(&loss(b)))?;
    }
    best
}

fn exponents() -> Vec<f64> {
    let (low, high) = EXPONENTS;
    (0..=40).map(|step| low + (high - low) * f64::from(step) / 40.0).collect()
}

/// Places for a knee: at least one point on the flat part and two on the line.
fn knees(spots: &[Spot]) -> Vec<f64> {
    let before_last = &spots[..spots.len() - 1];
    let gaps = before_last.windows(2).flat_map(|pair| {
        let (low, high) = (pair[0].x, pair[1].x);
        (1..PLACES).map(move |step| low + (high - low) * step as f64 / PLACES as f64)
    });
    gaps.collect()
}

/// The ranges of widths within which the points stand on the same stairs.
///
/// A point moves to another stair only at `x / 1`, `x / 2`, …: between two neighbours of those nothing
/// changes. Widths below the closest two points give every point its own stair, which is a line.
pub(super) fn widths(spots: &[Spot]) -> Vec<(f64, f64)> {
    let Some(last) = spots.last() else { return Vec::new() };
    let closest = spots.windows(2).map(|pair| pair[1].x - pair[0].x).fold(f64::INFINITY, f64::min);
    let mut edges: Vec<f64> = Vec::new();
    for spot in spots {
        // A width of at least the closest distance bounds the number of stairs below any point.
        let most = (spot.x / closest).min(512.0) as u32;
        edges.extend((1..=most.max(1)).map(|stairs| spot.x / f64::from(stairs)));
    }
    edges.retain(|edge| *edge >= closest);
    edges.sort_by(f64::total_cmp);
    edges.dedup_by(|a, b| (*a - *b).abs() <= 1e-9 * a.abs());
    let ranges = edges.windows(2).map(|pair| (pair[0], pair[1]));
    ranges.filter(|(low, _)| *low < last.x && shared_stairs(*low, spots)).collect()
}

/// Whether some stair carries two points and there is more than one stair.
fn shared_stairs(width: f64, spots: &[Spot]) -> bool {
    let stair = |spot: &Spot| super::model::stairs(spot.x, width);
    let several = spots.first().map(stair) != spots.last().map(stair);
    several && spots.windows(2).any(|pair| stair(&pair[0]) == stair(&pair[1]))
}

/// The roundest number from `low` up to but not `high`: hardware counts in powers of two.
fn roundest(low: f64, high: f64) -> f64 {
    let mut grain = 2f64.powi(high.max(1.0).log2().floor() as i32);
    while grain >= 1.0 {
        let candidate = (low / grain - 1e-9).ceil() * grain;
        if candidate < high {
            return candidate;
        }
        grain /= 2.0;
    }
    low
}

#[cfg(test)]
mod tests {
    use super::super::points::{Point, spots};
    use super::*;

    fn planted(shape: &Shape, xs: &[f64]) -> Vec<Spot> {
        spots(&xs.iter().map(|x| Point::new(*x, &[shape.at(*x)])).collect::<Vec<_>>())
    }

    #[test]
    fn points_on_a_law_give_that_law_back() {
        let doubling: Vec<f64> = (0..8).map(|step| 8.0 * 2f64.powi(step)).collect();
        let even: Vec<f64> = (1..=16).map(|step| 16.0 * f64::from(step)).collect();
        let workers: Vec<f64> = vec![1.0, 2.0, 3.0, 4.0, 6.0, 8.0];
        let cases = [
            (Model::Constant, [3e-3, 0.0, 0.0], 0.0, &doubling),
            (Model::Proportional, [1.2e-5, 0.0, 0.0], 0.0, &doubling),
            (Model::Linear, [9e-4, 1.2e-5, 0.0], 0.0, &doubling),
            (Model::Power, [2e-5, 0.0, 0.0], 0.73, &doubling),
            (Model::Hinge, [8e-3, 1.7e-4, 0.0], 150.0, &doubling),
            (Model::Staircase, [2e-3, 5e-3, 0.0], 64.0, &even),
            (Model::Usl, [0.2, 0.02, 0.003], 0.0, &workers),
        ];
        for (model, linear, bend, xs) in cases {
            let shape = Shape { model, linear, bend };
            let found = fitted(model, &planted(&shape, xs)).unwrap();
            assert!((found.bend - bend).abs() < 1e-5 * bend.max(1.0), "{found:?} is not {shape:?}");
            for x in xs {
                assert!((found.at(*x) / shape.at(*x) - 1.0).abs() < 1e-6, "{found:?} is not {shape:?}");
            }
        }
    }

    #[test]
    fn a_width_is_the_roundest_that_puts_every_point_on_its_stair() {
        assert_eq!(roundest(60.0, 68.0), 64.0);
        assert_eq!(roundest(64.0, 72.0), 64.0);
        assert_eq!(roundest(41.0, 47.0), 44.0);
        assert_eq!(roundest(0.3, 0.4), 0.3);
    }

    #[test]
    fn a_line_that_would_begin_below_zero_goes_through_zero() {
        let square = Shape { model: Model::Power, linear: [1e-6, 0.0, 0.0], bend: 2.0 };
        let line = fitted(Model::Linear, &planted(&square, &[100.0, 200.0, 400.0])).unwrap();
        assert_eq!(line.linear[0], 0.0);
        assert!(line.linear[1] > 0.0, "{line:?}");
    }

    #[test]
    fn too_few_points_or_points_outside_a_formula_give_no_law() {
        let line = Shape { model: Model::Linear, linear: [1.0, 1.0, 0.0], bend: 0.0 };
        assert!(fitted(Model::Linear, &planted(&line, &[1.0])).is_none());
        assert!(fitted(Model::Hinge, &planted(&line, &[1.0, 2.0])).is_none());
        assert!(fitted(Model::Power, &planted(&line, &[0.0, 1.0, 2.0, 3.0])).is_none());
        assert!(fitted(Model::Usl, &planted(&line, &[0.5, 1.0, 2.0, 3.0])).is_none());
    }
}
