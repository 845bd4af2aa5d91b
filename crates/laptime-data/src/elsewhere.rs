//! A dataset that lies elsewhere: what it amounts to, the link to it, and the best way to get it.

use std::path::Path;

use serde::Serialize;

use crate::link::{NetworkLink, Passing, ProbeLimits, probe};
use crate::remote::{Place, Remote};
use crate::source::SourceError;
use crate::survey::{Link, Origin, Survey, SurveyOptions, Watch};
use crate::transfer::{Copy, Dataset, LocalDisk, Move, TransferPlan, installed_tools, moving, plan};

/// What is asked about a dataset elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct LookOptions<'a> {
    /// About the data.
    pub survey: SurveyOptions,
    /// What measuring the link may take; `None` leaves it out.
    pub probe: Option<ProbeLimits>,
    /// Machines that read all of it at the same time over the link.
    pub readers: u64,
    /// The folder that a copy would go to.
    pub folder: &'a Path,
}

/// A dataset that lies elsewhere. Serialized it is `laptime.dataset/1` with more fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Elsewhere {
    /// What it amounts to.
    #[serde(flatten)]
    pub survey: Survey,
    /// How the link does; `None` where it was not or could not be measured.
    pub network: Option<NetworkLink>,
    /// Why it could not be measured.
    pub network_problem: Option<String>,
    /// How long copies and epochs take.
    pub plan: Option<TransferPlan>,
    /// The command that copies it best.
    pub next: Option<Move>,
}

impl Elsewhere {
    /// Looks at what lies at a place and measures the link to it.
    ///
    /// # Errors
    /// When nothing of it could be listed.
    pub fn look(
        place: &Place,
        options: &LookOptions<'_>,
        watch: &Watch,
        remote: &Remote,
    ) -> Result<Self, SourceError> {
        let passing = Passing::new(remote);
        let survey = Survey::of_source(&passing, &options.survey, watch)?;
        let total = (survey.files, survey.bytes);
        let objects = passing.into_objects();
        let limits = options.probe.filter(|_| !objects.is_empty() && !watch.stopped());
        let (network, problem) =
            match limits.map(|limits| probe(remote.protocol(), &objects, total, limits, watch)) {
                Some(Ok(link)) => (Some(link), None),
                Some(Err(error)) => (None, Some(error.to_string())),
                None => (None, None),
            };
        let disk = network.as_ref().and_then(|_| LocalDisk::of(options.folder, watch));
        let (objects, bytes) = total;
        let dataset = Dataset { objects, bytes, epochs: options.survey.epochs, readers: options.readers };
        let plan = network.as_ref().and_then(|link| plan(&dataset, link, disk, survey.memory));
        let streams = network.as_ref().map_or(4, |link| link.streams);
        let one_object = objects == 1 && remote.is_one_object();
        let next =
            (objects > 0).then(|| moving(&Copy { place, one_object, streams }, &installed_tools())).flatten();
        let survey = match network.as_ref().and_then(link_of) {
            Some(link) => survey.with_link(link),
            None => survey,
        };
        Ok(Self { survey, network, network_problem: problem, plan, next })
    }
}

/// The link as every dataset has it.
fn link_of(network: &NetworkLink) -> Option<Link> {
    let best = network.best()?;
    Some(Link {
        protocol: network.protocol,
        latency_s: Some(network.first_byte_s),
        bytes_per_s: best.bytes_per_s,
        streams: best.streams,
        origin: Origin::Network,
        measured_bytes: network.measured_bytes,
    })
}
