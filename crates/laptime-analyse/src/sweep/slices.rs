//! Slices of the grid: the points that differ along one axis and agree in all others.

use super::plan::Plan;

/// The points along one axis, all others held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    /// Which axis.
    pub(super) axis: usize,
    /// The points, one for each value of the axis, in its order.
    pub(super) points: Vec<usize>,
}

/// Every slice along an axis.
pub(super) fn slices(plan: &Plan, axis: usize) -> Vec<Slice> {
    let mut found: Vec<(Vec<usize>, Slice)> = Vec::new();
    for point in 0..plan.points() {
        let mut held = plan.places(point);
        held.remove(axis);
        match found.iter_mut().find(|(others, _)| *others == held) {
            Some((_, slice)) => slice.points.push(point),
            None => found.push((held, Slice { axis, points: vec![point] })),
        }
    }
    found.into_iter().map(|(_, slice)| slice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::planted::plan;

    #[test]
    fn slices_along_an_axis_hold_the_others() {
        let plan = plan(&[("a", &["1", "2"]), ("b", &["x", "y", "z"])]);
        let points = |axis| slices(&plan, axis).into_iter().map(|slice| slice.points).collect::<Vec<_>>();
        assert_eq!(points(0), [[0, 3], [1, 4], [2, 5]]);
        assert_eq!(points(1), [[0, 1, 2], [3, 4, 5]]);
    }
}
