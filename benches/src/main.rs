//! Commands that measure laptime against its bars: `cargo run --release -p laptime-benches -- NAME`.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod guard;

fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("guard") => guard::run(),
        _ => {
            println!("usage: cargo run --release -p laptime-benches -- guard");
            Ok(())
        }
    }
}
