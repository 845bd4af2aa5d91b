//! A thousand kills: every log opens, no acknowledged span is lost, open stages are named.

use std::process::Command;

#[test]
fn nothing_acknowledged_is_lost_in_a_thousand_kills() {
    let output = Command::new(env!("CARGO_BIN_EXE_laptime-benches")).args(["kill", "1000"]).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{out}");
    assert!(output.status.success(), "{out}\n{err}");
}
