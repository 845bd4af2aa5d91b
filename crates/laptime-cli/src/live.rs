//! What shows a run while it grows: the progress line, and the files that TensorBoard reads.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use laptime_analyse::Report;

use crate::export::tensorboard::Board;
use crate::screen::{self, Screen};
use crate::study::Study;
use crate::text::{Style, progress_line};

/// Often enough to look alive, seldom enough to cost nothing.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);
/// TensorBoard itself looks every 5 s.
const BOARD_INTERVAL: Duration = Duration::from_secs(1);
/// Showing a run of very many epochs takes long; this many times as long is the training left alone.
const REST: u32 = 50;

/// Shows a run until it is ended.
pub(crate) struct Live {
    over: Arc<AtomicBool>,
    views: Arc<Mutex<Views>>,
    thread: Option<JoinHandle<()>>,
}

/// Where a growing run is shown.
#[derive(Default)]
pub(crate) struct Views {
    line: Option<ProgressLine>,
    board: Option<Board>,
}

impl Views {
    /// Adds the line on standard error, where that is a terminal.
    pub(crate) fn with_line(mut self, screen: &Screen) -> Self {
        self.line = ProgressLine::new(screen);
        self
    }

    /// Adds the files for TensorBoard.
    pub(crate) fn with_board(mut self, board: Option<Board>) -> Self {
        self.board = board;
        self
    }

    fn show(&mut self, report: &Report) {
        if let Some(line) = &self.line {
            line.draw(report);
        }
        let Some(warning) = self.board.as_mut().and_then(|board| board.see(report)) else { return };
        match &self.line {
            Some(line) => line.bar.suspend(|| screen::note(&warning)),
            None => screen::note(&warning),
        }
    }

    fn interval(&self) -> Duration {
        if self.line.is_some() { REDRAW_INTERVAL } else { BOARD_INTERVAL }
    }
}

impl Live {
    /// Follows a run; `None` shows nothing.
    pub(crate) fn follow(run: Option<&Path>, views: Views) -> Self {
        let wanted = views.line.is_some() || views.board.is_some();
        let (over, views) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(views)));
        let study = run.filter(|_| wanted).and_then(|run| Study::open(run).ok());
        let thread = study.and_then(|study| {
            let (until, shown) = (Arc::clone(&over), Arc::clone(&views));
            let body = move || follow(study, &shown, &until);
            thread::Builder::new().name("laptime-live".into()).spawn(body).ok()
        });
        Self { over, views, thread }
    }

    /// Ends it; gives back the board, for which the end of the run is still to come.
    pub(crate) fn end(self) -> Option<Board> {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread {
            thread.thread().unpark();
            // What could not be shown is no reason to fail.
            let _ = thread.join();
        }
        let Views { line, board } = std::mem::take(&mut *lock(&self.views));
        if let Some(line) = line {
            line.bar.finish_and_clear();
        }
        board
    }
}

fn follow(mut study: Study, views: &Mutex<Views>, over: &AtomicBool) {
    while !over.load(Ordering::Acquire) {
        let began = Instant::now();
        let mut views = lock(views);
        if let Ok(report) = study.report() {
            views.show(&report);
        }
        let interval = views.interval();
        drop(views);
        thread::park_timeout(interval.max(began.elapsed() * REST));
    }
}

/// What a view that broke off left behind is still worth ending.
fn lock(views: &Mutex<Views>) -> MutexGuard<'_, Views> {
    views.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The line that moves.
struct ProgressLine {
    bar: ProgressBar,
    style: Style,
}

impl ProgressLine {
    /// `None` where standard error is no terminal.
    fn new(screen: &Screen) -> Option<Self> {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(plain) = ProgressStyle::with_template("{msg}") {
            bar.set_style(plain);
        }
        (!bar.is_hidden()).then(|| Self { bar, style: *screen.error_style() })
    }

    fn draw(&self, report: &Report) {
        self.bar.set_message(progress_line(report, &self.style));
    }
}
