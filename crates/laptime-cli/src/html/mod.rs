//! Pages for a browser: pure functions that return text, never write it.

mod figure;
mod page;
mod run;
mod section;
mod table;

pub(crate) use page::{Assets, SCRIPT, Shell, page, style};
pub(crate) use run::run_page;
