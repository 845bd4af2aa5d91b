//! `laptime train` and `laptime demo`: whole trainings, and everything that can be typed wrong.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laptime;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use laptime::{MOST_UNACCOUNTED, assert_claimed, assert_closes, json, run, unaccounted};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A short training that lost its CPU between two stages is made again; one whose stages leave a gap never passes.
fn claimed(train: impl Fn() -> serde_json::Value) -> serde_json::Value {
    let mut report = train();
    for _ in 0..2 {
        if unaccounted(&report) < MOST_UNACCOUNTED {
            break;
        }
        report = train();
    }
    assert_claimed(&report);
    report
}

#[test]
fn every_model_trains_closes_its_ledger_and_learns() {
    let trainings = [
        ("linear", 10),
        // Steps and a training long enough that what lies between two stages, and being without a CPU once, is not a
        // twentieth of them on a fast machine either.
        ("mlp --rows 100000 --batch 4096 --epochs 150", 150),
        ("cnn --epochs 2 --validate 0.2", 2),
        ("rnn --epochs 3", 3),
        ("lstm --epochs 2 --rows 400 --layers 2 --width 16", 2),
        ("gru --epochs 2 --validate 0.2", 2),
        ("transformer --epochs 2 --layers 1", 2),
    ];
    for (words, epochs) in trainings {
        let folder = folder();
        let report = claimed(|| json(&run(folder.path(), &format!("train {words} --json"))));
        assert_closes(&report);
        assert_eq!(report["run"]["status"], "finished");
        assert!(report["run"]["engine"].as_str().unwrap().starts_with("laptime cpu "), "{words}");
        assert!(report["run"]["peak_flops_per_s"].as_f64().unwrap() > 1e9, "{words}");
        assert_eq!(report["run"]["threads"], 1);
        let fit = &report["fits"][0];
        assert!(fit["parameters"].as_u64().unwrap() > 0, "{words}");
        assert!(fit["flops_per_sample"].as_u64().unwrap() > 0, "{words}");
        assert!(fit["flops_per_s"].as_f64().unwrap() > 0.0, "{words}");
        let all = report["epochs"].as_array().unwrap();
        assert_eq!(all.len(), epochs, "{words}");
        let loss = |at: usize| all[at]["loss"].as_f64().unwrap();
        assert!(loss(epochs - 1) < loss(0), "{words} does not learn");
    }
}

#[test]
fn the_demo_shows_its_report_and_the_report_shows_it_again() {
    let folder = folder();
    let demo = run(folder.path(), "demo");
    assert_eq!(demo.code, Some(0), "{}", demo.err);
    for part in ["demo · finished · 8 epochs", "= wall time", "verdict: ", "run kept in .laptime/", "val acc"]
    {
        assert!(demo.out.contains(part), "no {part:?} in\n{}", demo.out);
    }
    assert_eq!(run(folder.path(), "report").out, demo.out);
    assert!(demo.out.lines().all(|line| line.chars().count() <= 80));
}

/// Burns CPU time and reads a file past the page cache, then becomes `laptime` with these words.
fn become_laptime(folder: &Path, words: &str) -> laptime::Said {
    let before = "head -c 33554432 /dev/zero > big; sync big
        dd if=big of=/dev/null bs=1M iflag=direct 2> /dev/null
        i=0; while [ $i -lt 500000 ]; do i=$((i + 1)); done
        exec \"$@\"";
    let program = laptime::laptime(folder, words);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", before, "sh"]).arg(program.get_program()).args(program.get_args());
    laptime::said(shell.current_dir(folder).env_remove("LAPTIME_DIR").output().unwrap())
}

#[test]
fn what_the_process_used_before_it_became_laptime_is_not_counted() {
    let folder = folder();
    // The second is measured from outside, and the third is what it knows of the second.
    for words in ["train cnn --rows 1000 --epochs 20 --json", "run -- sleep 0.2", "report --json"] {
        let said = become_laptime(folder.path(), words);
        assert_eq!(said.code, Some(0), "{words}: {}", said.err);
        if !words.contains("--json") {
            continue;
        }
        let report = json(&said);
        let (wall, cpu) = (report["wall_s"].as_f64().unwrap(), report["machine"]["cpu_s"].as_f64().unwrap());
        assert!(cpu < wall * 1.2, "{words}: {cpu} s of CPU time in {wall} s");
        let read = report["transfer"]["storage_read_bytes"].as_u64().unwrap_or(0);
        assert!(read < 16 << 20, "{words}: {read} bytes read");
    }
}

#[test]
fn several_sizes_train_in_one_run() {
    let folder = folder();
    let report = json(&run(folder.path(), "train cnn --rows 100,400,1600 --epochs 3 --json"));
    let rows: Vec<_> =
        report["fits"].as_array().unwrap().iter().map(|fit| fit["rows"].as_u64().unwrap()).collect();
    assert_eq!(rows, [100, 400, 1600]);
    assert_eq!(report["law"]["x"], "rows");
    assert!(report["law"]["slope"]["mean"].as_f64().unwrap() > 0.0);
}

#[test]
fn batch_sizes_have_a_law_and_share_the_operations_of_a_sample() {
    let folder = folder();
    let report = json(&run(folder.path(), "train cnn --rows 64 --batch 16,32 --epochs 3 --json"));
    assert_eq!(report["law"]["x"], "batch");
    let flops = |at: usize| report["fits"][at]["flops_per_sample"].clone();
    assert_eq!(flops(0), 6 * (26 * 26 * 9 * 32 + 32 * 13 * 13 * 10));
    assert_eq!(flops(0), flops(1));
}

#[test]
fn every_knob_is_on_record_and_its_step_is_one_of_all_its_batches() {
    let folder = folder();
    let words = "train gru --rows 100 --epochs 2 --batch 8 --accumulate 3 --dtype f64 --dropout 0.1 --clip 1 \
                 --weight-decay 0.01 --schedule cosine --loss cross-entropy --early-stop 2 --json";
    let report = json(&run(folder.path(), words));
    let fit = &report["fits"][0];
    assert_eq!((&fit["precision"], &fit["patience"]), (&"f64".into(), &2.into()));
    let settings = &fit["settings"];
    for (name, value) in [
        ("accumulate", "3"),
        ("dropout", "0.1"),
        ("clip", "1"),
        ("weight_decay", "0.01"),
        ("schedule", "cosine"),
        ("loss", "cross-entropy"),
    ] {
        assert_eq!(settings[name], value, "{name}");
    }
    // 13 batches, three to a step, the last step with one.
    assert_eq!(report["epochs"][0]["steps"], 5);
    assert_eq!(report["epochs"][0]["samples"], 100);
    assert_eq!(report["fits"][0]["target"], serde_json::Value::Null);
    assert_closes(&report);
}

#[test]
fn a_goal_that_is_reached_ends_the_training_and_reports_when() {
    let folder = folder();
    let report = json(&run(folder.path(), "train cnn --until-accuracy 0.9 --validate 0.2 --json"));
    let (fit, target) = (&report["fits"][0], &report["fits"][0]["target"]);
    assert_eq!((&target["metric"], &target["value"]), (&"validation_accuracy".into(), &0.9.into()));
    assert_eq!(target["reached"], true);
    assert_eq!(target["epochs"], fit["epochs"]);
    assert!(fit["epochs"].as_u64().unwrap() < 100);
    assert_eq!(target["steps"].as_u64().unwrap(), 25 * fit["epochs"].as_u64().unwrap());
    let seconds = target["seconds"].as_f64().unwrap();
    assert!(seconds > 0.0 && seconds <= fit["wall_s"].as_f64().unwrap());
    let text = run(folder.path(), "report").out;
    assert!(text.contains("target      validation accuracy 90.0 % reached after "), "{text}");
    assert!(text.contains("model       54,410 parameters, 1.49 MFLOP a sample: "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_goal_that_is_missed_is_reported_with_the_best_and_is_no_failure() {
    let folder = folder();
    let said = run(folder.path(), "train mlp --rows 500 --epochs 2 --until-loss 1e-9 --dtype bf16");
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("target      loss 1.00e-9 not reached in 2 epochs; best 0."), "{}", said.out);
    assert!(said.out.contains("precision   bf16 is computed by way of f32 on this CPU"), "{}", said.out);
    let report = json(&run(folder.path(), "report --json"));
    assert_eq!(
        (&report["fits"][0]["target"]["reached"], &report["fits"][0]["epochs"]),
        (&false.into(), &2.into())
    );
}

#[test]
fn a_training_that_gets_no_better_ends_and_says_so() {
    let folder = folder();
    let said = run(folder.path(), "train linear --lr 1.01 --early-stop 3 --epochs 50");
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains(" of 50 epochs: the loss had not improved for 3 epochs"), "{}", said.out);
}

#[test]
fn checkpoints_are_written_beside_the_log_and_are_a_stage_of_their_own() {
    let folder = folder();
    let words = "train mlp --rows 200,400 --epochs 5 --checkpoint-every 2 --json";
    let report = json(&run(folder.path(), words));
    let row = report["ledger"].as_array().unwrap().iter().find(|row| row["stage"] == "checkpoint").unwrap();
    assert_eq!(row["count"], 4);
    assert!(row["seconds"].as_f64().unwrap() > 0.0);
    assert_closes(&report);
    let run_folder = folder.path().join(".laptime").join(report["run"]["id"].as_str().unwrap());
    for fit in ["fit-1", "fit-2"] {
        let mut epochs: Vec<String> = fs::read_dir(run_folder.join("checkpoints").join(fit))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        epochs.sort();
        assert_eq!(epochs, ["epoch-2", "epoch-4"], "{fit}");
    }
    let last = run_folder.join("checkpoints/fit-2/epoch-4");
    // 769 numbers of 4 bytes, and Adam's two moments of each.
    assert!(fs::metadata(last.join("model.safetensors")).unwrap().len() > 769 * 4);
    assert!(fs::metadata(last.join("optimizer.safetensors")).unwrap().len() > 2 * 769 * 4);
    assert_eq!(run(folder.path(), "runs remove --all").code, Some(0));
    assert!(!run_folder.exists());
}

#[test]
fn a_file_is_read_split_and_trained_on() {
    let folder = folder();
    let mut text = String::from("a,b,y\n");
    for row in 0..500 {
        let (a, b) = (f64::from(row % 17) / 17.0, f64::from(row % 23) / 23.0);
        text += &format!("{a},{b},{}\n", a - 2.0 * b);
    }
    fs::write(folder.path().join("points.csv"), &text).unwrap();
    let report = json(&run(folder.path(), "train mlp --data points.csv --validate 0.2 --epochs 4 --json"));
    assert_eq!(report["fits"][0]["rows"], 400);
    assert_eq!(report["fits"][0]["settings"]["features"], "2");
    assert!(report["transfer"]["file_read_bytes"].as_u64().unwrap() >= text.len() as u64);
    assert!(report["epochs"][3]["metrics"]["validation_loss"].as_f64().is_some());
}

/// What was typed wrong, and what is said. Nothing may be written.
#[test]
fn bad_input_is_refused_with_a_hint_and_nothing_is_written() {
    let folder = folder();
    fs::write(folder.path().join("text.csv"), "a,b\n1,2\n3,x\n").unwrap();
    fs::write(folder.path().join("empty.csv"), "").unwrap();
    fs::write(folder.path().join("tokens.csv"), "1,2,3\n4,20,5\n").unwrap();
    let typed = [
        "train mpl",
        "train",
        "train mlp --rows 0",
        "train mlp --rows -5",
        "train mlp --rows 10 --batch 32",
        "train mlp --batch 0",
        "train mlp --epochs 0",
        "train mlp --lr nan",
        "train mlp --validate 1",
        "train mlp --optimizer adm",
        "train cnn --kernel 40",
        "train cnn --data text.csv",
        "train mlp --data text.csv",
        "train mlp --data empty.csv",
        "train mlp --data missing.csv",
        "train mlp --data text.txt",
        "train mlp --rows 1e99",
        "train mlp --loss cross-entropy",
        "train rnn --loss mse",
        "train mlp --loss rmse",
        "train mlp --until-accuracy 0.9",
        "train cnn --until-accuracy 95",
        "train cnn --until-accuracy 0.9 --until-loss 0.1",
        "train mlp --until-loss -1",
        "train linear --dropout 0.1",
        "train mlp --dropout 1",
        "train mlp --dtype f16",
        "train mlp --schedule linear",
        "train mlp --accumulate 0",
        "train mlp --clip 0",
        "train mlp --weight-decay -1",
        "train mlp --early-stop 0",
        "train mlp --checkpoint-every 0",
        "train mlp --kernel 5",
        "train linear --width 5",
        "train transformer --width 30",
        "train rnn --data tokens.csv",
        "trian mlp",
        "train mlp --epoch 3",
    ];
    let mut all = String::new();
    for words in typed {
        let said = run(folder.path(), words);
        assert_eq!(said.code, Some(2), "{words}: {}", said.err);
        assert_eq!(said.out, "", "{words}");
        assert!(said.err.lines().all(|line| line.chars().count() <= 80), "{}", said.err);
        all += &format!("$ laptime {words}\n{}\n", said.err);
    }
    insta::assert_snapshot!(all);
    assert!(!folder.path().join(".laptime").exists());
}

#[test]
fn a_loss_that_is_no_number_ends_the_training_and_keeps_the_run_as_failed() {
    let folder = folder();
    let said = run(folder.path(), "train mlp --lr 1e20");
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("because: the loss became"), "{}", said.err);
    assert!(said.err.contains("kept: the run as failed, in .laptime/"), "{}", said.err);
    let report = json(&run(folder.path(), "report --json"));
    assert_eq!(report["run"]["status"], "failed");
    assert_closes(&report);
}

/// Larger than what is read into memory, so the bad row is met in mid-training.
fn write_large_csv(path: &Path, rows: u32, bad_row: u32) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    for row in 0..rows {
        let text = if row == bad_row { "oops,1\n" } else { "1,2\n" };
        file.write_all(text.as_bytes()).unwrap();
    }
}

#[test]
fn a_bad_row_in_mid_training_ends_it_and_keeps_the_run_as_failed() {
    let folder = folder();
    let rows = 9_000_000;
    write_large_csv(&folder.path().join("large.csv"), rows, rows - 1_000_000);
    let said = run(folder.path(), "train linear --data large.csv --batch 65536 --epochs 1");
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(said.err.contains("`oops` is not a number"), "{}", said.err);
    assert!(said.err.contains("line 8000001"), "{}", said.err);
    let report = json(&run(folder.path(), "report --json"));
    assert_eq!(report["run"]["status"], "failed");
    assert_eq!(report["epochs"][0]["complete"], false);
    let peak = report["memory"]["peak_rss_bytes"].as_u64().unwrap();
    assert!(peak < 150 << 20, "a streamed file took {peak} bytes of memory");
    assert_closes(&report);
}
