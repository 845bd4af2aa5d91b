//! What to change, and what it would bring.

pub mod loader_search;
