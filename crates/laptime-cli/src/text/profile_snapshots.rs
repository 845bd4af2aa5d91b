//! Hot functions as people see them.

use laptime_analyse::*;
use laptime_core::ProfileTrouble;

use super::profile::{profile_summary, profile_text};
use super::sample::nothing;
use super::style::Style;

/// A run with loader workers whose stacks were sampled.
fn profiled() -> Report {
    let share = |mean: f64, half: f64| Estimate {
        mean,
        low: (mean - half).max(0.0),
        high: (mean + half).min(1.0),
        level: 0.95,
    };
    let function = |name: &str, file: &str, own: f64, total: f64, waiting| ProfileFunction {
        name: name.into(),
        file: file.into(),
        line: 14,
        samples: (own * 400.0) as u64,
        own: share(own, 0.03),
        total: share(total, 0.02),
        waiting,
    };
    let stage = |stage: Option<&str>, mean, functions| ProfileStage {
        stage: stage.map(str::to_owned),
        samples: 400,
        share: share(mean, 0.01),
        functions,
    };
    let torch = "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py";
    let select = "_PollLikeSelectorWithAnExtremelyLongName.select";
    let training = vec![
        stage(
            Some("data_wait"),
            0.61,
            vec![
                function(select, "/usr/lib/python3.12/selectors.py", 0.92, 0.92, 0.98),
                function("Queue.get", "/usr/lib/python3.12/queue.py", 0.05, 0.97, 0.0),
                function("<module>", "/home/me/train.py", 0.0, 1.0, 0.0),
            ],
        ),
        stage(Some("forward"), 0.3, vec![function("Linear.forward", torch, 0.88, 0.88, 0.0)]),
        stage(Some("checkpoint"), 0.001, vec![function("save", "/home/me/train.py", 1.0, 1.0, 0.0)]),
    ];
    let loading = vec![
        stage(Some("idle"), 0.6, vec![function("get", "/usr/lib/python3.12/queue.py", 1.0, 1.0, 1.0)]),
        stage(Some("fetch"), 0.4, vec![function("Rows.decode", "/home/me/train.py", 0.97, 0.99, 0.0)]),
    ];
    let others = vec![stage(None, 1.0, vec![function("Thread.wait", "/x/threading.py", 1.0, 1.0, 1.0)])];
    let part = |part, stages| ProfilePart { part, rank: 0, samples: 1200, stages };
    let profile = ProfileReport {
        rate_hz: 97.0,
        samples: 2412,
        unread: 3,
        cost: Some(SamplingCost { cpu_s: 0.0412, wall_s: 13.3, share: 0.0031 }),
        parts: vec![
            part(SampledPart::Training, training),
            part(SampledPart::LoaderWorkers, loading),
            part(SampledPart::Others, others),
        ],
        troubles: Vec::new(),
    };
    Report { profile: Some(profile), ..nothing() }
}

#[test]
fn the_summary_has_the_first_functions_of_the_large_stages() {
    insta::assert_snapshot!(profile_summary(&profiled(), &Style::default()), @r"
    stage      function                      where             itself  in all  waits
    data wait  _PollLikeSelectorWithAnExtr…  selectors.py:14  92 ±4 %    92 %   98 %
               Queue.get                     queue.py:14       5 ±3 %    97 %    0 %
    forward    Linear.forward                linear.py:14     88 ±4 %    88 %    0 %
    in the loader workers:
    fetch      Rows.decode                   train.py:14      97 ±4 %    99 %    0 %
    shares of a stage's time, ± at 95 %, from 2,412 samples, 3 unreadable; sampling
      cost 0.31 % of one CPU (41.2 ms in 13.3 s)
    ");
}

#[test]
fn the_report_has_more_of_them_and_the_other_threads() {
    insta::assert_snapshot!(profile_text(&profiled(), &Style::default()), @r"
    stage      function                     where              itself  in all  waits
    data wait  _PollLikeSelectorWithAnExt…  selectors.py:14   92 ±4 %    92 %   98 %
               Queue.get                    queue.py:14        5 ±3 %    97 %    0 %
    forward    Linear.forward               linear.py:14      88 ±4 %    88 %    0 %
    in the loader workers:
    idle       get                          queue.py:14      100 ±2 %   100 %  100 %
    fetch      Rows.decode                  train.py:14       97 ±4 %    99 %    0 %
    in other threads and processes:
    no stage   Thread.wait                  threading.py:14  100 ±2 %   100 %  100 %
    shares of a stage's time, ± at 95 %, from 2,412 samples, 3 unreadable; sampling
      cost 0.31 % of one CPU (41.2 ms in 13.3 s)
    ");
}

#[test]
fn what_could_not_be_sampled_is_said_with_a_hint_and_without_shares() {
    let troubles = vec![
        ProfileTrouble::NoPython,
        ProfileTrouble::Forbidden { pid: 4711, because: "Operation not permitted (os error 1)".into() },
        ProfileTrouble::UnknownPython { version: "3.14".into() },
        ProfileTrouble::Slowed { rate_mhz: 38_200 },
        ProfileTrouble::Full,
    ];
    let mut report = profiled();
    if let Some(profile) = &mut report.profile {
        (profile.parts, profile.samples, profile.troubles) = (Vec::new(), 0, troubles);
    }
    insta::assert_snapshot!(profile_text(&report, &Style::default()), @r"
    sampling cost 0.31 % of one CPU (41.2 ms in 13.3 s)
    warning: cannot tell hot functions, because no Python process was found;
      --profile reads Python 3.11 to 3.13
    warning: cannot tell the hot functions of process 4711, because its memory may
      not be read: Operation not permitted (os error 1); in a container, add the
      capability SYS_PTRACE
    warning: cannot tell hot functions, because the memory of Python 3.14 is not
      known; 3.11 to 3.13 are
    warning: the sampling rate was lowered to 38/s a thread to keep the cost small
    warning: too many functions to track; the rest count towards their callers
    ");
    assert_eq!(profile_text(&nothing(), &Style::default()), "");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [40, 60, 80, 100] {
        let style = Style { width, ..Style::default() };
        for text in [profile_text(&profiled(), &style), profile_summary(&profiled(), &style)] {
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        }
    }
}
