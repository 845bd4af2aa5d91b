//! Points: what was measured along one axis, as means of independent repeats.

use crate::statistics::mean;

/// The mean over the steady steps of one repeat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Seconds.
    pub mean: f64,
    /// How much it counts beside the other blocks; only ratios matter.
    pub weight: f64,
}

impl Block {
    /// A block that counts as much as every other.
    #[must_use]
    pub fn new(mean: f64) -> Self {
        Self { mean, weight: 1.0 }
    }
}

/// What was measured at one value of the axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The value of the axis.
    pub x: f64,
    /// Independent repeats, in the order they were made.
    pub blocks: Vec<Block>,
}

impl Point {
    /// A point from the mean of each repeat, all of the same weight.
    #[must_use]
    pub fn new(x: f64, means: &[f64]) -> Self {
        Self { x, blocks: means.iter().copied().map(Block::new).collect() }
    }
}

/// A point as the fits see it.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub(super) x: f64,
    /// Weighted mean of the blocks, seconds; above zero.
    pub(super) y: f64,
    /// Sum of the blocks' weights, which are one on average over all spots.
    pub(super) weight: f64,
    pub(super) blocks: Vec<Block>,
}

impl Spot {
    fn of(x: f64, blocks: Vec<Block>) -> Option<Self> {
        let weight: f64 = blocks.iter().map(|block| block.weight).sum();
        let y = blocks.iter().map(|block| block.weight * block.mean).sum::<f64>() / weight;
        (!blocks.is_empty() && y > 0.0).then_some(Self { x, y, weight, blocks })
    }

    /// The spot without one of its repeats; itself where that is the only one or there is none such.
    pub(super) fn without(&self, repeat: usize) -> Self {
        if self.blocks.len() < 2 || repeat >= self.blocks.len() {
            return self.clone();
        }
        let mut blocks = self.blocks.clone();
        blocks.remove(repeat);
        Self::of(self.x, blocks).unwrap_or_else(|| self.clone())
    }

    /// Weighted squares of the distances of the blocks from their mean, relative to it.
    pub(super) fn scatter(&self) -> f64 {
        self.blocks.iter().map(|block| block.weight * (block.mean / self.y - 1.0).powi(2)).sum()
    }
}

/// The points in ascending order, those of the same `x` put together, what is not a time left out.
pub(super) fn spots(points: &[Point]) -> Vec<Spot> {
    let usable = |block: &&Block| {
        block.mean.is_finite() && block.mean > 0.0 && block.weight.is_finite() && block.weight > 0.0
    };
    let mut gathered: Vec<(f64, Vec<Block>)> = Vec::new();
    for point in points.iter().filter(|point| point.x.is_finite()) {
        let blocks = point.blocks.iter().filter(usable).copied();
        match gathered.iter_mut().find(|(x, _)| *x == point.x) {
            Some((_, known)) => known.extend(blocks),
            None => gathered.push((point.x, blocks.collect())),
        }
    }
    gathered.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: Vec<f64> = gathered.iter().flat_map(|(_, blocks)| blocks).map(|block| block.weight).collect();
    let usual = mean(&all).unwrap_or(1.0);
    gathered.iter_mut().flat_map(|(_, blocks)| blocks).for_each(|block| block.weight /= usual);
    gathered.into_iter().filter_map(|(x, blocks)| Spot::of(x, blocks)).collect()
}

/// How many blocks there are in all.
pub(super) fn count(spots: &[Spot]) -> usize {
    spots.iter().map(|spot| spot.blocks.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spots_are_sorted_joined_and_free_of_what_is_not_a_time() {
        let points = [
            Point::new(8.0, &[3.0, f64::NAN]),
            Point::new(2.0, &[1.0, -1.0]),
            Point::new(8.0, &[5.0]),
            Point::new(f64::INFINITY, &[1.0]),
            Point::new(4.0, &[]),
        ];
        let found: Vec<_> = spots(&points).iter().map(|spot| (spot.x, spot.y, spot.blocks.len())).collect();
        assert_eq!(found, [(2.0, 1.0, 1), (8.0, 4.0, 2)]);
    }

    #[test]
    fn weights_count_by_their_ratio() {
        let blocks = vec![Block { mean: 1.0, weight: 30.0 }, Block { mean: 2.0, weight: 10.0 }];
        let found = spots(&[Point { x: 1.0, blocks }]);
        assert_eq!((found[0].y, found[0].weight), (1.25, 2.0));
    }

    #[test]
    fn the_only_repeat_is_never_left_out() {
        let found = spots(&[Point::new(1.0, &[2.0]), Point::new(2.0, &[2.0, 4.0])]);
        assert_eq!(found[0].without(0).y, 2.0);
        assert_eq!(found[1].without(0).y, 4.0);
        assert_eq!(found[1].without(7).y, 3.0);
    }
}
