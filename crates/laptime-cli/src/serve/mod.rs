//! `laptime serve`: all runs and sweeps of a folder in a browser, read-only, for this machine alone.
//!
//! The server is our own, on `std::net`: it answers one GET a connection with a page of text, and what takes care
//! is what it must not do. Limits, the checks of host, origin and token, and the routes are each a file of plain
//! code that tests read whole. A library would bring more of HTTP than we need (bodies, pipelining, uploads, TLS) and
//! leave those checks to us; it would also cost every build: `tiny_http` 5 crates more, `axum` with its runtime 34.
//! Each connection has a thread that mostly sleeps, at most [`connections::MOST`] of them.

mod connections;
mod door;
mod filter;
mod list_page;
mod listener;
mod opened;
mod problem;
mod query;
mod refusal;
mod request;
mod response;
mod routes;
mod shelf;
mod shelved;
mod site;
#[cfg(test)]
mod tests;
mod token;

use std::io;
use std::path::Path;
use std::sync::Arc;

use laptime_store::Catalogue;
use serde::Serialize;

use crate::Ending;
use crate::args::ServeArgs;
use crate::failure::Failure;
use crate::one_line::shown_path;
use crate::screen::Screen;
use door::Door;
use listener::{Listener, Stop};
use request::Request;
use site::Site;
use token::Token;

/// Where the runs are shown, for programs.
#[derive(Serialize)]
struct Served<'a> {
    schema: &'static str,
    /// The address, its token included.
    url: &'a str,
    port: u16,
    folder: String,
}

pub(crate) fn run(args: &ServeArgs, screen: &Screen) -> Result<Ending, Failure> {
    let folder = args.place.folder();
    refuse_a_file(&folder)?;
    let token = Token::random().map_err(|error| Failure::new(ASKED).caused_by(&error))?;
    let listener = Listener::at(args.port).map_err(|error| not_taken(args.port, &error))?;
    let url = format!("http://127.0.0.1:{}/?token={}", listener.port(), token.revealed());
    let site = Site::new(Catalogue::at(&folder), Door::new(token, listener.port()));
    let stop = listener.stop();
    stop_on_request(stop.clone());
    if args.json {
        let served = Served {
            schema: "laptime.serve/1",
            url: &url,
            port: listener.port(),
            folder: shown_path(&folder),
        };
        screen.show_json(&served)?;
    } else {
        let shown = shown_path(&folder);
        screen.show(&format!("serving {shown} (read-only); open this address, Ctrl-C ends it\n  {url}"));
    }
    listener.listen(&stop, &(Arc::new(move |request: &Request| site.answer(request)) as _));
    Ok(Ending::Interrupted)
}

const ASKED: &str = "could not serve the runs";

/// A folder that is not there yet is fine: runs appear once they are recorded.
fn refuse_a_file(folder: &Path) -> Result<(), Failure> {
    if !folder.exists() || folder.is_dir() {
        return Ok(());
    }
    Err(Failure::usage(ASKED)
        .because(format!("{} is no folder", shown_path(folder)))
        .hint("laptime serve --dir DIR, with the folder that has the runs"))
}

fn not_taken(port: u16, error: &io::Error) -> Failure {
    let failure = Failure::new(format!("{ASKED} at port {port}"));
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            failure.because("another program answers there").hint("laptime serve --port 0 takes a free one")
        }
        io::ErrorKind::PermissionDenied => {
            failure.because("this user may not answer there").hint("laptime serve --port 0 takes a free one")
        }
        _ => failure.caused_by(error),
    }
}

/// The first Ctrl-C ends the server; a second ends the program at once.
fn stop_on_request(stop: Stop) {
    // Where no handler can be installed, Ctrl-C ends the program.
    let _ = ctrlc::set_handler(move || {
        if stop.is_stopped() {
            std::process::abort();
        }
        stop.stop();
    });
}
