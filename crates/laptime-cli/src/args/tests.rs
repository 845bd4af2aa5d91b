//! What can be typed, and what is said when it is typed wrong.

use clap::CommandFactory;

use std::path::Path;

use super::*;

fn typed(line: &str) -> Result<Args, Stop> {
    parse(line.split(' ').map(OsString::from))
}

fn train(options: &str) -> TrainArgs {
    match typed(&format!("laptime train {options}")).unwrap().command {
        Command::Train(train) => *train,
        other => panic!("{other:?}"),
    }
}

fn refused(line: &str) -> String {
    match typed(line) {
        Err(Stop::Refused(failure)) => {
            assert_eq!(failure.exit, 2);
            failure.to_string()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_definition_holds_together() {
    Args::command().debug_assert();
}

#[test]
fn counts_are_read_as_people_write_them() {
    let args = train("mlp --rows 1e3,10_000,100000 --epochs 5 --batch 32,full,1e2");
    assert_eq!(args.rows, [1_000, 10_000, 100_000]);
    assert_eq!(args.batch, [BatchSize::Rows(32), BatchSize::Full, BatchSize::Rows(100)]);
    assert_eq!(args.epochs, Some(5));
}

#[test]
fn what_is_not_said_is_left_to_the_model() {
    let args = train("mlp");
    assert_eq!((args.model.as_str(), args.data, args.seed), ("mlp", DataChoice::Generated, 0));
    assert!(args.rows.is_empty() && args.batch.is_empty());
    assert_eq!((args.lr, args.threads, args.optimizer, args.validate), (None, None, None, None));
}

#[test]
fn every_option_of_train_is_understood() {
    let args = train(
        "cnn --features 784 --layers 2 --width 8 --kernel 5 --optimizer adamw --lr 1e-3 --validate 0.2 \
         --data digits.npy --name first --dir /tmp/runs --seed 7 --threads 2 --quiet --json \
         --loss cross-entropy --schedule step --dtype bf16 --accumulate 4 --clip 1.5 --dropout 0.25 \
         --weight-decay 0.02 --early-stop 3 --until-accuracy 0.95 --checkpoint-every 5",
    );
    assert_eq!((args.accumulate, args.early_stop, args.checkpoint_every), (Some(4), Some(3), Some(5)));
    assert_eq!((args.clip, args.dropout, args.weight_decay), (Some(1.5), Some(0.25), Some(0.02)));
    assert_eq!((args.until_accuracy, args.until_loss), (Some(0.95), None));
    let named = [args.loss, args.schedule, args.dtype].map(Option::unwrap);
    assert_eq!(named, ["cross-entropy", "step", "bf16"]);
    assert_eq!((args.layers, args.width, args.kernel), (Some(2), Some(8), Some(5)));
    assert_eq!(args.data, DataChoice::File("digits.npy".into()));
    assert_eq!((args.lr, args.validate), (Some(0.001), Some(0.2)));
    assert!(args.output.quiet && args.output.json);
    assert_eq!(args.place.folder(), Path::new("/tmp/runs"));
}

#[test]
fn runs_are_listed_unless_something_else_is_asked() {
    let runs = |line: &str| match typed(line).unwrap().command {
        Command::Runs(runs) => runs,
        other => panic!("{other:?}"),
    };
    assert!(runs("laptime runs").action.is_none());
    assert!(runs("laptime runs list --json").json);
    let removed = runs("laptime runs remove mlp 2026 --dir x");
    assert_eq!(removed.place.folder(), Path::new("x"));
    assert!(
        matches!(removed.action, Some(RunsAction::Remove(RemoveArgs { runs, .. })) if runs == ["mlp", "2026"])
    );
    assert!(matches!(
        runs("laptime runs remove --all").action,
        Some(RunsAction::Remove(RemoveArgs { all: true, .. }))
    ));
}

#[test]
fn colour_follows_the_option_then_no_color_then_the_terminal() {
    let set = OsString::from("1");
    assert!(ColorChoice::Auto.wanted(true, None));
    assert!(!ColorChoice::Auto.wanted(true, Some(&set)));
    assert!(!ColorChoice::Auto.wanted(false, None));
    assert!(ColorChoice::Always.wanted(false, Some(&set)));
    assert!(!ColorChoice::Never.wanted(true, None));
}

#[test]
fn what_is_typed_wrong_is_refused_with_a_reason_and_the_next_thing_to_type() {
    let lines = [
        "laptime train mlp --rows abc",
        "laptime train mlp --rows 100,000",
        "laptime train mlp --rows 1.5",
        "laptime train mlp --epochs 0",
        "laptime train mlp --batch half",
        "laptime train mlp --optimizer adan",
        "laptime train mlp --lr -1",
        "laptime train mlp --lr=-1",
        "laptime train mlp --validate 1",
        "laptime train mlp --data photo.png",
        "laptime train mlp --seed -3",
        "laptime train mlp --row 5",
        "laptime train mlp --epochs",
        "laptime train mlp --epochs 1 --epochs 2",
        "laptime train",
        "laptime trian mlp",
        "laptime runs remove",
        "laptime runs remove mlp --all",
        "laptime compare --stage forward",
        "laptime serve --port 70000",
        "laptime --color sometimes demo",
    ];
    let all: Vec<String> = lines.iter().map(|line| refused(line)).collect();
    insta::assert_snapshot!(all.join("\n"), @r"
        error: could not understand `laptime train mlp --rows abc`
          because: invalid value `abc` for --rows: expected a count such as 5000, 1e5 or
            100_000
          hint: laptime train --help
        error: could not understand `laptime train mlp --rows 100,000`
          because: invalid value `000` for --rows: a comma separates values; for a
            hundred thousand write 100_000 or 1e5
          hint: laptime train --help
        error: could not understand `laptime train mlp --rows 1.5`
          because: invalid value `1.5` for --rows: expected a count such as 5000, 1e5 or
            100_000
          hint: laptime train --help
        error: could not understand `laptime train mlp --epochs 0`
          because: invalid value `0` for --epochs: it must be at least 1; expected a
            count such as 5000, 1e5 or 100_000
          hint: laptime train --help
        error: could not understand `laptime train mlp --batch half`
          because: invalid value `half` for --batch: expected a count such as 5000, 1e5
            or 100_000, or `full`
          hint: laptime train --help
        error: could not understand `laptime train mlp --optimizer adan`
          because: invalid value `adan` for --optimizer: it can be sgd, momentum, adam,
            adamw, rmsprop
          hint: did you mean `adam`?
        error: could not understand `laptime train mlp --lr -1`
          because: invalid value `-1` for --lr: expected a number above 0, such as 0.001
            or 1e-3
          hint: laptime train --help
        error: could not understand `laptime train mlp --lr=-1`
          because: invalid value `-1` for --lr: expected a number above 0, such as 0.001
            or 1e-3
          hint: laptime train --help
        error: could not understand `laptime train mlp --validate 1`
          because: invalid value `1` for --validate: expected a share from 0 to below 1,
            such as 0.2
          hint: laptime train --help
        error: could not understand `laptime train mlp --data photo.png`
          because: invalid value `photo.png` for --data: expected `generated` or a file
            that ends in .csv, .npy or .pack
          hint: laptime train --help
        error: could not understand `laptime train mlp --seed -3`
          because: invalid value `-3` for --seed: expected a whole number of at least 0
          hint: laptime train --help
        error: could not understand `laptime train mlp --row 5`
          because: unknown option or argument `--row`
          hint: did you mean `--rows`?
        error: could not understand `laptime train mlp --epochs`
          because: --epochs needs a value
          hint: laptime train --help
        error: could not understand `laptime train mlp --epochs 1 --epochs 2`
          because: --epochs was given twice
          hint: laptime train --help
        error: could not understand `laptime train`
          because: MODEL is missing
          hint: laptime train --help
        error: could not understand `laptime trian mlp`
          because: unknown command `trian`
          hint: did you mean `train`?
        error: could not understand `laptime runs remove`
          because: one of RUN, --failed, --all is missing
          hint: laptime runs remove --help
        error: could not understand `laptime runs remove mlp --all`
          because: RUN cannot be used with --all
          hint: laptime runs remove --help
        error: could not understand `laptime compare --stage forward`
          because: --base is missing
          hint: laptime compare --help
        error: could not understand `laptime serve --port 70000`
          because: invalid value `70000` for --port: expected a number from 0 to 65535
          hint: laptime serve --help
        error: could not understand `laptime --color sometimes demo`
          because: invalid value `sometimes` for --color: it can be auto, always, never
          hint: laptime --help
        ");
}

#[test]
fn a_model_we_do_not_have_is_named_with_the_ones_we_have() {
    let known = ["linear", "mlp", "cnn"];
    insta::assert_snapshot!(unknown_model("mpl", &known), @r"
        error: could not train `mpl`
          because: unknown model `mpl`; available: linear, mlp, cnn
          hint: did you mean `laptime train mlp`?
        ");
    insta::assert_snapshot!(unknown_model("resnet", &known), @r"
        error: could not train `resnet`
          because: unknown model `resnet`; available: linear, mlp, cnn
          hint: laptime train linear
        ");
}

#[test]
fn every_help_starts_with_an_example() {
    for command in ["", "demo ", "train ", "data ", "report ", "runs ", "runs remove "] {
        let Err(Stop::Show { text, exit: 0 }) = typed(&format!("laptime {command}--help")) else {
            panic!("no help for {command}");
        };
        assert!(text.starts_with("Example"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}

#[test]
fn nothing_typed_shows_the_help_and_counts_as_bad_usage() {
    assert!(matches!(typed("laptime"), Err(Stop::Show { exit: 2, .. })));
    assert!(matches!(typed("laptime --version"), Err(Stop::Show { exit: 0, .. })));
}
