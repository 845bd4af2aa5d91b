//! What shows a run while it grows: the progress line, and the files that TensorBoard reads.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

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

/// Shows a run until it is ended.
pub(crate) struct Live {
    over: Arc<AtomicBool>,
    following: Following,
}

/// Who has the views: a thread that follows the run, or nobody where there is nothing to follow.
enum Following {
    Thread(JoinHandle<Views>),
    Nothing(Views),
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
        let over = Arc::new(AtomicBool::new(false));
        let wanted = views.line.is_some() || views.board.is_some();
        let Some(study) = run.filter(|_| wanted).and_then(|run| Study::open(run).ok()) else {
            return Self { over, following: Following::Nothing(views) };
        };
        let until = Arc::clone(&over);
        let following = Following::Thread(thread::spawn(move || follow(study, views, &until)));
        Self { over, following }
    }

    /// Ends it; gives back the board, for which the end of the run is still to come.
    pub(crate) fn end(self) -> Option<Board> {
        self.over.store(true, Ordering::Release);
        let views = match self.following {
            Following::Nothing(views) => views,
            Following::Thread(thread) => {
                thread.thread().unpark();
                // What could not be shown is no reason to fail.
                thread.join().unwrap_or_default()
            }
        };
        if let Some(line) = views.line {
            line.bar.finish_and_clear();
        }
        views.board
    }
}

fn follow(mut study: Study, mut views: Views, over: &AtomicBool) -> Views {
    while !over.load(Ordering::Acquire) {
        if let Ok(report) = study.report() {
            views.show(&report);
        }
        thread::park_timeout(views.interval());
    }
    views
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
