//! The site: from a request to its answer.

use laptime_analyse::Report;
use laptime_analyse::compare::Asked;
use laptime_analyse::sweep::{Sweep, SweepStatus};
use laptime_core::Status;
use laptime_store::{Catalogue, Collection, CollectionKind, Collections, RunEntry};

use super::door::{Door, Shown};
use super::filter::Filter;
use super::list_page::List;
use super::opened::Opened;
use super::problem::problem_content;
use super::query::Query;
use super::refusal::Refusal;
use super::request::Request;
use super::response::Response;
use super::routes::Route;
use super::shelf::Shelf;
use super::shelved::Shelved;
use crate::command::compare::comparison;
use crate::command::sweep::SweepState;
use crate::export::prometheus_text;
use crate::failure::Failure;
use crate::html::{Assets, SCRIPT, Shell, compare_page, page, run_page, style, sweep_page};
use crate::one_line::shown_path;

const LIST_STYLE: &str = include_str!("list.css");
const LIST_SCRIPT: &str = include_str!("list.js");
const ICON: &str = include_str!("icon.svg");

/// Runs whose pages and whose metrics are kept open.
const PAGES: usize = 4;
const MEASURED: usize = 32;

/// How often a page that follows a run asks for it, seconds.
const REFRESH_S: u32 = 2;

/// The links that every page has.
const LINKS: [(&str, &str); 1] = [("/", "all runs")];

/// All that is answered.
pub(super) struct Site {
    door: Door,
    catalogue: Catalogue,
    sweeps: Collections,
    shelf: Shelf,
    pages: Opened,
    metrics: Opened,
    folder: String,
}

impl Site {
    /// The site of a folder of runs.
    pub(super) fn new(catalogue: Catalogue, door: Door) -> Self {
        let folder = shown_path(catalogue.root());
        let sweeps = Collections::at(catalogue.root(), CollectionKind::Sweep);
        let shelf = Shelf::of(catalogue.clone());
        let (pages, metrics) = (Opened::of_at_most(PAGES), Opened::of_at_most(MEASURED));
        Self { door, catalogue, sweeps, shelf, pages, metrics, folder }
    }

    /// The answer to a request.
    pub(super) fn answer(&self, request: &Request) -> Response {
        let shown = match self.door.check(request) {
            Ok(shown) => shown,
            Err(refusal) => return refusal.into(),
        };
        let Some(route) = Route::at(&request.path) else { return Refusal::NotFound.into() };
        // The token leaves the address bar: it is not to be in a screenshot, and the cookie has it from now on.
        if shown == Shown::Address && route.is_page() {
            let to = format!("{}{}", request.path, request.query.without("token"));
            return Response::elsewhere(to).with("Set-Cookie", self.door.set_cookie());
        }
        self.found(route, &request.query)
    }

    fn found(&self, route: Route, query: &Query) -> Response {
        let id = query.first("id").unwrap_or_default();
        match route {
            Route::List => self.list(query),
            Route::Run => self.run(id).unwrap_or_else(|failure| no_page(&failure)),
            Route::Sweep => self.sweep(id).unwrap_or_else(|failure| no_page(&failure)),
            Route::Compare => {
                let ids: Vec<&str> = query.all("run").collect();
                self.compare(&ids).unwrap_or_else(|failure| no_page(&failure))
            }
            Route::Metrics => self.metrics(),
            Route::Style => Response::found("text/css; charset=utf-8", style() + LIST_STYLE),
            Route::Script => Response::found("text/javascript; charset=utf-8", SCRIPT),
            Route::ListScript => Response::found("text/javascript; charset=utf-8", LIST_SCRIPT),
            Route::Icon => Response::found("image/svg+xml", ICON),
        }
    }

    fn list(&self, query: &Query) -> Response {
        let (listing, filter) = (self.shelf.listing(), Filter::of(query));
        let mut sweeps = self.sweeps.list().unwrap_or_default();
        sweeps.reverse();
        let read = |entry: &Collection| {
            let sweep = SweepState::read(entry).map(|state| state.so_far());
            sweep.map_err(|failure| (entry.id.clone(), failure.because.join(": ")))
        };
        let sweeps: Vec<Result<Sweep, _>> = sweeps.iter().map(read).collect();
        let list = List { folder: &self.folder, listing: &listing, filter: &filter, sweeps: &sweeps };
        Response::page(page("Runs", &list.content(), &shell(None)))
    }

    /// The runs that go on, and the newest: what a scraper wants to see change.
    fn metrics(&self) -> Response {
        let runs = self.shelf.listing().runs;
        let goes_on = |run: &Shelved| run.status() == "running";
        let wanted = runs.iter().enumerate().filter(|(at, run)| *at == 0 || goes_on(run));
        let wanted = wanted.map(|(_, run)| &run.entry).take(MEASURED);
        let reports: Vec<Report> = wanted.filter_map(|entry| self.metrics.report(entry)).collect();
        Response::found("text/plain; version=0.0.4; charset=utf-8", prometheus_text(&reports))
    }

    fn run(&self, id: &str) -> Result<Response, Failure> {
        let entry = self.entry(id)?;
        let not_shown = || Failure::new(format!("Run {id} cannot be shown"));
        let story = self
            .pages
            .story(&entry)
            .map_err(|error| Failure { hint: error.hint(), ..not_shown().caused_by(&error) })?;
        let refresh_s = (story.report.run.status == Status::Running).then_some(REFRESH_S);
        Ok(Response::page(run_page(&story, &shell(refresh_s))))
    }

    fn sweep(&self, id: &str) -> Result<Response, Failure> {
        let all = self.sweeps.list().unwrap_or_default();
        let entry = all.iter().find(|entry| entry.id == id).ok_or_else(|| unknown("sweep"))?;
        let sweep = SweepState::read(entry)?.document();
        let refresh_s = (sweep.sweep.status == SweepStatus::Running).then_some(REFRESH_S);
        Ok(Response::page(sweep_page(&sweep, &shell(refresh_s))))
    }

    fn compare(&self, ids: &[&str]) -> Result<Response, Failure> {
        let [a, b] = ids else {
            let ticked = laptime_core::units::counted(ids.len() as u64, "run");
            return Err(Failure::usage("Two runs are compared")
                .because(format!("{ticked} ticked"))
                .hint("go back and tick two runs"));
        };
        if a == b {
            return Err(Failure::usage("Two runs are compared").because("both are the same run"));
        }
        let (a, b) = (self.entry(a)?, self.entry(b)?);
        // Whatever the order they were ticked in: the newer one is judged.
        let (old, new) = if a.meta.started_real_ns <= b.meta.started_real_ns { (a, b) } else { (b, a) };
        let (old_name, new_name) = (old.meta.name.clone(), new.meta.name.clone());
        let (old, new) = ((old_name.as_str(), &[old][..]), (new_name.as_str(), &[new][..]));
        let comparison = comparison(&self.catalogue, old, new, &Asked::default())?;
        Ok(Response::page(compare_page(&comparison, &shell(None))))
    }

    /// The run with this id, letter by letter, among those of the folder.
    fn entry(&self, id: &str) -> Result<RunEntry, Failure> {
        if let Some(known) = self.shelf.entry(id) {
            return Ok(known);
        }
        let all = self.catalogue.list().map_err(|error| unknown("run").caused_by(&error))?;
        all.into_iter().find(|entry| entry.meta.id == id).ok_or_else(|| unknown("run"))
    }
}

fn unknown(what: &str) -> Failure {
    Failure::usage(format!("No {what} here has this id"))
        .because("it was removed, or the address is not whole")
        .hint("all runs and sweeps are in the list")
}

fn shell(refresh_s: Option<u32>) -> Shell<'static> {
    Shell { assets: Assets::Linked, links: &LINKS, refresh_s }
}

/// What could not be shown, why, and what to do: never an empty page.
fn no_page(failure: &Failure) -> Response {
    Response::page(page("Not shown", &problem_content(failure), &shell(None))).with_status("404 Not Found")
}
