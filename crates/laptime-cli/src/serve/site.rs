//! The site: from a request to its answer.

use laptime_analyse::compare::Asked;
use laptime_analyse::sweep::{Sweep, SweepStatus};
use laptime_core::Status;
use laptime_store::{Catalogue, Collection, CollectionKind, Collections, RunEntry};

use super::door::{Door, Shown};
use super::filter::Filter;
use super::list_page::List;
use super::opened::Opened;
use super::plain_page::{problem_content, text_content};
use super::query::Query;
use super::refusal::Refusal;
use super::request::Request;
use super::response::Response;
use super::routes::Route;
use super::shelf::Shelf;
use crate::command::compare::comparison;
use crate::command::sweep::SweepState;
use crate::failure::Failure;
use crate::html::{Assets, SCRIPT, Shell, page, run_page, style};
use crate::one_line::shown_path;
use crate::text::{Style, compare_text, sweep_text};

const LIST_STYLE: &str = include_str!("list.css");
const LIST_SCRIPT: &str = include_str!("list.js");
const ICON: &str = include_str!("icon.svg");

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
    opened: Opened,
    folder: String,
}

impl Site {
    /// The site of a folder of runs.
    pub(super) fn new(catalogue: Catalogue, door: Door) -> Self {
        let folder = shown_path(catalogue.root());
        let sweeps = Collections::at(catalogue.root(), CollectionKind::Sweep);
        Self {
            door,
            sweeps,
            shelf: Shelf::of(catalogue.clone()),
            catalogue,
            opened: Opened::default(),
            folder,
        }
    }

    /// The answer to a request.
    pub(super) fn answer(&self, request: &Request) -> Response {
        let shown = match self.door.check(request) {
            Ok(shown) => shown,
            Err(refusal) => return refusal.into(),
        };
        let Some(route) = Route::at(&request.path) else { return Refusal::NotFound.into() };
        // The token leaves the address bar: it is not to be in a screenshot, and the cookie has it from now on.
        if shown == Shown::InAddress && route.is_page() {
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
            read_sweep(entry).map_err(|failure| (entry.id.clone(), failure.because.join(": ")))
        };
        let sweeps: Vec<Result<Sweep, _>> = sweeps.iter().map(read).collect();
        let list = List { folder: &self.folder, listing: &listing, filter: &filter, sweeps: &sweeps };
        Response::page(page("Runs", &list.content(), &shell(None)))
    }

    fn run(&self, id: &str) -> Result<Response, Failure> {
        let entry = self.entry(id)?;
        let not_shown = || Failure::new(format!("Run {id} cannot be shown"));
        let story = self
            .opened
            .story(&entry)
            .map_err(|error| Failure { hint: error.hint(), ..not_shown().caused_by(&error) })?;
        let refresh_s = (story.report.run.status == Status::Running).then_some(REFRESH_S);
        Ok(Response::page(run_page(&story, &shell(refresh_s))))
    }

    fn sweep(&self, id: &str) -> Result<Response, Failure> {
        let all = self.sweeps.list().unwrap_or_default();
        let entry = all.iter().find(|entry| entry.id == id).ok_or_else(|| unknown("sweep"))?;
        let sweep = read_sweep(entry)?;
        let text = sweep_text(&sweep, &shown_path(&entry.path), &Style::default());
        let refresh_s = (sweep.sweep.status == SweepStatus::Running).then_some(REFRESH_S);
        Ok(Response::page(page("Sweep", &text_content("Sweep", &text), &shell(refresh_s))))
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
        let text = compare_text(&comparison, &Style::default());
        Ok(Response::page(page("Comparison", &text_content("Comparison", &text), &shell(None))))
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

fn read_sweep(entry: &Collection) -> Result<Sweep, Failure> {
    SweepState::read(entry).map(|state| state.document())
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
