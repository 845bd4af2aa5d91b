//! Real commands on a machine whose load is scripted.

use laptime_analyse::sweep::{Goal, Parameter, PointStatus, SweepStatus};
use laptime_core::MachineReading;
use laptime_launch::{Attach, Blocked};

use super::*;
use crate::command::sweep::conduct::{World, conduct};
use crate::command::sweep::state::SweepState;

/// A machine on which somebody else is busy during every second repeat.
#[derive(Default)]
struct BusyByTurns {
    readings: u32,
    busy_s: f64,
}

impl Machine for BusyByTurns {
    fn read(&mut self) -> MachineReading {
        // Each repeat reads twice: before and after.
        if self.readings % 4 == 3 {
            self.busy_s += 1000.0;
        }
        self.readings += 1;
        MachineReading { cpus: 2, busy_s: Some(self.busy_s), ..MachineReading::default() }
    }
}

struct Bench<'a>(Executor<'a>);

impl World for Bench<'_> {
    fn measure(&mut self, state: &SweepState, turn: Turn, limit: Option<Duration>) -> Attempt {
        self.0.measure(&state.plan, turn, limit, &mut || ())
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn keep(&mut self, _: &SweepState) {}
}

#[test]
fn a_sweep_with_a_crash_a_hang_and_a_load_half_of_the_time_ends_right() {
    let folder = tempfile::tempdir().unwrap();
    let script = "case {x} in 2) echo boom >&2; exit 3;; 4) sleep 1000;; esac";
    let values = (1..=5).map(|value| value.to_string()).collect();
    let plan = Plan {
        parameters: vec![Parameter { name: "x".into(), values }],
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        seed: 1,
        goal: Goal { fewest: 2, most: 2, precision: 0.03, min_time_s: 0.0 },
        target: None,
    };
    let mut state = SweepState::new("test", 0, plan);
    state.limits.timeout_s = Some(2.0);
    let signals = Blocked::all();
    let apart = Apart { signals: &signals, watcher: None };
    let machine = Box::new(BusyByTurns::default());
    let runs = folder.path().to_owned();
    conduct(
        &mut state,
        &mut Bench(Executor { runs, apart, attach: Attach { hooks: true, ..Attach::default() }, machine }),
    );
    assert_eq!(state.status, SweepStatus::Finished);
    let points = state.document().points;
    let outcomes: Vec<(PointStatus, Option<&str>)> =
        points.iter().map(|point| (point.status, point.reason.as_deref())).collect();
    let well = (PointStatus::Finished, None);
    let crash = (PointStatus::Failed, Some("exit code 3: boom"));
    let hang = (PointStatus::TimedOut, Some("timed out after 2.00 s"));
    assert_eq!(outcomes, [well, crash, well, hang, well]);
    let tainted: Vec<bool> = state.repeats.iter().map(|repeat| !repeat.taints.is_empty()).collect();
    assert!(tainted.iter().enumerate().all(|(at, tainted)| *tainted == (at % 2 == 1)), "{tainted:?}");
    for at in [0, 2, 4] {
        let clean = points[at].tried - points[at].tainted_repeats;
        assert!(clean >= 2 && !points[at].tainted, "{:?}", points[at]);
    }
}
