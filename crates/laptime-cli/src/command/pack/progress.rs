//! The line that moves while a pack is written or verified.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use laptime_core::units;
use laptime_data::pack::PackWatch;

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
    pub(super) fn follow(watch: &Arc<PackWatch>, doing: &'static str, quiet: bool, screen: &Screen) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if quiet || bar.is_hidden() {
            return Self { over, thread: None };
        }
        let (watch, until, style) = (Arc::clone(watch), Arc::clone(&over), *screen.error_style());
        let body = move || draw(&watch, doing, &bar, &style, &until);
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

fn draw(watch: &PackWatch, doing: &str, bar: &ProgressBar, style: &Style, over: &AtomicBool) {
    if let Ok(plain) = ProgressStyle::with_template("{msg}") {
        bar.set_style(plain);
    }
    while !over.load(Ordering::Acquire) {
        thread::park_timeout(REDRAW_INTERVAL);
        if !over.load(Ordering::Acquire) {
            bar.set_message(style.fitted(&shortened(&line(watch, doing), style.width)));
        }
    }
    bar.finish_and_clear();
}

fn line(watch: &PackWatch, doing: &str) -> String {
    let share = watch.share().map(|share| format!(" · {}", units::percent(share))).unwrap_or_default();
    match watch.rows() {
        0 => format!("{doing}{share}"),
        rows => format!("{doing}: {}{share} · Ctrl-C keeps what is finished", units::counted(rows, "row")),
    }
}
