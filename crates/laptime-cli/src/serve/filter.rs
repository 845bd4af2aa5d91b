//! Which runs of the list are wanted, and in which order: the same with the page's script and without.

use std::sync::Arc;

use super::query::Query;
use super::shelved::Shelved;

/// The orders, each as it stands in an address and in words.
pub(super) const ORDERS: [(&str, &str); 4] =
    [("", "newest first"), ("oldest", "oldest first"), ("longest", "longest first"), ("name", "by name")];

/// The states that runs are chosen by.
pub(super) const STATES: [&str; 5] = ["running", "finished", "failed", "killed", "unreadable"];

/// What is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    /// Part of a name or of an id.
    pub(super) text: String,
    /// One of [`STATES`]; any other is all of them.
    pub(super) status: String,
    /// One of [`ORDERS`]; any other is the first.
    pub(super) order: String,
}

impl Filter {
    /// What an address asks for.
    pub(super) fn of(query: &Query) -> Self {
        let first = |name| query.first(name).unwrap_or_default().to_owned();
        Self { text: first("text").trim().to_owned(), status: first("status"), order: first("order") }
    }

    /// The runs that are wanted, of all, newest first.
    pub(super) fn chosen(&self, runs: &[Arc<Shelved>]) -> Vec<Arc<Shelved>> {
        let text = self.text.to_lowercase();
        let has_text =
            |run: &Shelved| run.row.name.to_lowercase().contains(&text) || run.row.id.contains(&text);
        let has_status =
            |run: &Shelved| !STATES.contains(&self.status.as_str()) || run.status() == self.status;
        let mut chosen: Vec<Arc<Shelved>> =
            runs.iter().filter(|run| has_text(run) && has_status(run)).cloned().collect();
        match self.order.as_str() {
            "oldest" => chosen.reverse(),
            "longest" => chosen.sort_by(|a, b| wall(b).total_cmp(&wall(a))),
            "name" => chosen.sort_by_cached_key(|run| run.row.name.to_lowercase()),
            _ => {}
        }
        chosen
    }
}

fn wall(run: &Shelved) -> f64 {
    run.row.wall_s.unwrap_or(-1.0)
}

#[cfg(test)]
mod tests {
    use laptime_core::{RunMeta, Status};
    use laptime_store::RunEntry;

    use super::super::shelved::State;
    use super::*;

    fn run(name: &str, id: &str, wall_s: f64, status: Status) -> Arc<Shelved> {
        let meta = RunMeta { id: id.into(), name: name.into(), ..RunMeta::default() };
        let entry = RunEntry { path: "/".into(), meta, bytes: 0 };
        let mut run = Shelved { state: State::Read, ..Shelved::unread(&entry) };
        (run.row.wall_s, run.row.status) = (Some(wall_s), status);
        Arc::new(run)
    }

    fn names(filter: &str) -> Vec<String> {
        let runs = [
            run("Resnet", "3-cc", 3.0, Status::Running),
            run("mlp", "2-bb", 9.0, Status::Failed),
            run("b-resnet", "1-aa", 5.0, Status::Finished),
        ];
        let filter = Filter::of(&Query::parse(filter).unwrap());
        filter.chosen(&runs).iter().map(|run| run.row.name.clone()).collect()
    }

    #[test]
    fn runs_are_chosen_by_text_and_status() {
        assert_eq!(names(""), ["Resnet", "mlp", "b-resnet"]);
        assert_eq!(names("text=RESNET"), ["Resnet", "b-resnet"]);
        assert_eq!(names("text=+bb+"), ["mlp"]);
        assert_eq!(names("text=resnet&status=finished"), ["b-resnet"]);
        assert_eq!(names("status=running"), ["Resnet"]);
        assert_eq!(names("status=nonsense&order=nonsense"), names(""));
        assert!(names("text=.*").is_empty());
    }

    #[test]
    fn runs_are_put_in_the_order_that_is_wanted() {
        assert_eq!(names("order=oldest"), ["b-resnet", "mlp", "Resnet"]);
        assert_eq!(names("order=longest"), ["mlp", "b-resnet", "Resnet"]);
        assert_eq!(names("order=name"), ["b-resnet", "mlp", "Resnet"]);
    }
}
