//! Records of a file too long to walk, by stretches of it that begin at random places.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::density::Round;
use super::super::effort::Effort;
use super::super::problem::FileProblem;
use super::super::stored::Stored;
use super::super::watch::Watch;
use super::headers::Headers;
use super::pictures::Pictures;
use super::walk::Begun;
use super::{Framing, Met};

/// Members that a stretch is meant to have.
const MEMBERS: u64 = 16;

/// Stretches of the first round; every other has twice as many.
const FIRST_ROUND: u64 = 16;
const MOST_DRAWS: u64 = 4_096;

/// The longest search for a header, and what is read of it at a time.
const LONGEST_SEARCH: u64 = 16 << 20;
const PIECE_BYTES: u64 = 64 << 10;

/// What the whole file has.
pub(super) fn estimate<F: Framing>(
    stored: &dyn Stored,
    begun: &Begun,
    effort: Effort,
    watch: &Watch,
) -> Result<Met, FileProblem> {
    let bytes = stored.bytes();
    let member_bytes = (begun.bytes / begun.members.max(1)).max(1);
    let mut draws = Draws {
        headers: Headers::new(stored),
        stretch: (MEMBERS * member_bytes)
            .clamp(4 << 10, (bytes / FIRST_ROUND).max(4 << 10))
            .next_multiple_of(F::ALIGNMENT),
        data_bytes: 0,
        covered: 0,
        pictures: Pictures::new(),
        rng: ChaCha8Rng::seed_from_u64(bytes),
        watch,
    };
    let (patience, allowed) = (effort.for_one(), effort.bytes(bytes));
    let mut strata = FIRST_ROUND;
    let mut all = draws.round::<F>(strata)?;
    while !all.good_enough() && !patience.is_over() && !watch.stopped() && all.draws < MOST_DRAWS as f64 {
        let each = draws.headers.read / all.draws.max(1.0) as u64;
        strata = (strata * 2).min(allowed.saturating_sub(draws.headers.read) / each.max(1));
        if strata < 2 {
            break;
        }
        all = all.with(draws.round::<F>(strata)?);
    }
    let share = draws.data_bytes as f64 / draws.covered.max(1) as f64;
    // The first sample follows on none, so that no stretch counts it.
    let samples = (all.density * draws.places() as f64) as u64 + 1;
    // Where all records have one length no two stretches differ, but each begins somewhere within one.
    let resolution = 1.0 / (all.draws * MEMBERS as f64);
    Ok(Met {
        samples,
        data_bytes: (share * bytes as f64) as u64,
        relative_error: all.relative_error().hypot(resolution),
        pictures: draws.pictures,
        seen_bytes: draws.data_bytes,
    })
}

struct Draws<'a> {
    headers: Headers<'a>,
    stretch: u64,
    /// Bytes of data in all stretches, and bytes that those members take with their headers.
    data_bytes: u64,
    covered: u64,
    pictures: Pictures,
    rng: ChaCha8Rng,
    watch: &'a Watch,
}

impl Draws<'_> {
    /// Where a stretch may end: so many places that each byte is in as many stretches as any other.
    fn places(&self) -> u64 {
        self.headers.stored.bytes().saturating_add(self.stretch)
    }

    fn round<F: Framing>(&mut self, strata: u64) -> Result<Round, FileProblem> {
        let apart = (self.places() / strata).max(1);
        let mut densities = Vec::new();
        for index in 0..strata {
            if self.watch.stopped() {
                break;
            }
            let place = index * apart + self.rng.next_u64() % apart;
            densities.extend(self.density::<F>(place / F::ALIGNMENT * F::ALIGNMENT)?);
        }
        Round::of(&densities).ok_or(FileProblem::Damaged("no header was found in it"))
    }

    /// Samples for every byte of the stretch that ends at this place; `None` where it is damaged.
    ///
    /// A sample is counted at its last member, which is the one that a member of another follows: so no stretch
    /// has to know what came before it.
    fn density<F: Framing>(&mut self, place: u64) -> Result<Option<f64>, FileProblem> {
        let bytes = self.headers.stored.bytes();
        let end = place.min(bytes);
        // Without a header up to the end, or for longer than any stretch, none is in this one.
        let Some(mut at) = self.search::<F>(place.saturating_sub(self.stretch))? else {
            return Ok(Some(0.0));
        };
        let (mut framing, mut ended, mut current) = (F::default(), 0_u64, None);
        while at < bytes {
            let member = match framing.member(&mut self.headers, at) {
                Ok(Some(member)) => member,
                Ok(None) => break,
                Err(FileProblem::Unreadable(error)) => return Err(error.into()),
                // A header that was none, or damage: this stretch says nothing.
                Err(_) => return Ok(None),
            };
            if let Some(sample) = member.sample {
                ended += u64::from(current.is_some_and(|current| current != sample));
                current = Some(sample);
                if at >= end {
                    break;
                }
            }
            if at < end {
                self.pictures.add(&member);
                self.data_bytes += member.data_bytes;
                self.covered += member.next - at;
            }
            at = member.next;
        }
        Ok(Some(ended as f64 / self.stretch as f64))
    }

    /// The first header from this place on.
    fn search<F: Framing>(&mut self, place: u64) -> Result<Option<u64>, FileProblem> {
        let bytes = self.headers.stored.bytes();
        let mut at = place;
        while at < bytes && at - place < LONGEST_SEARCH {
            // Pieces overlap by a header, so that none is missed between two.
            let length = PIECE_BYTES.min(bytes - at);
            let piece = self.headers.stored.take(at, length)?;
            self.headers.read += length;
            let steps = (0..piece.len().saturating_sub(F::HEADER_BYTES - 1)).step_by(F::ALIGNMENT as usize);
            for step in steps {
                let header = &piece[step..step + F::HEADER_BYTES];
                let left = bytes - at - (step + F::HEADER_BYTES) as u64;
                if F::is_header(header, left) {
                    return Ok(Some(at + step as u64));
                }
            }
            if at + length >= bytes {
                break;
            }
            at += length - (F::HEADER_BYTES as u64).next_multiple_of(F::ALIGNMENT);
        }
        Ok(None)
    }
}
