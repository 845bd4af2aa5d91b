//! The routes: a fixed list of paths. Nothing of a path names a file, and runs are looked up by their ids.

/// What is behind a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// All runs and sweeps.
    List,
    /// A run: `?id=ID`.
    Run,
    /// A sweep: `?id=ID`.
    Sweep,
    /// Two runs: `?run=ID&run=ID`.
    Compare,
    /// What runs and the newest come to, for Prometheus.
    Metrics,
    Style,
    Script,
    /// What only the list does in the browser.
    ListScript,
    Icon,
}

/// Every path there is.
pub(super) const ROUTES: [(&str, Route); 9] = [
    ("/", Route::List),
    ("/run", Route::Run),
    ("/sweep", Route::Sweep),
    ("/compare", Route::Compare),
    ("/metrics", Route::Metrics),
    ("/style.css", Route::Style),
    ("/script.js", Route::Script),
    ("/list.js", Route::ListScript),
    ("/icon.svg", Route::Icon),
];

impl Route {
    /// What is behind a path; it has to be one of the list, letter by letter.
    pub(super) fn at(path: &str) -> Option<Self> {
        ROUTES.iter().find(|(known, _)| *known == path).map(|(_, route)| *route)
    }

    /// Whether a person looks at it.
    pub(super) fn is_page(self) -> bool {
        matches!(self, Self::List | Self::Run | Self::Sweep | Self::Compare)
    }
}
