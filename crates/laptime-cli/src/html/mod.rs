//! Pages for a browser: pure functions that return text, never write it.

mod card;
mod compare;
mod data;
mod figure;
mod page;
mod run;
mod section;
mod sweep;
mod table;
mod tiles;

pub(crate) use card::run_card;
pub(crate) use compare::compare_page;
pub(crate) use data::data_page;
pub(crate) use page::{Assets, SCRIPT, Shell, page, style};
pub(crate) use run::run_page;
pub(crate) use sweep::sweep_page;
