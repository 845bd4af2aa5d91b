//! Advice as it looks, on made-up numbers that never change.

use laptime_analyse::advise::{
    ADVICE_SCHEMA, Advice, Item, MachineFacts, MeasuredSpeedup, Proof, Speedup, advise_machine,
};

use super::style::Style;
use super::{advice_text, machine_advice_text};

fn workers() -> Item {
    Item {
        number: 1,
        id: "workers",
        subject: "loader workers",
        title: "load with 2 workers".into(),
        because:
            "the model waits 61 % of each step: a batch takes 55.0 ms to load, 31 % of it computing, on 2 \
                  CPUs"
                .into(),
        change: "DataLoader(…, num_workers=2, persistent_workers=True)".into(),
        speedup: Speedup::predicted(1.6, 2.1),
        injects: Some("num_workers=2,persistent_workers=1".into()),
        prove_command: "laptime advise --prove workers -- COMMAND".into(),
    }
}

fn checkpoint() -> Item {
    Item {
        number: 2,
        id: "checkpoint",
        subject: "checkpoints",
        title: "save checkpoints less often".into(),
        because: "saving takes 12 % of the training: every step, 3.10 ms each".into(),
        change: "save every 10 steps".into(),
        speedup: Speedup::typical(1.05, 1.2),
        injects: None,
        prove_command: "laptime advise --prove checkpoint --changed '…' -- COMMAND".into(),
    }
}

fn advice() -> Advice {
    Advice {
        schema: ADVICE_SCHEMA,
        run: "20261116T101500Z-3f9a2c71".into(),
        name: "train".into(),
        command: ["python", "train.py", "--epochs", "3"].map(str::to_owned).into(),
        step_s: Some(0.09),
        items: vec![workers(), checkpoint()],
        fine: vec!["prefetch", "garbage collection", "evaluation", "drift"],
        unknown: Vec::new(),
        proofs: Vec::new(),
    }
}

fn text(advice: &Advice) -> String {
    advice_text(advice, &Style::default())
}

#[test]
fn items_with_their_gain_reason_change_and_proof() {
    insta::assert_snapshot!(text(&advice()));
}

#[test]
fn nothing_to_change_says_what_was_checked_and_what_cannot_be_told() {
    let unknown = vec![("batch size", "a batch of 4 is small; `laptime sweep` measures larger ones".into())];
    insta::assert_snapshot!(text(&Advice { items: Vec::new(), unknown, ..advice() }));
}

#[test]
fn a_run_without_steps_says_what_to_type() {
    insta::assert_snapshot!(text(&Advice { step_s: None, items: Vec::new(), ..advice() }));
}

#[test]
fn an_item_that_was_proved_shows_what_was_measured() {
    let proof = Proof {
        item: "workers".into(),
        title: "load with 2 workers".into(),
        run: advice().run,
        predicted: Speedup::predicted(1.6, 2.1),
        measured: MeasuredSpeedup { mean: 1.71, low: 1.66, high: 1.76, level: 0.95 },
        pairs: 8,
        holds: true,
        same_training: Some(true),
    };
    insta::assert_snapshot!(text(&Advice { proofs: vec![proof], ..advice() }));
}

#[test]
fn advice_fits_narrow_terminals() {
    for width in [40, 60, 80] {
        let text = advice_text(&advice(), &Style { width, ..Style::default() });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
    }
    insta::assert_snapshot!(advice_text(&advice(), &Style { width: 50, ..Style::default() }));
}

#[test]
fn a_machine_with_faults_says_what_to_type() {
    let facts = MachineFacts {
        cpus: 64,
        quota_cpus: Some(8.0),
        busy_cpus: Some(0.1),
        governor: Some("powersave".into()),
        clock_khz: Some((4_000_000, 4_000_000)),
        memory_bytes: Some((60 << 30, 64 << 30)),
        shared_bytes: Some(64 << 20),
        ..MachineFacts::default()
    };
    insta::assert_snapshot!(machine_advice_text(&advise_machine(&facts), false, &Style::default()));
}

#[test]
fn a_healthy_machine_says_so() {
    let facts = MachineFacts { cpus: 8, busy_cpus: Some(0.1), ..MachineFacts::default() };
    insta::assert_snapshot!(machine_advice_text(&advise_machine(&facts), true, &Style::default()));
}
