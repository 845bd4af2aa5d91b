//! Host: what the thread that takes the steps did lately, so that any stretch of it can be told by stage.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use laptime_core::{StageId, Ticks};

use super::interval::{Interval, merged};

/// Spans kept; older ones are forgotten, and a stretch that old is told by what is left.
const MOST_SPANS: usize = 2_048;
/// Steps kept.
const MOST_STEPS: usize = 256;

/// One span that ended.
#[derive(Clone, Copy, Debug)]
struct Passed {
    stage: StageId,
    time: Interval,
}

/// One step that ended, and the fit it was of.
#[derive(Clone, Copy, Debug)]
struct Step {
    time: Interval,
    fit: u32,
}

/// The newest spans and steps of a thread, in the order they ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    spans: VecDeque<Passed>,
    steps: VecDeque<Step>,
    /// The fit that is open, or was last.
    fit: u32,
    /// Steps that ended, forgotten ones too.
    pub(super) step_count: u32,
    /// When the first step began.
    pub(super) first_step: Option<Ticks>,
}

impl Host {
    pub(super) fn take_span(&mut self, stage: StageId, start: Ticks, end: Ticks) {
        if self.spans.len() >= MOST_SPANS {
            self.spans.pop_front();
        }
        self.spans.push_back(Passed { stage, time: Interval::new(start, end) });
    }

    /// Steps from here on are of this fit.
    pub(super) fn begin_fit(&mut self, fit: u32) {
        self.fit = fit;
    }

    /// Takes a step; gives the end of the step before, up to which everything is known.
    pub(super) fn take_step(&mut self, start: Ticks, end: Ticks) -> Option<Ticks> {
        let before = self.steps.back().map(|step| step.time.end);
        self.first_step.get_or_insert(start);
        self.step_count = self.step_count.saturating_add(1);
        if self.steps.len() >= MOST_STEPS {
            self.steps.pop_front();
        }
        self.steps.push_back(Step { time: Interval::new(start, end), fit: self.fit });
        before
    }

    /// The number of the step an instant lies in, and its fit; the next one's where it lies between two.
    pub(super) fn step_at(&self, at: Ticks) -> (u32, u32) {
        let first = self.steps.partition_point(|step| step.time.end <= at);
        let later = self.steps.len() - first;
        let fit = self.steps.get(first).map_or(self.fit, |step| step.fit);
        (self.step_count.saturating_sub(later as u32), fit)
    }

    /// Whether an evaluation was open.
    pub(super) fn evaluates(&self, at: Ticks) -> bool {
        self.after(at).any(|span| span.stage == StageId::EVALUATE && span.time.start <= at)
    }

    /// When the host stood still for others, from an instant on: its `communication` spans, and within a backward
    /// pass what follows the last collective issued in it, since its gradients are all given away by then.
    pub(super) fn blocked(&self, from: Ticks, issued: &[Ticks]) -> Vec<Interval> {
        let tail = |span: &Passed| {
            let last = issued.partition_point(|at| *at <= span.time.end);
            let last = *issued.get(last.checked_sub(1)?)?;
            (last > span.time.start).then(|| Interval::new(last, span.time.end))
        };
        let blocked = self.after(from).filter_map(|span| match span.stage {
            StageId::COMMUNICATION => Some(span.time),
            StageId::BACKWARD => tail(span),
            _ => None,
        });
        merged(blocked.collect())
    }

    /// Exclusive time of each stage in a stretch; what no span claims is unaccounted.
    pub(super) fn stages(&self, stretch: Interval, stages: &mut BTreeMap<StageId, u64>) {
        let inside = self.after(stretch.start).filter(|span| span.time.start < stretch.end);
        let mut spans: Vec<Passed> =
            inside.map(|span| Passed { time: span.time.common(&stretch), ..*span }).collect();
        spans.sort_by_key(|span| (span.time.start, Reverse(span.time.end)));
        let whole = Passed { stage: StageId::UNACCOUNTED, time: stretch };
        let (mut open, mut now) = (vec![whole], stretch.start);
        for mut span in spans {
            while let Some(top) = open.pop_if(|top| top.time.end <= span.time.start) {
                *stages.entry(top.stage).or_default() += top.time.end.since(now).0;
                now = now.max(top.time.end);
            }
            if let Some(top) = open.last() {
                *stages.entry(top.stage).or_default() += span.time.start.since(now).0;
                if top.stage.absorbs_children() {
                    span.stage = top.stage;
                }
            }
            now = now.max(span.time.start);
            open.push(span);
        }
        while let Some(top) = open.pop() {
            *stages.entry(top.stage).or_default() += top.time.end.since(now).0;
            now = now.max(top.time.end);
        }
    }

    /// Spans that ended after an instant.
    fn after(&self, at: Ticks) -> impl Iterator<Item = &Passed> {
        let first = self.spans.partition_point(|span| span.time.end <= at);
        self.spans.range(first..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(host: &Host, start: u64, end: u64) -> Vec<(StageId, u64)> {
        let mut stages = BTreeMap::new();
        host.stages(Interval::new(Ticks(start), Ticks(end)), &mut stages);
        stages.into_iter().filter(|(_, ticks)| *ticks > 0).collect()
    }

    #[test]
    fn a_stretch_is_told_by_the_innermost_stage_and_adds_up() {
        let mut host = Host::default();
        for (stage, start, end) in [
            (StageId::FORWARD, 10, 20),
            (StageId::GARBAGE_COLLECTION, 30, 33),
            (StageId::BACKWARD, 25, 50),
            (StageId::FORWARD, 62, 64),
            (StageId::EVALUATE, 60, 70),
        ] {
            host.take_span(stage, Ticks(start), Ticks(end));
        }
        assert_eq!(
            told(&host, 15, 40),
            [
                (StageId::UNACCOUNTED, 5),
                (StageId::FORWARD, 5),
                (StageId::BACKWARD, 12),
                (StageId::GARBAGE_COLLECTION, 3)
            ]
        );
        assert_eq!(told(&host, 55, 75), [(StageId::UNACCOUNTED, 10), (StageId::EVALUATE, 10)]);
        assert!(host.evaluates(Ticks(61)) && !host.evaluates(Ticks(40)));
    }

    #[test]
    fn the_host_stands_still_in_communication_and_behind_the_last_collective_of_a_backward_pass() {
        let mut host = Host::default();
        host.take_span(StageId::BACKWARD, Ticks(10), Ticks(40));
        host.take_span(StageId::COMMUNICATION, Ticks(50), Ticks(60));
        host.take_span(StageId::BACKWARD, Ticks(70), Ticks(90));
        let blocked = host.blocked(Ticks(0), &[Ticks(20), Ticks(30), Ticks(51)]);
        assert_eq!(blocked, [Interval::new(Ticks(30), Ticks(40)), Interval::new(Ticks(50), Ticks(60))]);
    }

    #[test]
    fn an_instant_lies_in_the_step_that_ends_after_it() {
        let mut host = Host::default();
        assert_eq!(host.take_step(Ticks(0), Ticks(10)), None);
        assert_eq!(host.take_step(Ticks(10), Ticks(20)), Some(Ticks(10)));
        assert_eq!([5, 10, 15, 25].map(|at| host.step_at(Ticks(at)).0), [0, 1, 1, 2]);
    }
}
