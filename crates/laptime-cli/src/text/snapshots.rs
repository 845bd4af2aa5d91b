//! The reports as people see them, and what holds for all of them.

use laptime_core::Status;

use super::sample;
use super::*;

const KEPT: Option<&str> = Some(".laptime/20260301T101500Z-3f9a2c71");

fn at_80(report: &laptime_analyse::Report) -> String {
    report_text(report, KEPT, &Style::default())
}

#[test]
fn a_finished_run() {
    insta::assert_snapshot!(at_80(&sample::finished()), @r"
        mlp · finished · 3 epochs · 12.4 s
        100,000 rows · batch 32 · 769 parameters · lr 0.001 · optimizer adam
        cpu engine · AVX-512 · 1 thread on 2 CPUs · 2026-03-01 10:15 UTC

        epoch  wall = data  fwd loss  bwd  opt rest  eval  samples/s    loss  val loss
            1  4.07   0.18 1.05 0.16 1.89 0.71 0.08  0.33     24,546   0.410     0.471
            2  3.70   0.17 0.95 0.15 1.71 0.64 0.08  0.30     27,025  0.0512    0.0589
            3  3.70   0.17 0.95 0.15 1.71 0.64 0.08  0.30     27,025  0.0152    0.0175
        times in s; 3,125 steps an epoch; rest: h2d, unaccounted

        stage              time    share                        spans     mean      p95
        start-up        41.2 ms    0.3 %  ▏                         –        –        –
        data wait        513 ms    4.1 %  █▉                    9,375  54.7 us  65.7 us
        host to device   133 ms    1.1 %  ▌                     9,375  14.2 us  17.0 us
        forward         2.95 s    23.7 %  ███████████▏          9,375   314 us   377 us
        loss             456 ms    3.7 %  █▊                    9,375  48.6 us  58.4 us
        backward        5.32 s    42.8 %  ████████████████████  9,375   567 us   681 us
        optimizer       2.00 s    16.0 %  ███████▌              9,375   213 us   255 us
        evaluate         918 ms    7.4 %  ███▌                      3   306 ms   367 ms
        tear down        800 us   <0.1 %  ▏                         –        –        –
        unaccounted      112 ms    0.9 %  ▍                         –        –        –
        ───────────────────────────────────────────────────────────────────────────────
        total           12.4 s   100.0 %  = wall time

        epoch time  mean 3.76 s   first 4.06 s   steady 3.68 s
        step time   mean 1.21 ms   median 1.19 ms   p95 1.48 ms   26,446 samples/s
        data        4.2 MiB an epoch to the model; 0 B read from storage
        memory      peak 112 MiB
        machine     1.02 of 2 CPUs busy
        laptime     its own cost 1.40 ms, 0.01 % of the time: 1.08 ms for 56,262 spans
                    of 19.2 ns, 320 us to write the log

        verdict: the model is the limit: backward takes 43 % of the time
        also: the first epoch was 10 % slower than the steady ones

        run kept in .laptime/20260301T101500Z-3f9a2c71
        next: `laptime report` shows this again, `laptime report --json` has all
        ");
}

#[test]
fn a_run_without_epochs_has_windows_of_steps_for_laps() {
    insta::assert_snapshot!(at_80(&sample::by_steps()), @r"
    gpt · killed · 4,200 of 5,000 steps · 5.72 s
    GPT · 769 parameters · lr 0.001 · optimizer adam
    cpu engine · AVX-512 · 1 thread on 2 CPUs · 2026-03-01 10:15 UTC
    died in backward (open for 3.20 ms), step 4,201 (fit 1)

           steps  wall = fwd  bwd  opt rest  eval   tokens/s     loss  val loss
         1–1,000  1.30  0.33 0.60 0.23 0.14  0.10  3,141,875    0.410     0.471
     1,001–2,000  1.18  0.30 0.55 0.21 0.13  0.09  3,459,226   0.0512    0.0589
     2,001–3,000  1.18  0.30 0.55 0.21 0.13  0.09  3,459,226   0.0152    0.0175
     3,001–4,000  1.18  0.30 0.55 0.21 0.13  0.09  3,459,226  0.00641   0.00737
    4,001–4,200*  0.24  0.06 0.11 0.04 0.03     –  3,459,226  0.00328   0.00377
    times in s; rest: data, h2d, loss, unaccounted; *: not complete

    stage              time    share                        spans     mean      p95
    imports          200 ms    3.5 %  █▊                       12  16.7 ms  20.0 ms
    start-up        41.2 ms    0.7 %  ▍                         –        –        –
    data wait        228 ms    4.0 %  █▉                    4,200  54.2 us  65.0 us
    host to device  59.0 ms    1.0 %  ▌                     4,200  14.1 us  16.9 us
    forward         1.31 s    22.8 %  ███████████▏          4,200   311 us   373 us
    loss             202 ms    3.5 %  █▊                    4,200  48.2 us  57.8 us
    backward        2.36 s    41.3 %  ████████████████████  4,200   562 us   675 us
    optimizer        885 ms   15.5 %  ███████▌              4,200   211 us   253 us
    evaluate         388 ms    6.8 %  ███▎                      5  77.7 ms  93.2 ms
    tear down        800 us   <0.1 %  ▏                         –        –        –
    unaccounted     50.4 ms    0.9 %  ▍                         –        –        –
    ───────────────────────────────────────────────────────────────────────────────
    total           5.72 s   100.0 %  = wall time

    step time   mean 1.21 ms   median 1.19 ms   p95 1.48 ms   3,385,123 tokens/s
    imports     slowest torch 161 ms, numpy 29.0 ms
    data        21.0 MiB to the model; 0 B read from storage
    memory      peak 112 MiB
    machine     1.02 of 2 CPUs busy
    laptime     its own cost 1.40 ms, 0.02 % of the time: 1.08 ms for 56,262 spans
                of 19.2 ns, 320 us to write the log

    verdict: the model is the limit: backward takes 43 % of the time
    also: the first epoch was 10 % slower than the steady ones

    run kept in .laptime/20260301T101500Z-3f9a2c71
    next: `laptime report` shows this again, `laptime report --json` has all
    ");
    let mut running = sample::by_steps();
    running.run.status = Status::Running;
    insta::assert_snapshot!(progress_line(&running, &Style::default()), @"gpt  step 4,200/5,000  loss 0.0123  3,459,226 tokens/s  [dffffflbbbbbbbbboooo]");
}

#[test]
fn a_run_with_epochs_in_one_fit_and_steps_in_another_shows_both() {
    let mut report = sample::several();
    report.fits[2] = laptime_analyse::FitSummary { index: 2, ..sample::by_steps().fits[0].clone() };
    report.epochs.retain(|lap| lap.fit < 2);
    let windows = sample::by_steps().epochs.into_iter();
    report.epochs.extend(windows.map(|lap| laptime_analyse::EpochSummary { fit: 2, ..lap }));
    insta::assert_snapshot!(summary_text(&report, KEPT, &Style::default()), @r"
    laptime  how does it scale? how does it…  6 epochs and 4,200 of 5,000 steps in 3
      fits  13.8 s   waiting for data 4.5 %

             lap  wall = data  fwd  bwd opt rest  eval  samples/s     loss  val loss
    fit 1 · mlp · 1,000 rows · batch 32 · mean 37.6 ms · first 40.6 ms · steady
      36.8 ms
               1  40.4    1.8 10.4 18.7 7.0  2.4   3.2     24,546    0.410     0.471
               2  36.7    1.6  9.4 17.0 6.4  2.3   2.9     27,025   0.0512    0.0589
               3  36.7    1.6  9.4 17.0 6.4  2.3   2.9     27,025   0.0152    0.0175
    fit 2 · mlp · 10,000 rows · batch 32 · mean 376 ms · first 406 ms · steady
      368 ms
               1   407     18  104  189  71   25    33     24,546    0.410     0.471
               2   369     17   95  171  64   23    30     27,025   0.0512    0.0589
               3   369     17   95  171  64   23    30     27,025   0.0152    0.0175
    fit 3 · GPT
         1–1,000  1304     58  335  605 227   79   104          –    0.410     0.471
     1,001–2,000  1184     53  304  549 206   73    95          –   0.0512    0.0589
     2,001–3,000  1184     53  304  549 206   73    95          –   0.0152    0.0175
     3,001–4,000  1184     53  304  549 206   73    95          –  0.00641   0.00737
    4,001–4,200*   237     11   61  110  41   15     –          –  0.00328   0.00377
    times in ms; rest: h2d, loss, unaccounted; *: not complete
    not shown at this width: steps (--json has all)

    verdict: the model is the limit: backward takes 43 % of the time
    also: the first epoch was 10 % slower than the steady ones
    law: epoch time = 900 us + 37.4 us × rows   (95 %: 37.1–37.7 us)
    run kept in .laptime/20260301T101500Z-3f9a2c71   laptime report
    ");
}

#[test]
fn a_killed_run_says_where_it_died_and_what_is_missing() {
    insta::assert_snapshot!(at_80(&sample::killed()), @r"
        mlp · killed · 1 of 3 epochs · 5.87 s
        100,000 rows · batch 32 · 769 parameters · lr 0.001 · optimizer adam
        cpu engine · AVX-512 · 1 thread on 2 CPUs · 2026-03-01 10:15 UTC
        died in backward (open for 3.20 ms), step 1,205 of epoch 2 (fit 1)

        epoch  wall = data  fwd  bwd  opt rest  eval  steps  samples/s    loss  val loss
            1  4.07   0.18 1.05 1.89 0.71 0.25  0.33  3,125     24,546   0.410     0.471
           2*  1.43   0.06 0.37 0.66 0.25 0.09     –  1,204     27,025  0.0512         –
        times in s; rest: h2d, loss, unaccounted; *: not complete

        stage              time    share                        spans     mean      p95
        start-up        41.2 ms    0.7 %  ▍                         –        –        –
        data wait        246 ms    4.2 %  █▉                    4,329  56.8 us  68.2 us
        host to device  63.8 ms    1.1 %  ▌                     4,329  14.7 us  17.7 us
        forward         1.41 s    24.1 %  ███████████▏          4,329   326 us   391 us
        loss             219 ms    3.7 %  █▊                    4,329  50.5 us  60.6 us
        backward        2.55 s    43.5 %  ████████████████████  4,329   589 us   707 us
        optimizer        957 ms   16.3 %  ███████▌              4,329   221 us   265 us
        evaluate         326 ms    5.6 %  ██▌                       2   163 ms   196 ms
        tear down        800 us   <0.1 %  ▏                         –        –        –
        unaccounted     51.9 ms    0.9 %  ▍                         –        –        –
        ───────────────────────────────────────────────────────────────────────────────
        total           5.87 s   100.0 %  = wall time

        epoch time  mean 3.76 s   first 4.06 s   steady 3.68 s
        step time   mean 1.21 ms   median 1.19 ms   p95 1.48 ms   26,446 samples/s
        data        8.4 MiB to the model; 0 B read from storage
        memory      peak 112 MiB
        machine     1.02 of 2 CPUs busy
        laptime     its own cost 1.40 ms, 0.02 % of the time: 1.08 ms for 56,262 spans
                    of 19.2 ns, 320 us to write the log

        warning: 1,203 spans were dropped because the ring was full; times and shares
          are complete, p95 is not
        warning: 4.0 KiB of 0.log could not be read; what was recorded there is missing

        verdict: the model is the limit: backward takes 43 % of the time
        also: the first epoch was 10 % slower than the steady ones

        run kept in .laptime/20260301T101500Z-3f9a2c71
        next: `laptime report` shows this again, `laptime report --json` has all
        ");
}

#[test]
fn a_failed_run_that_was_not_kept() {
    insta::assert_snapshot!(report_text(&sample::failed(), None, &Style::default()), @r"
        mlp · failed · 0 of 3 epochs · 12.3 ms
        100,000 rows · batch 32 · 769 parameters · lr 0.001 · optimizer adam
        cpu engine · AVX-512 · 1 thread on 2 CPUs · 2026-03-01 10:15 UTC
        because: line 17, column 3: `abc` is not a number

        stage           time    share                        spans  mean  p95
        start-up     12.3 ms  100.0 %  ████████████████████      –     –    –
        unaccounted     0 s     0.0 %                            –     –    –
        ─────────────────────────────────────────────────────────────────────
        total        12.3 ms  100.0 %  = wall time

        data        reads from storage unknown
        laptime     its own cost 0 s, 0 % of the time

        warning: the log could not be written (No space left on device); 90 events are
          missing from this report, its times are whole

        run not kept: No space left on device
        ");
}

#[test]
fn several_fits_and_their_law() {
    insta::assert_snapshot!(at_80(&sample::several()), @r"
        how does it scale? how does it… · finished · 9 epochs in 3 fits · 13.8 s
        mlp · batch 32 · 769 parameters · lr 0.001 · optimizer adam
        cpu engine · AVX-512 · 1 thread on 2 CPUs · 2026-03-01 10:15 UTC

        epoch  wall = data  fwd  bwd opt rest  eval  steps  samples/s    loss  val loss
        fit 1 · 1,000 rows · mean 37.6 ms · first 40.6 ms · steady 36.8 ms
            1  40.4    1.8 10.4 18.7 7.0  2.4   3.2     31     24,546   0.410     0.471
            2  36.7    1.6  9.4 17.0 6.4  2.3   2.9     31     27,025  0.0512    0.0589
            3  36.7    1.6  9.4 17.0 6.4  2.3   2.9     31     27,025  0.0152    0.0175
        fit 2 · 10,000 rows · mean 376 ms · first 406 ms · steady 368 ms
            1   407     18  104  189  71   25    33    312     24,546   0.410     0.471
            2   369     17   95  171  64   23    30    312     27,025  0.0512    0.0589
            3   369     17   95  171  64   23    30    312     27,025  0.0152    0.0175
        fit 3 · 100,000 rows · mean 3.76 s · first 4.06 s · steady 3.68 s
            1  4074    182 1046 1890 709  247   326  3,125     24,546   0.410     0.471
            2  3700    165  949 1715 643  227   296  3,125     27,025  0.0512    0.0589
            3  3700    165  949 1715 643  227   296  3,125     27,025  0.0152    0.0175
        times in ms; rest: h2d, loss, unaccounted

        stage              time    share                        spans     mean      p95
        start-up        41.2 ms    0.3 %  ▏                         –        –        –
        data wait        569 ms    4.1 %  █▉                   10,404  54.7 us  65.7 us
        host to device   148 ms    1.1 %  ▌                    10,404  14.2 us  17.0 us
        forward         3.27 s    23.7 %  ██████████▌          10,404   314 us   377 us
        loss             506 ms    3.7 %  █▋                   10,404  48.6 us  58.4 us
        backward        5.90 s    42.8 %  ███████████████████  10,404   567 us   681 us
        optimizer       2.21 s    16.0 %  ███████▏             10,404   213 us   255 us
        evaluate        1.02 s     7.4 %  ███▎                      9   113 ms   136 ms
        tear down        800 us   <0.1 %  ▏                         –        –        –
        unaccounted      125 ms    0.9 %  ▍                         –        –        –
        ───────────────────────────────────────────────────────────────────────────────
        total           13.8 s   100.0 %  = wall time

        step time   mean 1.21 ms   median 1.19 ms   p95 1.48 ms   26,446 samples/s
        data        12.6 MiB to the model; 0 B read from storage
        memory      peak 112 MiB
        machine     1.02 of 2 CPUs busy
        laptime     its own cost 1.40 ms, 0.01 % of the time: 1.08 ms for 56,262 spans
                    of 19.2 ns, 320 us to write the log
        law         epoch time = 900 us + 37.4 us × rows   (95 %: 37.1–37.7 us)

        verdict: the model is the limit: backward takes 43 % of the time
        also: the first epoch was 10 % slower than the steady ones

        run kept in .laptime/20260301T101500Z-3f9a2c71
        next: `laptime report` shows this again, `laptime report --json` has all
        ");
}

#[test]
fn the_summary_of_several_fits_has_their_law() {
    let text = summary_text(&sample::several(), KEPT, &Style::default());
    assert!(text.contains("\nlaw: epoch time = 900 us + 37.4 us × rows   (95 %: 37.1–37.7 us)\n"), "{text}");
}

#[test]
fn the_summary_after_a_run() {
    insta::assert_snapshot!(summary_text(&sample::with_workers(), KEPT, &Style::default()), @r"
        laptime  mlp  3 epochs  12.4 s   waiting for data 4.5 %

        epoch  wall = data  fwd loss  bwd  opt rest  eval  samples/s    loss  val loss
            1  4.07   0.18 1.05 0.16 1.89 0.71 0.08  0.33     24,546   0.410     0.471
            2  3.70   0.17 0.95 0.15 1.71 0.64 0.08  0.30     27,025  0.0512    0.0589
            3  3.70   0.17 0.95 0.15 1.71 0.64 0.08  0.30     27,025  0.0152    0.0175
        times in s; 3,125 steps an epoch; rest: h2d, unaccounted

        verdict: the model is the limit: backward takes 43 % of the time
        also: the first epoch was 10 % slower than the steady ones
        inside the 2 loader workers, per batch: fetch 109 ms (dataset 71.0 ms, transform
          38.0 ms), collate 9.00 ms
        run kept in .laptime/20260301T101500Z-3f9a2c71   laptime report
        ");
    insta::assert_snapshot!(summary_text(&sample::killed(), KEPT, &Style::default()), @r"
        laptime  mlp  killed  1 of 3 epochs  5.87 s   waiting for data 4.5 %
        died in backward (open for 3.20 ms), step 1,205 of epoch 2 (fit 1)

        epoch  wall = data  fwd  bwd  opt rest  eval  steps  samples/s    loss  val loss
            1  4.07   0.18 1.05 1.89 0.71 0.25  0.33  3,125     24,546   0.410     0.471
           2*  1.43   0.06 0.37 0.66 0.25 0.09     –  1,204     27,025  0.0512         –
        times in s; rest: h2d, loss, unaccounted; *: not complete

        warning: 1,203 spans were dropped because the ring was full; times and shares
          are complete, p95 is not
        warning: 4.0 KiB of 0.log could not be read; what was recorded there is missing
        verdict: the model is the limit: backward takes 43 % of the time
        also: the first epoch was 10 % slower than the steady ones
        run kept in .laptime/20260301T101500Z-3f9a2c71   laptime report
        ");
}

#[test]
fn many_epochs_show_how_they_began_and_ended() {
    let text = at_80(&sample::trained(200, 3125));
    let epochs: Vec<&str> = text.lines().skip(4).take_while(|line| !line.is_empty()).collect();
    insta::assert_snapshot!(epochs.join("\n"), @r"
        epoch  wall = data  fwd loss  bwd  opt rest  eval  samples/s     loss  val loss
            1  4.07   0.18 1.05 0.16 1.89 0.71 0.08  0.33     24,546    0.410     0.471
            2  3.70   0.17 0.95 0.15 1.71 0.64 0.08  0.30     27,025   0.0512    0.0589
            3  3.70   0.17 0.95 0.15 1.71 0.64 0.08  0.30     27,025   0.0152    0.0175
            … 194 epochs between these (--json has all)
          198  3.70   0.17 0.95 0.15 1.71 0.64 0.08  0.30     27,025  5.28e-8   6.07e-8
          199  3.70   0.17 0.95 0.15 1.71 0.64 0.08  0.30     27,025  5.20e-8   5.98e-8
          200  3.70   0.17 0.95 0.15 1.71 0.64 0.08  0.30     27,025  5.12e-8   5.89e-8
        times in s; 3,125 steps an epoch; rest: h2d, unaccounted
        ");
}

#[test]
fn nothing_known_is_still_a_report() {
    insta::assert_snapshot!(at_80(&sample::nothing()), @r"
        mlp · failed · no epochs · 12.3 ms
        2 CPUs · 2026-03-01 10:15 UTC

        stage           time    share                        spans  mean  p95
        start-up     12.3 ms  100.0 %  ████████████████████      –     –    –
        unaccounted     0 s     0.0 %                            –     –    –
        ─────────────────────────────────────────────────────────────────────
        total        12.3 ms  100.0 %  = wall time

        data        reads from storage unknown
        laptime     its own cost 0 s, 0 % of the time

        run kept in .laptime/20260301T101500Z-3f9a2c71
        next: `laptime report` shows this again, `laptime report --json` has all
        ");
}

#[test]
fn a_narrow_terminal_folds_stages_and_names_what_it_leaves_out() {
    insta::assert_snapshot!(report_text(&sample::killed(), KEPT, &Style { width: 40, ..Style::default() }), @r"
        mlp · killed · 1 of 3 epochs · 5.87 s
        100,000 rows · batch 32 · 769 parameters
          · lr 0.001 · optimizer adam
        cpu engine · AVX-512 · 1 thread on 2
          CPUs · 2026-03-01 10:15 UTC
        died in backward (open for 3.20 ms),
          step 1,205 of epoch 2 (fit 1)

        epoch  wall = fwd  bwd  opt rest    loss
            1  4.07  1.05 1.89 0.71 0.43   0.410
           2*  1.43  0.37 0.66 0.25 0.15  0.0512
        times in s; rest: data, h2d, loss,
          unaccounted; *: not complete
        not shown at this width: val loss,
          samples/s, eval, steps (--json has
          all)

        stage              time    share
        start-up        41.2 ms    0.7 %  ▏
        data wait        246 ms    4.2 %  ▋
        host to device  63.8 ms    1.1 %  ▏
        forward         1.41 s    24.1 %  ███▍
        loss             219 ms    3.7 %  ▌
        backward        2.55 s    43.5 %  ██████
        optimizer        957 ms   16.3 %  ██▎
        evaluate         326 ms    5.6 %  ▊
        tear down        800 us   <0.1 %  ▏
        unaccounted     51.9 ms    0.9 %  ▏
        ────────────────────────────────────────
        total           5.87 s   100.0 %  = wall
        not shown at this width: spans, mean,
          p95 (--json has all)

        epoch time  mean 3.76 s   first 4.06 s
                    steady 3.68 s
        step time   mean 1.21 ms   median
                    1.19 ms   p95 1.48 ms
                    26,446 samples/s
        data        8.4 MiB to the model; 0 B
                    read from storage
        memory      peak 112 MiB
        machine     1.02 of 2 CPUs busy
        laptime     its own cost 1.40 ms, 0.02 %
                    of the time: 1.08 ms for
                    56,262 spans of 19.2 ns,
                    320 us to write the log

        warning: 1,203 spans were dropped
          because the ring was full; times and
          shares are complete, p95 is not
        warning: 4.0 KiB of 0.log could not be
          read; what was recorded there is
          missing

        verdict: the model is the limit:
          backward takes 43 % of the time
        also: the first epoch was 10 % slower
          than the steady ones

        run kept in
          .laptime/20260301T101500Z-3f9a2c71
        next: `laptime report` shows this again,
          `laptime report --json` has all
        ");
}

#[test]
fn the_progress_line_gives_up_what_matters_least_first() {
    let lines: Vec<String> = [120, 100, 80, 60, 40, 20]
        .map(|width| progress_line(&sample::running(), &Style { width, ..Style::default() }))
        .to_vec();
    insta::assert_snapshot!(lines.join("\n"), @r"
        mlp  epoch 2/3  step 1,204/3,125  loss 0.0123  27,025 samples/s  left 12 s (11–14)  [dffffflbbbbbbbbboooo]
        mlp  epoch 2/3  step 1,204/3,125  loss 0.0123  27,025 samples/s  left 12 s (11–14)  [dffflbbbbbbooo]
        epoch 2/3  loss 0.0123  27,025 samples/s  left 12 s (11–14)  [dfffflbbbbbbbbooo]
        epoch 2/3  loss 0.0123  27,025 samples/s  left 12 s (11–14)
        epoch 2/3  left 12 s (11–14)
        epoch 2/3
        ");
}

#[test]
fn runs_are_listed_newest_first() {
    insta::assert_snapshot!(runs_text(&some_runs(), ".laptime", &Style::default()), @r"
    run       name        status    started UTC    wall       epochs  result
    3f9a2c41  gpt         finished  03-04 10:15  12.4 s  4,200 steps  loss 0.0123
    3f9a2c31  cnn with…   finished  03-03 10:15   2h05m            3  val acc 98.1 %
    3f9a2c21  broken      killed    03-02 10:15       –            –  –
    3f9a2c11  mlp         finished  03-01 10:15  12.4 s            3  loss 0.0123
    not shown at this width: disk (--json has all)

    4 runs in .laptime, 4.7 MiB
    next: `laptime report RUN` shows one, by its name or what stands under run
    ");
}

#[test]
fn without_runs_the_list_says_how_to_get_one() {
    insta::assert_snapshot!(runs_text(&[], ".laptime", &Style::default()), @r"
        no runs yet in .laptime
        hint: `laptime demo` trains a small model and keeps the first one
        ");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (width, unicode) in [(40, true), (60, false), (80, true), (120, true)] {
        let style = Style { width, unicode, ..Style::default() };
        for text in everything(&style) {
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{} > {width}: {line}", line.chars().count());
            }
        }
    }
}

#[test]
fn colour_adds_codes_and_nothing_else() {
    let colored = everything(&Style { color: true, ..Style::default() });
    for (plain, colored) in everything(&Style::default()).iter().zip(&colored) {
        assert!(!plain.contains('\x1b'));
        assert_eq!(without_codes(colored), *plain);
    }
    assert!(colored.concat().contains('\x1b'));
}

#[test]
fn ascii_terminals_get_ascii_and_nobody_gets_not_a_number() {
    for text in everything(&Style { unicode: false, ..Style::default() }) {
        assert!(text.is_ascii(), "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}

#[test]
fn the_rows_of_epochs_add_up_at_every_width() {
    for width in [40, 60, 80] {
        let text = report_text(&sample::finished(), KEPT, &Style { width, ..Style::default() });
        let mut lines = text.lines().skip_while(|line| !line.contains("wall ="));
        let head: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
        let last = head.iter().position(|title| *title == "rest").unwrap() - 1;
        let first: Vec<f64> = numbers(lines.next().unwrap());
        let parts: f64 = first[2..=last].iter().sum();
        assert!((parts - first[1]).abs() < 0.04, "{width}: {first:?}");
    }
}

fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().map(|word| word.replace(',', "").parse().unwrap()).collect()
}

fn everything(style: &Style) -> Vec<String> {
    let mut texts = vec![runs_text(&some_runs(), ".laptime", style), runs_text(&[], ".laptime", style)];
    for (_, report) in sample::all() {
        texts.push(report_text(&report, KEPT, style));
        texts.push(report_text(&report, None, style));
        texts.push(summary_text(&report, KEPT, style));
        texts.push(summary_text(&report, None, style));
        texts.push(progress_line(&report, style));
    }
    texts
}

fn some_runs() -> Vec<RunRow> {
    let run = |day: u32, name: &str, status: Status| RunRow {
        id: format!("2026030{day}T101500Z-3f9a2c{day}1"),
        name: name.to_owned(),
        status,
        started: format!("2026-03-0{day}T10:15:00Z"),
        wall_s: Some(12.4),
        epochs: Some(3),
        steps: Some(9_375),
        loss: Some(0.0123),
        metric: None,
        disk_bytes: 1_234_567,
    };
    let accuracy = Some(("validation_accuracy".to_owned(), Some(0.981)));
    vec![
        run(1, "mlp", Status::Finished),
        RunRow {
            metric: accuracy,
            wall_s: Some(7_500.0),
            ..run(3, "cnn with a rather long name", Status::Finished)
        },
        RunRow { epochs: Some(0), steps: Some(4_200), ..run(4, "gpt", Status::Finished) },
        RunRow { wall_s: None, epochs: None, steps: None, loss: None, ..run(2, "broken", Status::Killed) },
    ]
}

fn without_codes(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|part| part.split_once('m').map_or("", |(_, rest)| rest)).collect::<String>()
}

#[test]
fn evaluation_within_a_pass_and_after_it_have_heads_of_their_own() {
    let mut report = sample::finished();
    for epoch in &mut report.epochs {
        epoch.stages.insert("evaluate".to_owned(), 0.5);
        epoch.wall_s += 0.5;
    }
    insta::assert_snapshot!(epochs::epochs_text(&report, &Style::default()), @r"
        epoch  wall = fwd  bwd  opt eval rest  eval after  samples/s    loss  val loss
            1  4.57  1.05 1.89 0.71 0.50 0.43        0.33     24,546   0.410     0.471
            2  4.20  0.95 1.71 0.64 0.50 0.39        0.30     27,025  0.0512    0.0589
            3  4.20  0.95 1.71 0.64 0.50 0.39        0.30     27,025  0.0152    0.0175
        times in s; 3,125 steps an epoch; rest: data, h2d, loss, unaccounted
        ");
    report.epochs.iter_mut().for_each(|epoch| epoch.evaluate_s = 0.0);
    let head = epochs::epochs_text(&report, &Style::default());
    assert!(head.lines().next().unwrap().matches("eval").count() == 1, "{head}");
}

#[test]
fn the_name_of_a_compiled_function_is_whole_where_there_is_room_and_else_in_the_note() {
    let mut report = sample::finished();
    for epoch in &mut report.epochs {
        let computed: f64 = ["forward", "loss", "backward", "optimizer"]
            .iter()
            .filter_map(|stage| epoch.stages.remove(*stage))
            .sum();
        epoch.stages.insert("train_function".to_owned(), computed);
    }
    let text = |width| epochs::epochs_text(&report, &Style { width, ..Style::default() });
    insta::assert_snapshot!(text(80), @r"
        epoch  wall = data  h2d train_function rest  eval  samples/s    loss  val loss
            1  4.07   0.18 0.05           3.81 0.04  0.33     24,546   0.410     0.471
            2  3.70   0.17 0.04           3.45 0.04  0.30     27,025  0.0512    0.0589
            3  3.70   0.17 0.04           3.45 0.04  0.30     27,025  0.0152    0.0175
        times in s; 3,125 steps an epoch; rest: unaccounted
        ");
    insta::assert_snapshot!(text(60), @r"
        epoch  wall = train_f… rest  samples/s    loss  val loss
            1  4.07       3.81 0.27     24,546   0.410     0.471
            2  3.70       3.45 0.25     27,025  0.0512    0.0589
            3  3.70       3.45 0.25     27,025  0.0152    0.0175
        times in s; 3,125 steps an epoch; rest: data, h2d,
          unaccounted; train_f…: train_function
        not shown at this width: eval (--json has all)
        ");
}

#[test]
fn a_summary_shows_three_verdicts_of_fits_and_where_the_others_are() {
    let mut report = sample::several();
    let verdict = |fit: u32| laptime_analyse::Finding {
        fit: Some(fit),
        verdict: true,
        ..laptime_analyse::Finding::new("compute_bound", format!("fit {}: computing is the limit", fit + 1))
    };
    report.findings = (0..5).map(verdict).collect();
    report.findings.push(laptime_analyse::Finding::new("start_up", "start-up took 61 % of the run"));
    let findings = |text: String| {
        text.lines()
            .filter(|line| line.contains(": ") || line.contains(" more "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let summary = findings(summary_text(&report, KEPT, &Style::default()));
    let expected = [
        "verdict: fit 1: computing is the limit",
        "verdict: fit 2: computing is the limit",
        "verdict: fit 3: computing is the limit",
        "also: start-up took 61 % of the run",
        "2 more in `laptime report`",
    ];
    assert_eq!(summary.iter().filter(|line| !line.starts_with("law")).skip(1).collect::<Vec<_>>(), expected);
    let whole = findings(at_80(&report));
    assert_eq!(whole.iter().filter(|line| line.starts_with("verdict: fit")).count(), 5);
}

#[test]
fn the_header_and_the_verdict_round_a_share_alike() {
    let mut report = sample::finished();
    let wall: f64 = report.epochs.iter().map(|epoch| epoch.wall_s).sum();
    let waited: f64 = report.epochs.iter().filter_map(|epoch| epoch.stages.get("data_wait")).sum();
    let share = report.step_share("data_wait").unwrap();
    assert!((share - waited / wall).abs() < 1e-9);
    let first = |report: &laptime_analyse::Report| {
        summary_text(report, KEPT, &Style::default()).lines().next().unwrap().to_owned()
    };
    assert!(
        first(&report).ends_with(&format!("waiting for data {}", units::percent(share))),
        "{}",
        first(&report)
    );
    for epoch in &mut report.epochs {
        epoch.stages.insert("prepare".to_owned(), epoch.wall_s * 4.0);
    }
    assert!(first(&report).ends_with("preparing batches 80 %"), "{}", first(&report));
}

const GPU_BOUND: [(&str, f64); 7] = [
    ("forward", 0.221),
    ("backward", 0.506),
    ("optimizer", 0.002),
    ("copy", 0.001),
    ("idle_data", 0.004),
    ("idle_host", 0.002),
    ("idle_sync", 0.001),
];

#[test]
fn a_run_whose_gpu_is_the_limit() {
    let verdict = "the GPU is the limit: it computes 99 % of each step (backward 69 %, forward 30 %); the host is 4 \
                   steps ahead";
    let report = sample::on_gpu(&GPU_BOUND, Some(0.989), verdict);
    insta::assert_snapshot!(at_80(&report), @r"
    train.py · finished · 2 epochs · 1.52 s
    mlp · 100,000 rows · batch 32 · 769 parameters · lr 0.001 · optimizer adam
    cuda:0 · device busy 99 % · NVIDIA H200 · 1 thread on 2 CPUs · 2026-03-01 10:15
      UTC

    epoch  wall = device fwd bwd opt | idle: data launch rest  samples/s    loss
        1   737          221 506   2            4      2    2      5,563   0.410
        2   737          221 506   2            4      2    2      5,563  0.0512
    times in ms; 20 steps an epoch; rest: copy, sync, unexplained

    stage              time    share                        spans     mean      p95
    start-up        41.2 ms    2.7 %  █▎                        –        –        –
    data wait       65.9 ms    4.3 %  █▉                       40  1.65 ms  1.98 ms
    host to device  17.1 ms    1.1 %  ▌                        40   427 us   513 us
    forward          378 ms   25.0 %  ███████████▏             40  9.46 ms  11.4 ms
    loss            58.6 ms    3.9 %  █▊                       40  1.46 ms  1.76 ms
    backward         683 ms   45.1 %  ████████████████████     40  17.1 ms  20.5 ms
    optimizer        256 ms   16.9 %  ███████▌                 40  6.41 ms  7.69 ms
    evaluate           0 s     0.0 %                            2     0 s      0 s
    tear down        800 us    0.1 %  ▏                         –        –        –
    unaccounted     14.3 ms    0.9 %  ▍                         –        –        –
    ───────────────────────────────────────────────────────────────────────────────
    total           1.52 s   100.0 %  = wall time

    on cuda:0, NVIDIA H200
    stage                time    share
    forward            442 ms   29.2 %  ████████▊
    backward          1.01 s    66.8 %  ████████████████████
    optimizer         4.00 ms    0.3 %  ▏
    copy              2.00 ms    0.1 %  ▏
    idle: data late   8.00 ms    0.5 %  ▏
    idle: host late   46.0 ms    3.0 %  ▉
    idle: after wait  2.00 ms    0.1 %  ▏
    ────────────────────────────────────────────────────────
    total             1.52 s   100.0 %  = wall time

    epoch time  mean 3.76 s   first 4.06 s   steady 3.68 s
    step time   mean 1.21 ms   median 1.19 ms   p95 1.48 ms   26,446 samples/s
    data        4.2 MiB an epoch to the model; 0 B read from storage; 3.0 GiB copied
                to the device (33 % from pageable memory)
    memory      peak 112 MiB; 31.0 GiB on the device
    machine     1.02 of 2 CPUs busy
    device      host 4 steps ahead; copies 10.0 ms, 2.00 ms of it while nothing was
                computed; clock 1.75 of 1.98 GHz; 612 of 700 W; up to 66 C
    laptime     its own cost 1.40 ms, 1.5 % of the time: 1.08 ms for 56,262 spans of
                19.2 ns, 320 us to write the log

    verdict: the GPU is the limit: it computes 99 % of each step (backward 69 %,
      forward 30 %); the host is 4 steps ahead

    run kept in .laptime/20260301T101500Z-3f9a2c71
    next: `laptime report` shows this again, `laptime report --json` has all
    ");
    insta::assert_snapshot!(summary_text(&report, KEPT, &Style::default()), @r"
    laptime  train.py  2 epochs  1.52 s   device busy 99 %   NVIDIA H200

    epoch  wall = device fwd bwd opt | idle: data launch rest  samples/s    loss
        1   737          221 506   2            4      2    2      5,563   0.410
        2   737          221 506   2            4      2    2      5,563  0.0512
    times in ms; 20 steps an epoch; rest: copy, sync, unexplained

    verdict: the GPU is the limit: it computes 99 % of each step (backward 69 %,
      forward 30 %); the host is 4 steps ahead
    run kept in .laptime/20260301T101500Z-3f9a2c71   laptime report
    ");
}

#[test]
fn a_run_whose_launches_are_late() {
    let rows = [
        ("forward", 0.05),
        ("backward", 0.09),
        ("optimizer", 0.05),
        ("idle_data", 0.05),
        ("idle_host", 0.76),
    ];
    let verdict = "the host is the limit: the GPU idles 76 % of each step waiting for launches and computes 19 %; \
                   torch.compile, CUDA graphs or larger batches";
    let report = sample::on_gpu(&rows, Some(0.19), verdict);
    insta::assert_snapshot!(summary_text(&report, KEPT, &Style::default()), @r"
    laptime  train.py  2 epochs  2.04 s   device busy 19 %   NVIDIA H200

    epoch  wall = device fwd  bwd  opt | idle: data launch rest  samples/s    loss
        1  1.00         0.05 0.09 0.05         0.05   0.76 0.00      4,100   0.410
        2  1.00         0.05 0.09 0.05         0.05   0.76 0.00      4,100  0.0512
    times in s; 20 steps an epoch; rest: unexplained

    verdict: the host is the limit: the GPU idles 76 % of each step waiting for
      launches and computes 19 %; torch.compile, CUDA graphs or larger batches
    run kept in .laptime/20260301T101500Z-3f9a2c71   laptime report
    ");
}
