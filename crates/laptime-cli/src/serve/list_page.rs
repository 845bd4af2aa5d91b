//! The list of all runs and sweeps.

use laptime_analyse::sweep::Sweep;
use laptime_core::{Status, units};

use super::filter::{Filter, ORDERS, STATES};
use super::query::encoded;
use super::shelf::Listing;
use super::shelved::{Shelved, State};
use crate::chart::sparkline;
use crate::markup::{escaped, isolated, name};
use crate::text::{laps_text, result_text, sweep_heading};

/// What renews the list, filters it at once and counts what is ticked; without it the forms do.
const SCRIPT: &str = "<script src=\"/list.js\" defer></script>\n";

/// What the list is made of.
pub(super) struct List<'a> {
    /// The folder, as a user would type it.
    pub(super) folder: &'a str,
    pub(super) listing: &'a Listing,
    pub(super) filter: &'a Filter,
    /// Newest first; one that cannot be read has its id and why.
    pub(super) sweeps: &'a [Result<Sweep, (String, String)>],
}

impl List<'_> {
    /// The page's content.
    pub(super) fn content(&self) -> String {
        let title = format!("<header class=\"title\"><h1>Runs in {}</h1></header>\n", isolated(self.folder));
        // The form stays as it is while the list is renewed.
        let form = if self.listing.runs.is_empty() { String::new() } else { form(self.filter) };
        format!(
            "{title}{form}<div id=\"list\">\n{}{}{}</div>\n{SCRIPT}",
            self.troubles(),
            self.runs(),
            self.sweeps()
        )
    }

    fn troubles(&self) -> String {
        let Listing { unreadable, trouble, .. } = self.listing;
        let trouble = trouble.iter().map(|trouble| {
            format!("<p class=\"bad\">{} cannot be read: {}</p>\n", name(self.folder), name(trouble))
        });
        let unreadable = unreadable.iter().map(|folder| {
            format!(
                "<p class=\"warning\">{} is a run that cannot be read: its run.json is missing or damaged</p>\n",
                isolated(folder)
            )
        });
        trouble.chain(unreadable).collect()
    }

    fn runs(&self) -> String {
        let all = &self.listing.runs;
        if !self.listing.looked_at {
            return "<p class=\"status reading\">The folder is being read</p>\n".to_owned();
        }
        if all.is_empty() {
            return "<p>No runs yet. Record one and it appears here:</p>\n\
                    <p><code>laptime run -- python train.py</code></p>\n\
                    <p>or train a small model for a few seconds: <code>laptime demo</code></p>\n"
                .to_owned();
        }
        let chosen = self.filter.chosen(all);
        if chosen.is_empty() {
            let all = units::counted(all.len() as u64, "run");
            return format!("<p role=\"status\">None of {all} matches. <a href=\"/\">Show all</a></p>\n");
        }
        let rows: String = chosen.iter().map(|run| row(run)).collect();
        format!(
            "<p role=\"status\">{}</p>\n<form id=\"compare\" action=\"/compare\">\n\
             <p><button type=\"submit\">Compare two ticked runs</button></p>\n\
             <table class=\"runs\"><caption class=\"unseen\">Runs</caption><thead><tr>\
             <th scope=\"col\"><span class=\"unseen\">compare</span></th><th scope=\"col\">run</th>\
             <th scope=\"col\">status</th><th scope=\"col\" class=\"wide\">started UTC</th>\
             <th scope=\"col\" class=\"number mid\">wall</th><th scope=\"col\" class=\"number wide\">epochs</th>\
             <th scope=\"col\">time of an epoch</th><th scope=\"col\" class=\"wide\">result</th>\
             <th scope=\"col\" class=\"number wide\">disk</th></tr></thead><tbody>\n{rows}</tbody></table>\n\
             </form>\n",
            counts(chosen.len(), all.len())
        )
    }

    fn sweeps(&self) -> String {
        if self.sweeps.is_empty() {
            return String::new();
        }
        let items: String = self.sweeps.iter().map(sweep_item).collect();
        format!(
            "<section id=\"sweeps\" aria-labelledby=\"sweeps-heading\"><h2 id=\"sweeps-heading\">Sweeps</h2>\n\
             <ul class=\"sweeps\">\n{items}</ul></section>\n"
        )
    }
}

fn counts(chosen: usize, all: usize) -> String {
    match chosen == all {
        true => units::counted(all as u64, "run"),
        false => format!("{} of {}", units::count(chosen as u64), units::counted(all as u64, "run")),
    }
}

fn form(filter: &Filter) -> String {
    let orders = options(ORDERS.into_iter(), &filter.order);
    let states = [("", "any")].into_iter().chain(STATES.map(|state| (state, state)));
    let states = options(states, &filter.status);
    format!(
        "<form id=\"filter\" action=\"/\" role=\"search\">\n\
         <label>name or id <input type=\"search\" name=\"text\" value=\"{}\" autocomplete=\"off\"></label>\n\
         <label>status <select name=\"status\">{states}</select></label>\n\
         <label>order <select name=\"order\">{orders}</select></label>\n\
         <button type=\"submit\">Show</button>\n</form>\n",
        escaped(&filter.text)
    )
}

fn options<'a>(all: impl Iterator<Item = (&'a str, &'a str)>, chosen: &str) -> String {
    let option = |(value, words): (&str, &str)| {
        let selected = if value == chosen { " selected" } else { "" };
        format!("<option value=\"{value}\"{selected}>{words}</option>")
    };
    all.map(option).collect()
}

fn row(run: &Shelved) -> String {
    let row = &run.row;
    let status = run.status();
    let id = encoded(&row.id);
    let short = name(row.id.rsplit('-').next().unwrap_or(&row.id));
    let started = row.started.get(..16).map(|time| time.replace('T', " ")).unwrap_or_default();
    let called = if row.name.is_empty() { short.clone() } else { name(&row.name) };
    let head = format!(
        "<tr><td><input type=\"checkbox\" name=\"run\" value=\"{}\" id=\"tick-{id}\" \
         aria-label=\"compare {called} {short}\"></td>\
         <th scope=\"row\"><a href=\"/run?id={id}\"><bdi>{called}</bdi></a> <small>{short}</small></th>\
         <td><span class=\"status {status}\">{status}</span></td><td class=\"wide\">{}</td>",
        escaped(&row.id),
        name(&started)
    );
    if let State::Unreadable(because, hint) = &run.state {
        let hint = hint.as_ref().map(|hint| format!(": {}", name(hint))).unwrap_or_default();
        return format!("{head}<td colspan=\"5\" class=\"why\">{}{hint}</td></tr>\n", name(because));
    }
    format!(
        "{head}<td class=\"number mid\">{}</td><td class=\"number wide\">{}</td><td>{}</td>\
         <td class=\"wide\">{}</td><td class=\"number wide\">{}</td></tr>\n",
        units::or_unknown(row.wall_s, units::duration),
        name(&laps_text(row)),
        pace(run),
        name(&result_text(row)),
        units::bytes(row.disk_bytes)
    )
}

/// The times of the last laps as a curve, and the newest in words; of a run that goes on what is left.
fn pace(run: &Shelved) -> String {
    let Some(newest) = run.laps.last() else { return String::new() };
    let newest = units::duration(*newest);
    let lap = if run.row.epochs == Some(0) { "window" } else { "epoch" };
    let said = format!("the last {}: {newest}", units::counted(run.laps.len() as u64, lap));
    let left = run.time_left.filter(|_| run.row.status == Status::Running);
    let left = left.map(|left| format!(" <small>{} left</small>", units::waiting(left.mean)));
    format!("{} <span>{newest}</span>{}", sparkline(&run.laps, &said), left.unwrap_or_default())
}

fn sweep_item(sweep: &Result<Sweep, (String, String)>) -> String {
    match sweep {
        Ok(sweep) => format!(
            "<li><a href=\"/sweep?id={}\">{}</a> <code>{}</code></li>\n",
            encoded(&sweep.sweep.id),
            name(&sweep_heading(sweep)),
            name(&sweep.sweep.command.join(" "))
        ),
        Err((id, because)) => format!("<li>sweep {} cannot be read: {}</li>\n", name(id), name(because)),
    }
}
