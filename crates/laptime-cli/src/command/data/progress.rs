//! The line that moves while a dataset is looked at.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use laptime_core::units;
use laptime_data::survey::Watch;

use crate::screen::Screen;
use crate::text::{Style, shortened};

/// Often enough to look alive; what takes less than one shows nothing.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// Draws the line until it is dropped; nothing where standard error is no terminal.
pub(super) struct Progress {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    pub(super) fn follow(watch: &Arc<Watch>, quiet: bool, screen: &Screen) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if quiet || bar.is_hidden() {
            return Self { over, thread: None };
        }
        let (watch, until, style) = (Arc::clone(watch), Arc::clone(&over), *screen.error_style());
        let body = move || draw(&watch, &bar, &style, &until);
        Self { over, thread: thread::Builder::new().name("laptime-progress".into()).spawn(body).ok() }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A line that could not be drawn is no reason to fail.
            let _ = thread.join();
        }
    }
}

fn draw(watch: &Watch, bar: &ProgressBar, style: &Style, over: &AtomicBool) {
    if let Ok(plain) = ProgressStyle::with_template("{msg}") {
        bar.set_style(plain);
    }
    while !over.load(Ordering::Acquire) {
        thread::park_timeout(REDRAW_INTERVAL);
        if !over.load(Ordering::Acquire) {
            bar.set_message(style.fitted(&shortened(&line(watch), style.width)));
        }
    }
    bar.finish_and_clear();
}

fn line(watch: &Watch) -> String {
    let found = format!("{}, {}", units::counted(watch.files(), "file"), units::bytes(watch.bytes()));
    let read = match watch.read_bytes() {
        0 => String::new(),
        bytes => format!(" · {} read to count rows", units::bytes(bytes)),
    };
    format!("looking: {found}{read} · Ctrl-C shows what is known")
}
