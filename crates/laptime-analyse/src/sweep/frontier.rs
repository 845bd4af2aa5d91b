//! The frontier of quality against time: points that nobody beats in both.

use super::document::{Point, PointStatus};

/// The quickest first; each next one takes longer and is better. By accuracy where any point has one, else by
/// loss.
pub(super) fn frontier(points: &[Point]) -> Vec<usize> {
    let by_accuracy = points.iter().any(|point| point.accuracy.is_some());
    let quality = |point: &Point| if by_accuracy { point.accuracy } else { point.loss.map(|loss| -loss) };
    let finished = points.iter().enumerate().filter(|(_, point)| point.status == PointStatus::Finished);
    let mut known: Vec<(usize, f64, f64)> =
        finished.filter_map(|(at, point)| Some((at, trained_s(point)?, quality(point)?))).collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1).then(b.2.total_cmp(&a.2)));
    let mut best = f64::NEG_INFINITY;
    known.retain(|(_, _, quality)| {
        let better = *quality > best;
        best = best.max(*quality);
        better
    });
    known.into_iter().map(|(at, ..)| at).collect()
}

/// How long training took to the last of its course, seconds.
#[must_use]
pub fn trained_s(point: &Point) -> Option<f64> {
    point.course.last().map(|moment| moment.at_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::repeat::Moment;

    fn point(at_s: f64, accuracy: Option<f64>, loss: f64) -> Point {
        let course = vec![Moment { at_s, ..Moment::default() }];
        Point { status: PointStatus::Finished, accuracy, loss: Some(loss), course, ..Point::default() }
    }

    #[test]
    fn who_is_beaten_in_time_and_accuracy_is_not_on_it() {
        let points = [point(3.0, Some(0.9), 1.0), point(1.0, Some(0.7), 1.0), point(2.0, Some(0.6), 0.1)];
        assert_eq!(frontier(&points), [1, 0]);
        let by_loss = [point(3.0, None, 0.2), point(1.0, None, 0.5), point(2.0, None, 0.6)];
        assert_eq!(frontier(&by_loss), [1, 0]);
        assert!(frontier(&[Point::default()]).is_empty());
    }
}
