//! What follows a run while it grows: the progress line, the files that TensorBoard reads, and the outlook.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use laptime_analyse::Report;
use laptime_launch::give_way;

use crate::export::tensorboard::Board;
use crate::live_page::{self, Page, Title};
use crate::outlook::Outlook;
use crate::screen::{self, Screen};
use crate::study::Study;
use crate::text::{Style, progress_line};

/// Often enough to look alive, seldom enough to cost nothing.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);
/// TensorBoard itself looks every 5 s.
const BOARD_INTERVAL: Duration = Duration::from_secs(1);
/// Showing a run of very many epochs takes long; this many times as long is the training left alone.
const REST: u32 = 50;
/// The same for a thread that gives way to others, whose looks take long only where the CPUs are busy.
const REST_GIVING_WAY: u32 = 10;

/// Titles have no colours.
const PLAIN_TITLE: Style = Style { width: 80, color: false, unicode: true };

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
    outlook: Option<Outlook>,
    page: Option<Page>,
    title: Option<Title>,
}

/// What is left of the views when the run has ended: the end is still to come for them.
#[derive(Default)]
pub(crate) struct Unfinished {
    pub(crate) board: Option<Board>,
    pub(crate) outlook: Option<Outlook>,
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

    /// Adds the deadline and the forecasts.
    pub(crate) fn with_outlook(mut self, outlook: Option<Outlook>) -> Self {
        self.outlook = outlook;
        self
    }

    /// Adds the page that fills the terminal, and its title.
    pub(crate) fn with_terminal(mut self, page: Option<Page>, title: Option<Title>) -> Self {
        (self.page, self.title) = (page, title);
        self
    }

    fn show(&mut self, report: &Report, study: &mut Study) {
        if let Some(page) = &mut self.page {
            // A terminal that is gone shows nothing; the command goes on.
            let _ = page.draw(report, &study.pulse());
        }
        if let Some(title) = &mut self.title {
            title.set(report, &PLAIN_TITLE);
        }
        if let Some(outlook) = &mut self.outlook {
            outlook.look(report, study);
        }
        if let Some(line) = &self.line {
            line.draw(report);
        }
        let Some(warning) = self.board.as_mut().and_then(|board| board.see(report)) else { return };
        match &self.line {
            Some(line) => line.bar.suspend(|| screen::note(&warning)),
            None => screen::note(&warning),
        }
    }

    fn is_outlook_only(&self) -> bool {
        self.line.is_none() && self.board.is_none() && !self.on_terminal()
    }

    fn on_terminal(&self) -> bool {
        self.page.is_some() || self.title.is_some()
    }

    fn any(&self) -> bool {
        !self.is_outlook_only() || self.outlook.is_some()
    }

    /// How long to wait, so long after the begin.
    fn interval(&self, elapsed: Duration) -> Duration {
        match (&self.line, &self.board) {
            (Some(_), _) => REDRAW_INTERVAL,
            (None, Some(_)) => BOARD_INTERVAL,
            (None, None) if self.on_terminal() => live_page::INTERVAL,
            (None, None) => Outlook::interval(elapsed),
        }
    }
}

impl Live {
    /// Follows a run; `None` shows nothing.
    pub(crate) fn follow(run: Option<&Path>, views: Views) -> Self {
        let (wanted, paged) = (views.any(), views.page.is_some());
        let (over, views) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(views)));
        let study = run.filter(|_| wanted).and_then(|run| Study::open(run).ok());
        let study = study.map(|study| if paged { study.with_pulse() } else { study });
        let thread = study.and_then(|study| {
            let (until, shown) = (Arc::clone(&over), Arc::clone(&views));
            let body = move || follow(study, &shown, &until);
            thread::Builder::new().name("laptime-live".into()).spawn(body).ok()
        });
        Self { over, views, thread }
    }

    /// Ends it.
    pub(crate) fn end(self) -> Unfinished {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread {
            thread.thread().unpark();
            // What could not be shown is no reason to fail.
            let _ = thread.join();
        }
        // The page and the title leave the terminal as it was.
        let Views { line, board, outlook, .. } = std::mem::take(&mut *lock(&self.views));
        if let Some(line) = line {
            line.bar.finish_and_clear();
        }
        Unfinished { board, outlook }
    }
}

fn follow(mut study: Study, views: &Mutex<Views>, over: &AtomicBool) {
    let followed = Instant::now();
    let mut rest = if lock(views).on_terminal() { live_page::REST } else { REST };
    if lock(views).is_outlook_only() {
        rest = REST_GIVING_WAY;
        // Nobody waits for it, and there is nothing to see yet.
        give_way();
        thread::park_timeout(Outlook::interval(Duration::ZERO));
    }
    while !over.load(Ordering::Acquire) {
        let began = Instant::now();
        let mut views = lock(views);
        if let Ok(report) = study.report() {
            views.show(&report, &mut study);
        }
        let interval = views.interval(followed.elapsed());
        drop(views);
        thread::park_timeout(interval.max(began.elapsed() * rest));
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
