//! Intervals: stretches of one clock, and how much of one lies in others.

use laptime_core::Ticks;

/// From one instant to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Interval {
    pub(super) start: Ticks,
    pub(super) end: Ticks,
}

impl Interval {
    pub(super) fn new(start: Ticks, end: Ticks) -> Self {
        Self { start, end: end.max(start) }
    }

    pub(super) fn length(&self) -> u64 {
        self.end.since(self.start).0
    }

    /// What it has in common with another.
    pub(super) fn common(&self, other: &Self) -> Self {
        Self::new(self.start.max(other.start), self.end.min(other.end))
    }
}

/// The same time as intervals in order that do not overlap.
pub(super) fn merged(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.sort();
    let mut apart: Vec<Interval> = Vec::with_capacity(intervals.len());
    for one in intervals {
        match apart.last_mut().filter(|last| one.start <= last.end) {
            Some(last) => last.end = last.end.max(one.end),
            None => apart.push(one),
        }
    }
    apart
}

/// The parts of some intervals, in order and apart, that lie in another.
pub(super) fn within<'a>(apart: &'a [Interval], outer: Interval) -> impl Iterator<Item = Interval> + use<'a> {
    let first = apart.partition_point(|one| one.end <= outer.start);
    let inside = apart[first..].iter().take_while(move |one| one.start < outer.end);
    inside.map(move |one| one.common(&outer))
}

/// What of an interval lies in none of some others, which are in order and apart.
pub(super) fn outside(apart: &[Interval], outer: Interval) -> Vec<Interval> {
    let mut rest = Vec::new();
    let mut from = outer.start;
    for one in within(apart, outer) {
        rest.push(Interval::new(from, one.start));
        from = one.end;
    }
    rest.push(Interval::new(from, outer.end));
    rest.retain(|part| part.length() > 0);
    rest
}

/// The length of some intervals together.
pub(super) fn total(intervals: impl Iterator<Item = Interval>) -> u64 {
    intervals.map(|one| one.length()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(start: u64, end: u64) -> Interval {
        Interval::new(Ticks(start), Ticks(end))
    }

    #[test]
    fn what_lies_in_others_and_what_does_not_add_up() {
        let apart = merged(vec![of(30, 40), of(0, 10), of(5, 12), of(40, 45)]);
        assert_eq!(apart, [of(0, 12), of(30, 45)]);
        assert_eq!(within(&apart, of(10, 35)).collect::<Vec<_>>(), [of(10, 12), of(30, 35)]);
        assert_eq!(outside(&apart, of(10, 50)), [of(12, 30), of(45, 50)]);
        let whole = of(3, 44);
        assert_eq!(total(within(&apart, whole)) + total(outside(&apart, whole).into_iter()), whole.length());
    }
}
