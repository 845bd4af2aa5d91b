//! The `laptime` command.

#![expect(unsafe_code, reason = "code that runs before the Rust runtime")]

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether SIGPIPE was ignored when the process was started: the runtime ignores it for itself before `main`,
/// and a command that laptime runs is to find what it would find without laptime.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);

extern "C" fn look_at_broken_pipes() {
    // SAFETY: a zeroed action is valid for the call that fills it.
    let action = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut action);
        action.sa_sigaction
    };
    PIPE_IGNORED.store(action == libc::SIG_IGN, Ordering::Relaxed);
}

// SAFETY: the section holds functions without arguments that the C library calls before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look_at_broken_pipes;

fn main() -> std::process::ExitCode {
    // The first line: what comes before training is part of the run.
    let began = laptime_record::ProgramStart::now();
    if PIPE_IGNORED.load(Ordering::Relaxed) {
        laptime_cli::keep_broken_pipes_silent();
    }
    laptime_cli::run(&began, std::env::args_os())
}
