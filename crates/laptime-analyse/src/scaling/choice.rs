//! Choice: which shape explains the spots, by cross-validation on the means of repeats.

use super::axis::Axis;
use super::candidate::fitted;
use super::model::{Model, Shape};
use super::points::Spot;
use crate::statistics::{mean, t_width, variance};

/// A law that is closer than this to the points, relative and root mean square, is not replaced by another:
/// nobody acts on less, and no program follows a formula more closely.
pub(super) const MATERIAL: f64 = 0.01;
/// The share of the misses at unseen points that a richer law may leave of a simpler one's. In simulations
/// with points 3 % off their law in every repeat, as programs are, 61-67 % of the constants were found where any
/// gain was enough, and 87-91 % where half of the misses had to go.
const POINTS_GAIN: f64 = 0.5;
/// How sure a difference must be: about 1.3 standard errors. At one, the usual rule, chance alone called up to
/// 4 % of planted constants something else.
const SURE: f64 = 0.8;

/// A shape and how well it predicted what it had not seen.
struct Scored {
    shape: Shape,
    /// How far each block left out was from what the others predicted.
    losses: Vec<f64>,
    /// How far the points left out were, in all; `None` where the others do not determine the shape.
    unseen: Option<f64>,
}

/// The simplest shape that no other one clearly beats.
///
/// Two votes are needed to beat it. The repeats left out must be predicted better by more than the
/// standard error of the difference: else it is noise. And the points left out must be predicted better, too: every
/// program leaves its law by some per cent at every point, the same in all repeats, and a richer shape that
/// only bends towards those predicts no other point.
pub(super) fn chosen(spots: &[Spot], axis: Axis) -> Option<Shape> {
    let mut scored: Vec<Scored> = axis.models().iter().filter_map(|model| score(*model, spots)).collect();
    scored.sort_by_key(|candidate| candidate.shape.model);
    let beaten = |(at, candidate): &(usize, &Scored)| {
        scored[at + 1..].iter().any(|richer| candidate.is_beaten_by(richer))
    };
    let (_, simplest) = scored.iter().enumerate().find(|candidate| !beaten(candidate))?;
    Some(simplest.shape)
}

impl Scored {
    fn is_beaten_by(&self, richer: &Self) -> bool {
        let predicts_points = match (self.unseen, richer.unseen) {
            (Some(own), Some(other)) => other < POINTS_GAIN * own,
            // Two points cannot do without either; then the repeats alone decide.
            _ => true,
        };
        predicts_points && clearly_worse(&self.losses, &richer.losses)
    }
}

/// Whether the first losses exceed the second by more than the error of their difference, and by enough to
/// matter.
fn clearly_worse(losses: &[f64], best: &[f64]) -> bool {
    let differences: Vec<f64> = losses.iter().zip(best).map(|(loss, best)| loss - best).collect();
    let (Some(excess), count) = (mean(&differences), differences.len() as f64) else { return false };
    let Some(variance) = variance(&differences) else { return false };
    let error = t_width(SURE, count - 1.0) * (variance / count).sqrt();
    excess > error && excess > MATERIAL.powi(2)
}

/// The shape through all spots, scored on repeats that were left out one round after the other.
///
/// Where no point was repeated, the points left out stand for them. `None` where some part of the spots does
/// not determine the shape.
fn score(model: Model, spots: &[Spot]) -> Option<Scored> {
    let shape = fitted(model, spots).filter(|shape| is_seen(shape, spots))?;
    let repeats = spots.iter().map(|spot| spot.blocks.len()).max()?;
    let points = point_losses(model, spots);
    let unseen = points.as_ref().map(|losses| losses.iter().sum());
    let losses = if repeats > 1 { repeat_losses(model, spots, repeats) } else { points };
    Some(Scored { shape, losses: losses?, unseen })
}

/// Whether there are enough points to distinguish the shape from simpler ones, for a hinge two on its flat part.
fn is_seen(shape: &Shape, spots: &[Spot]) -> bool {
    let flat = shape.model != Model::Hinge || spots.get(1).is_some_and(|spot| shape.bend >= spot.x);
    flat && spots.len() >= shape.model.points_needed()
}

fn repeat_losses(model: Model, spots: &[Spot], repeats: usize) -> Option<Vec<f64>> {
    let mut losses = Vec::new();
    for repeat in 0..repeats {
        let seen: Vec<Spot> = spots.iter().map(|spot| spot.without(repeat)).collect();
        let shape = fitted(model, &seen)?;
        let unseen = spots.iter().filter(|spot| spot.blocks.len() > 1);
        losses.extend(unseen.filter_map(|spot| {
            let block = spot.blocks.get(repeat)?;
            Some(block.weight * miss(block.mean, shape.at(spot.x)))
        }));
    }
    Some(losses)
}

/// How far a time is from what was predicted: the logarithm of their ratio, squared. Twice and half as long miss
/// by the same, so that one repeat that a burst hit does not outweigh all others.
fn miss(time: f64, predicted: f64) -> f64 {
    (time / predicted.max(1e-3 * time)).ln().powi(2)
}

fn point_losses(model: Model, spots: &[Spot]) -> Option<Vec<f64>> {
    let loss = |unseen: usize| {
        let mut seen = spots.to_vec();
        let spot = seen.remove(unseen);
        let shape = fitted(model, &seen)?;
        Some(spot.weight * miss(spot.y, shape.at(spot.x)))
    };
    (0..spots.len()).map(loss).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_within_the_error_or_too_small_to_matter_is_not_clearly_worse() {
        let better = [0.0; 6];
        assert!(clearly_worse(&[0.1; 6], &better));
        assert!(!clearly_worse(&[0.3, -0.3, 0.3, -0.3, 0.3, -0.2], &better), "noise");
        assert!(!clearly_worse(&[9e-5; 6], &better), "below one per cent");
        assert!(!clearly_worse(&[0.1], &[0.0]), "one difference has no error");
    }
}
