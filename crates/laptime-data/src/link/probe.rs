//! Measures a link with the place's own objects: what an answer takes, then rates on more and more streams.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use miniz_oxide::deflate::compress_to_vec;

use crate::remote::{Opening, Protocol};
use crate::source::{Object, SourceError};
use crate::survey::Watch;

use super::NetworkLink;
use super::round::{Allowance, Round, SAMPLE, Work, round};
use super::streams::{Seen, StreamRate, consistent, fewest_worth, rate};

/// Streams that are tried.
const STREAMS: [u32; 4] = [1, 2, 4, 8];

/// Answers that their time is the median of.
const ANSWERS: usize = 5;

/// Share of what is allowed that one of the first rounds takes; the last has what they left.
const ROUND_SHARE: f64 = 1.0 / 6.0;

/// What measuring may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeLimits {
    /// Bytes that are fetched, besides those that are under way at the end.
    pub bytes: u64,
    /// Time that may pass.
    pub time: Duration,
}

impl Default for ProbeLimits {
    fn default() -> Self {
        Self { bytes: 64_000_000, time: Duration::from_secs(15) }
    }
}

/// What is measured, and with how much.
struct Probe<'a> {
    protocol: &'a dyn Protocol,
    work: Work<'a>,
    limits: ProbeLimits,
    watch: &'a Watch,
    started: Instant,
    bytes: u64,
    openings: Vec<Opening>,
    first_bytes: Vec<Duration>,
    sample: Vec<u8>,
    rounds: Vec<(u32, Vec<Seen>)>,
}

/// Measures the link to a place of which these objects are a sample; `total` is their number and bytes in all.
///
/// # Errors
/// When nothing could be measured at all.
pub fn probe(
    protocol: &dyn Protocol,
    objects: &[Object],
    total: (u64, u64),
    limits: ProbeLimits,
    watch: &Watch,
) -> Result<NetworkLink, SourceError> {
    let started = Instant::now();
    // Little data are not fetched over and over: nobody waits for them anyway.
    let limits = ProbeLimits { bytes: limits.bytes.min(total.1.saturating_mul(8)), ..limits };
    let work = Work::new(objects);
    let (bytes, openings, first_bytes) = (0, Vec::new(), Vec::new());
    let (sample, rounds) = (Vec::new(), Vec::new());
    let mut probe =
        Probe { protocol, work, limits, watch, started, bytes, openings, first_bytes, sample, rounds };
    let answers = probe.answers(objects)?;
    let object_s = median(answers.iter().map(Duration::as_secs_f64)).unwrap_or(0.0);
    let trouble = probe.all_rounds(object_s);
    let rates = probe.rates(object_s);
    if rates.is_empty() {
        return Err(trouble.unwrap_or_else(|| SourceError::BadAnswer("no byte arrived".to_owned())));
    }
    let streams = fewest_worth(&rates, total.0 as f64, total.1 as f64, object_s);
    Ok(probe.link(rates, streams, object_s))
}

impl Probe<'_> {
    /// What it takes to get a byte of an object over a session that stands.
    fn answers(&mut self, objects: &[Object]) -> Result<Vec<Duration>, SourceError> {
        let mut session = self.protocol.open()?;
        // What it takes to be let in has limits of its own.
        self.started = Instant::now();
        self.openings.push(session.opening());
        let mut times = Vec::new();
        // The first is left out where there are others: it may have to be looked for.
        for object in objects.iter().cycle().take(ANSWERS + 1) {
            if self.watch.stopped() || self.started.elapsed() > self.limits.time / 4 {
                break;
            }
            let started = Instant::now();
            let fetched = session.fetch(&object.name, 0..1, &mut |_| ControlFlow::Continue(()))?;
            times.push(started.elapsed());
            self.bytes += fetched.bytes;
            self.first_bytes.push(fetched.first_byte);
        }
        if times.len() > 1 {
            times.remove(0);
        }
        Ok(times)
    }

    /// One round for each number of streams, and what is left for the best of them.
    fn all_rounds(&mut self, object_s: f64) -> Option<SourceError> {
        let mut trouble = None;
        let mut before = 0.0;
        for (index, streams) in STREAMS.into_iter().enumerate() {
            let after = ROUND_SHARE * (STREAMS.len() - 1 - index) as f64;
            trouble = trouble.or(self.round(streams, ROUND_SHARE, after));
            let Some(rate) = self.rates(object_s).last().copied() else { break };
            // Twice the streams that gain nothing: neither will four times as many.
            if rate.streams > 1 && rate.bytes_per_s.mean < 0.8 * before && !rate.ramping {
                break;
            }
            before = rate.bytes_per_s.mean;
        }
        let rates = self.rates(object_s);
        let best = rates.iter().map(|rate| rate.bytes_per_s.mean).fold(0.0, f64::max);
        if let Some(fewest) = rates.iter().find(|rate| rate.bytes_per_s.mean > 0.95 * best) {
            trouble = trouble.or(self.round(fewest.streams, 1.0, 0.0));
        }
        trouble
    }

    /// A round with a share of what is allowed, and what nobody else needs where that shows no steady rate; a share
    /// is kept for the rounds after it.
    fn round(&mut self, streams: u32, share: f64, after: f64) -> Option<SourceError> {
        let left = self.limits.time.saturating_sub(self.started.elapsed());
        let time = self.limits.time.mul_f64(share).min(left);
        let bytes_left = self.limits.bytes.saturating_sub(self.bytes);
        let bytes = ((self.limits.bytes as f64 * share) as u64).min(bytes_left);
        if bytes == 0 || time < Duration::from_millis(50) || self.watch.stopped() {
            return None;
        }
        let free_bytes = bytes_left as f64 - after * self.limits.bytes as f64;
        let free_time = left.as_secs_f64() - after * self.limits.time.as_secs_f64();
        let patience = (free_bytes / bytes as f64).min(free_time / time.as_secs_f64()).max(1.0);
        let allowance = Allowance { bytes, time, patience };
        let round = round(self.protocol, &self.work, streams, allowance, self.watch);
        self.take(streams, round)
    }

    fn take(&mut self, streams: u32, round: Round) -> Option<SourceError> {
        self.bytes += round.bytes;
        self.openings.extend(round.openings);
        self.first_bytes.extend(round.first_bytes);
        let wanted = SAMPLE.saturating_sub(self.sample.len()).min(round.sample.len());
        self.sample.extend_from_slice(&round.sample[..wanted]);
        if !round.took.is_zero() && round.bytes > 0 {
            match self.rounds.iter_mut().find(|(known, _)| *known == streams) {
                Some((_, rounds)) => rounds.push(round.seen),
                None => self.rounds.push((streams, vec![round.seen])),
            }
        }
        round.error
    }

    fn rates(&self, object_s: f64) -> Vec<StreamRate> {
        let rates = self.rounds.iter().filter_map(|(streams, rounds)| rate(*streams, rounds, object_s));
        consistent(rates.collect())
    }

    fn link(self, rates: Vec<StreamRate>, streams: u32, object_s: f64) -> NetworkLink {
        let seconds = |of: fn(&Opening) -> Option<Duration>| {
            median(self.openings.iter().filter_map(of).map(|time| time.as_secs_f64()))
        };
        let first_byte_s = median(self.first_bytes.iter().map(Duration::as_secs_f64)).unwrap_or(0.0);
        let packed = || compress_to_vec(&self.sample, 1).len() as f64 / self.sample.len() as f64;
        NetworkLink {
            protocol: self.protocol.name(),
            connect_s: seconds(|opening| Some(opening.connect)).unwrap_or(0.0),
            tls_s: seconds(|opening| opening.tls),
            login_s: seconds(|opening| opening.login),
            first_byte_s,
            object_s,
            ramping: rates.iter().any(|rate| rate.streams == streams && rate.ramping),
            rates,
            streams,
            measured_bytes: self.bytes,
            measured_s: self.started.elapsed().as_secs_f64(),
            deflated_share: (!self.sample.is_empty()).then(packed),
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
