//! The same data at several places: which of them is copied from fastest.

use std::ops::ControlFlow;

use serde::Serialize;

use crate::link::{NetworkLink, Passing, ProbeLimits, probe};
use crate::remote::{Limits, Place, Remote};
use crate::source::{Source, SourceError};
use crate::survey::{Amount, Watch};

/// A place among those that are compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// Its URL, without what is secret in it.
    pub url: String,
    /// Objects that were found there.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The link to it; `None` where it could not be measured.
    pub network: Option<NetworkLink>,
    /// One copy.
    pub copy_s: Option<Amount>,
    /// Why nothing is known of it.
    pub problem: Option<String>,
}

/// Places compared, the fastest first. Serialized it is `laptime.links/1`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// `laptime.links/1`.
    pub schema: &'static str,
    /// The places.
    pub places: Vec<Compared>,
    /// How much longer a copy takes with encryption than without, where a place was named in both forms: 0.03 for 3 %.
    pub tls_cost: Option<f64>,
}

impl Comparison {
    /// Lists the places and measures the links to them one after the other, each with these limits.
    #[must_use]
    pub fn of(places: &[Place], limits: ProbeLimits, watch: &Watch) -> Self {
        let mut compared: Vec<Compared> = places.iter().map(|place| look(place, limits, watch)).collect();
        compared.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        let tls_cost = tls_cost(&compared);
        Self { schema: "laptime.links/1", places: compared, tls_cost }
    }
}

/// The time of a copy; of what is not known it is longer than any.
fn seconds(compared: &Compared) -> f64 {
    compared.copy_s.map_or(f64::INFINITY, |time| time.mean)
}

fn look(place: &Place, limits: ProbeLimits, watch: &Watch) -> Compared {
    let nothing =
        Compared { url: place.url(), files: 0, bytes: 0, network: None, copy_s: None, problem: None };
    let measured = place.open(Limits::default()).and_then(|remote| measure(&remote, limits, watch));
    match measured {
        Ok((files, bytes, link)) => {
            let copy_s = link.best().map(|rate| rate.time(files as f64, bytes as f64, link.object_s));
            Compared { files, bytes, network: Some(link), copy_s, ..nothing }
        }
        Err(error) => Compared { problem: Some(error.to_string()), ..nothing },
    }
}

fn measure(
    remote: &Remote,
    limits: ProbeLimits,
    watch: &Watch,
) -> Result<(u64, u64, NetworkLink), SourceError> {
    let passing = Passing::new(remote);
    let (mut files, mut bytes) = (0, 0_u64);
    passing.list(&mut |object| {
        files += 1;
        bytes = bytes.saturating_add(object.bytes.unwrap_or(0));
        if watch.stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let objects = passing.into_objects();
    if objects.is_empty() {
        return Err(SourceError::NotFound);
    }
    let link = probe(remote.protocol(), &objects, (files, bytes), limits, watch)?;
    Ok((files, bytes, link))
}

/// The cost of encryption, from the first pair of forms of the same protocol.
fn tls_cost(places: &[Compared]) -> Option<f64> {
    let of = |scheme: &str| {
        places.iter().find(|place| place.url.starts_with(scheme)).and_then(|place| place.copy_s)
    };
    let pairs = [("http://", "https://"), ("ftp://", "ftps://"), ("ftp://", "ftpes://")];
    let pair = |(plain, encrypted)| Some(of(encrypted)?.mean / of(plain)?.mean - 1.0);
    pairs.into_iter().find_map(pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(url: &str, seconds: Option<f64>) -> Compared {
        let copy_s = seconds.map(|seconds| Amount::between(seconds, seconds, seconds));
        Compared { url: url.into(), files: 1, bytes: 1, network: None, copy_s, problem: None }
    }

    #[test]
    fn encryption_costs_what_a_copy_takes_longer_with_it() {
        let places = [
            compared("https://h/x", Some(1.5)),
            compared("ftp://h/x", None),
            compared("http://h/x", Some(1.0)),
        ];
        assert_eq!(tls_cost(&places), Some(0.5));
        assert_eq!(tls_cost(&places[..2]), None);
    }
}
