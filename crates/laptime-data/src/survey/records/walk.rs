//! Walks a file from its first header to its last, unless that turns out to cost too much.

use super::super::effort::Effort;
use super::super::problem::FileProblem;
use super::super::stored::Stored;
use super::super::watch::Watch;
use super::headers::Headers;
use super::pictures::Pictures;
use super::{Framing, Member};

/// Members between two looks at the clock.
const LOOK_EVERY: u64 = 256;

/// Members after which the cost of the whole walk is judged.
const JUDGED_AFTER: u64 = 64;

/// What was met on a walk.
pub(super) struct Tally {
    members: u64,
    /// Changes from one sample to the next; the first one counts.
    pub(super) samples: u64,
    pub(super) data_bytes: u64,
    pub(super) pictures: Pictures,
    /// The sample that is being met.
    current: Option<u64>,
}

impl Tally {
    fn new() -> Self {
        Self { members: 0, samples: 0, data_bytes: 0, pictures: Pictures::new(), current: None }
    }

    fn add(&mut self, member: &Member) {
        self.members += 1;
        self.pictures.add(member);
        self.data_bytes = self.data_bytes.saturating_add(member.data_bytes);
        if member.sample.is_some() && member.sample != self.current {
            self.samples += 1;
            self.current = member.sample;
        }
    }
}

/// How a walk ended.
pub(super) enum Walked {
    /// At the end of the archive, or where it is damaged.
    All(Tally, Option<FileProblem>),
    /// After some members, because all would cost too much.
    Some(Begun),
}

/// The beginning of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub(super) members: u64,
    /// Where the walk has come to.
    pub(super) bytes: u64,
}

/// Walks from the beginning; a problem with the first header is one of the whole file.
pub(super) fn walk<F: Framing>(
    stored: &dyn Stored,
    effort: Effort,
    watch: &Watch,
) -> Result<Walked, FileProblem> {
    let (bytes, patience) = (stored.bytes(), effort.for_one());
    let allowed = effort.bytes(bytes);
    let mut headers = Headers::new(stored);
    let (mut framing, mut tally, mut at) = (F::default(), Tally::new(), 0);
    while at < bytes {
        match framing.member(&mut headers, at) {
            Ok(Some(member)) => {
                tally.add(&member);
                at = member.next;
            }
            Ok(None) => break,
            Err(problem) if tally.members > 0 => return Ok(Walked::All(tally, Some(problem))),
            Err(FileProblem::Truncated) if bytes >= F::HEADER_BYTES as u64 => {
                return Err(FileProblem::Truncated);
            }
            Err(FileProblem::Damaged(_) | FileProblem::Truncated) => {
                return Err(FileProblem::NotThat(F::NAME));
            }
            Err(problem) => return Err(problem),
        }
        let is_late = tally.members % LOOK_EVERY == 0 && (patience.is_over() || watch.stopped());
        let needed = u128::from(headers.read) * u128::from(bytes) / u128::from(at.max(1));
        let is_dear = tally.members >= JUDGED_AFTER && needed > u128::from(allowed);
        if !effort.exact && (is_late || is_dear) || watch.stopped() {
            return Ok(Walked::Some(Begun { members: tally.members, bytes: at }));
        }
    }
    Ok(Walked::All(tally, None))
}
