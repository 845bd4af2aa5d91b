//! Comparisons as they look, on made-up numbers that never change.

use laptime_analyse::Estimate;
use laptime_analyse::compare::{
    Alike, Answer, Apart, COMPARE_SCHEMA, Cause, Change, ChangeKind, Check, Comparison, FitRatio, Gate, More,
    Outcome, Pairs, Reference, RunRef, SideSummary, StageChange, Timed,
};
use laptime_core::Status;

use super::style::Style;
use super::{compare_markdown, compare_text};

fn estimate(mean: f64, low: f64, high: f64) -> Estimate {
    Estimate { mean, low, high, level: 0.95 }
}

fn side(name: &str, id: &str) -> SideSummary {
    let run = RunRef {
        id: format!("20261116T101500Z-{id}"),
        name: name.into(),
        status: Status::Finished,
        steps: 500,
        warm_up_steps: 3,
        contention: Some(0.02),
        settled: Some(true),
    };
    SideSummary { name: name.into(), runs: vec![run] }
}

fn stage(stage: &str, a_s: f64, b_s: f64, changed: bool) -> StageChange {
    let ratio = (a_s > 0.0 && b_s > 0.0).then(|| estimate(b_s / a_s, 0.97 * b_s / a_s, 1.03 * b_s / a_s));
    StageChange {
        stage: stage.into(),
        a_s,
        b_s,
        a_share: a_s / 11.8e-3,
        b_share: b_s / 4.79e-3,
        ratio,
        changed,
    }
}

fn check(what: &'static str, a: &str, b: &str, outcome: Outcome) -> Check {
    Check { what, a: Some(a.into()), b: Some(b.into()), outcome, apart: None }
}

fn change(what: &str, a: Option<&str>, b: Option<&str>, kind: ChangeKind) -> Change {
    Change { what: what.into(), a: a.map(str::to_owned), b: b.map(str::to_owned), kind }
}

/// A loader that got workers.
fn faster() -> Comparison {
    Comparison {
        schema: COMPARE_SCHEMA,
        a: side("before", "3f9a2c71"),
        b: side("after", "77b0e5d2"),
        verdict: Answer::Faster,
        because: None,
        timed: Some(Timed::Step),
        a_s: Some(11.8e-3),
        b_s: Some(4.79e-3),
        ratio: Some(estimate(1.0 / 2.46, 1.0 / 2.53, 1.0 / 2.4)),
        same_within: 0.02,
        between_runs_seen: false,
        more: None,
        same_training: Some(true),
        training: vec![
            check("samples an epoch", "50,000", "50,000", Outcome::Agree),
            check("parameters", "1,204", "1,204", Outcome::Agree),
            Check { a: None, b: None, ..check("tokens a step", "", "", Outcome::Unknown) },
            check("loss curve", "0.41", "0.412", Outcome::Agree),
        ],
        stages: vec![
            stage("data_wait", 7.2e-3, 0.19e-3, true),
            stage("backward", 2.9e-3, 2.91e-3, false),
            stage("forward", 1.4e-3, 1.38e-3, false),
            stage("optimizer", 0.3e-3, 0.3e-3, false),
            stage("loss", 10e-6, 10e-6, false),
        ],
        device_stages: None,
        fits: Vec::new(),
        apart: vec![
            Apart { what: "start-up", a_s: 2.41, b_s: 2.39, ratio: None },
            Apart { what: "first epoch", a_s: 3.75, b_s: 4.9, ratio: None },
            Apart { what: "whole run", a_s: 61.0, b_s: 28.2, ratio: None },
        ],
        environment: vec![
            change("num_workers", Some("0"), Some("6"), ChangeKind::Configuration),
            change("command", Some("--num-workers 0"), Some("--num-workers 6"), ChangeKind::Configuration),
            change("torch", Some("2.14"), Some("2.15"), ChangeKind::Environment),
        ],
        gate: None,
        pairs: None,
        ranks: None,
        aa: None,
        reference: None,
    }
}

fn drawn(comparison: &Comparison) -> String {
    compare_text(comparison, &Style::default())
}

#[test]
fn a_faster_side_with_the_stage_and_the_settings_that_changed() {
    insta::assert_snapshot!(drawn(&faster()));
}

#[test]
fn the_document_for_programs() {
    let comparison =
        Comparison { gate: Some(Gate { fail_if_slower: 0.05, met: true, warns: false }), ..faster() };
    insta::assert_snapshot!(serde_json::to_string_pretty(&comparison).unwrap());
}

#[test]
fn a_slower_side_that_fails_its_condition_with_device_and_fits() {
    let mut slower = faster();
    (slower.verdict, slower.ratio) = (Answer::Slower, Some(estimate(1.17, 1.15, 1.19)));
    (slower.stages, slower.b_s) = (vec![stage("backward", 2.9e-3, 4.9e-3, true)], Some(13.8e-3));
    slower.gate = Some(Gate { fail_if_slower: 0.05, met: false, warns: false });
    slower.device_stages =
        Some(vec![stage("backward", 2.9e-3, 4.9e-3, true), stage("idle_data", 1.1e-3, 1.2e-3, false)]);
    for row in slower.stages.iter_mut().chain(slower.device_stages.iter_mut().flatten()) {
        row.b_share = row.b_s / 13.8e-3;
    }
    slower.fits = vec![
        FitRatio { index: 0, label: "small".into(), a_s: 1e-3, b_s: 1.1e-3, ratio: None },
        FitRatio {
            index: 1,
            label: "large".into(),
            a_s: 2e-3,
            b_s: 3e-3,
            ratio: Some(estimate(1.5, 1.45, 1.55)),
        },
    ];
    slower.b.runs[0].status = Status::Killed;
    insta::assert_snapshot!(drawn(&slower));
}

#[test]
fn the_same_and_what_cannot_be_told() {
    let same = Comparison {
        verdict: Answer::Same,
        ratio: Some(estimate(1.003, 0.996, 1.01)),
        b_s: Some(11.83e-3),
        stages: Vec::new(),
        environment: Vec::new(),
        ..faster()
    };
    let mut noisy = Comparison {
        verdict: Answer::CannotTell,
        because: Some(Cause::Noise),
        more: Some(More::Runs(3)),
        ratio: Some(estimate(0.98, 0.91, 1.06)),
        ..same.clone()
    };
    noisy.b.runs[0].contention = Some(0.61);
    let steps = Comparison { more: Some(More::Steps(2_000)), ..noisy.clone() };
    let mut few = Comparison {
        because: Some(Cause::TooFewSteps),
        more: Some(More::Steps(21)),
        ratio: None,
        same_training: None,
        ..noisy.clone()
    };
    for side in [&mut few.a, &mut few.b] {
        side.runs[0].steps = 3;
    }
    let machine = change("CPU", Some("AMD EPYC"), Some("Intel(R) Xeon(R)"), ChangeKind::Machine);
    let elsewhere = Comparison {
        because: Some(Cause::DifferentMachines),
        more: None,
        environment: vec![machine],
        gate: Some(Gate { fail_if_slower: 0.05, met: true, warns: true }),
        ..noisy.clone()
    };
    let whole = Comparison {
        because: Some(Cause::OneRunASide),
        timed: Some(Timed::Run),
        more: Some(More::Runs(2)),
        ratio: None,
        stages: Vec::new(),
        ..noisy.clone()
    };
    let all = [same, noisy, steps, few, elsewhere, whole];
    insta::assert_snapshot!(all.map(|one| drawn(&one)).join("\n----\n\n"));
}

#[test]
fn another_training() {
    let mut other = faster();
    (other.verdict, other.same_training) = (Answer::NotSameTraining, Some(false));
    other.training[0] = check("samples an epoch", "50,000", "45,000", Outcome::Differ);
    other.training[3] = Check {
        apart: Some(estimate(0.152, 0.1, 0.2)),
        ..check("loss curve", "0.41", "0.472", Outcome::Differ)
    };
    insta::assert_snapshot!(drawn(&other));
}

#[test]
fn no_line_is_wider_than_the_terminal_and_plain_terminals_get_plain_letters() {
    for width in [40, 60, 80, 120] {
        let text = compare_text(&faster(), &Style { width, ..Style::default() });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
    }
    insta::assert_snapshot!(compare_text(
        &faster(),
        &Style { width: 40, unicode: false, ..Style::default() }
    ));
    let plain = compare_text(&faster(), &Style { unicode: false, ..Style::default() });
    assert!(plain.is_ascii(), "{plain}");
}

/// A tree that is slower than a revision, timed in turns.
fn in_turns() -> Comparison {
    let times = |of: f64| (0..7).map(|at| of + 0.01 * f64::from(at % 3)).collect::<Vec<f64>>();
    Comparison {
        a: side("main", "3f9a2c71"),
        b: side("this tree", "77b0e5d2"),
        verdict: Answer::Slower,
        timed: Some(Timed::Run),
        a_s: Some(1.02),
        b_s: Some(1.13),
        ratio: Some(estimate(1.112, 1.081, 1.144)),
        stages: vec![stage("forward", 2.9e-3, 4.9e-3, true)],
        environment: Vec::new(),
        gate: Some(Gate { fail_if_slower: 0.05, met: false, warns: false }),
        pairs: Some(Pairs {
            measure: "total".into(),
            count: 7,
            a_s: times(1.01),
            b_s: times(1.12),
            without_waits: true,
            decided: Some(true),
        }),
        aa: Some(Alike { ratio: 1.004 }),
        ..faster()
    }
}

/// The same where the pairs do not tell.
fn undecided() -> Comparison {
    let mut open = in_turns();
    (open.verdict, open.because, open.more) = (Answer::CannotTell, Some(Cause::Noise), Some(More::Pairs(12)));
    (open.ratio, open.gate) =
        (Some(estimate(1.04, 0.97, 1.11)), Some(Gate { fail_if_slower: 0.05, met: true, warns: false }));
    if let Some(pairs) = &mut open.pairs {
        (pairs.decided, pairs.without_waits) = (Some(false), false);
    }
    open
}

#[test]
fn a_tree_and_a_revision_in_turns() {
    let mut passed = in_turns();
    (passed.verdict, passed.ratio) = (Answer::Faster, Some(estimate(0.91, 0.88, 0.94)));
    passed.gate = Some(Gate { fail_if_slower: 0.05, met: true, warns: false });
    let mut of_stage = Comparison { timed: Some(Timed::Stage), ..in_turns() };
    (of_stage.a_s, of_stage.b_s) = (Some(31e-6), Some(34e-6));
    of_stage.pairs.iter_mut().for_each(|pairs| pairs.measure = "forward".into());
    let all = [in_turns(), passed, undecided(), of_stage];
    insta::assert_snapshot!(all.map(|one| drawn(&one)).join("\n----\n\n"));
}

#[test]
fn markdown_for_a_pull_request() {
    insta::assert_snapshot!(compare_markdown(&in_turns()));
}

#[test]
fn different_machines_beside_their_reference_models() {
    let comparison = Comparison {
        environment: vec![change("CPU", Some("AMD EPYC"), Some("Intel(R) Xeon(R)"), ChangeKind::Machine)],
        reference: Some(Reference {
            ratio: estimate(0.4, 0.38, 0.42),
            models: vec!["mlp".into(), "cnn".into()],
            beyond: estimate(1.016, 0.96, 1.07),
        }),
        ..faster()
    };
    insta::assert_snapshot!(drawn(&comparison));
}
