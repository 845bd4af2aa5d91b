//! The progress line: follows the run on disk while it grows, on standard error.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::screen::Screen;
use crate::study::Study;
use crate::text::{Style, progress_line};

/// Often enough to look alive, seldom enough to cost nothing.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// Draws the progress line until it is dropped; nothing where standard error is no terminal.
pub(crate) struct Live {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// Follows a run; `None` draws nothing.
    pub(crate) fn follow(run: Option<&Path>, screen: &Screen) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let study = run.filter(|_| !bar.is_hidden()).and_then(|run| Study::open(run).ok());
        let style = *screen.error_style();
        let until = Arc::clone(&over);
        let thread = study.and_then(|study| {
            let body = move || draw(study, &bar, &style, &until);
            thread::Builder::new().name("laptime-progress".into()).spawn(body).ok()
        });
        Self { over, thread }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A line that could not be drawn is no reason to fail.
            let _ = thread.join();
        }
    }
}

fn draw(mut study: Study, bar: &ProgressBar, style: &Style, over: &AtomicBool) {
    if let Ok(plain) = ProgressStyle::with_template("{msg}") {
        bar.set_style(plain);
    }
    while !over.load(Ordering::Acquire) {
        if let Ok(report) = study.report() {
            bar.set_message(progress_line(&report, style));
        }
        thread::park_timeout(REDRAW_INTERVAL);
    }
    bar.finish_and_clear();
}
