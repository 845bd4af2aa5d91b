//! How well the beginning of a packed text stands for all of it.

use super::super::density::Round;
use super::PIECE_BYTES;

/// Pieces that an error is taken from; where more come, two neighbours become one.
const MOST_PIECES: usize = 64;
const LEAST_PIECES: usize = 8;

/// Standard errors beyond which a trend is more than chance.
const SIGNIFICANT: f64 = 3.0;

/// The least standard error that is given: the rest of a file is never quite like its beginning.
const LEAST_ERROR: f64 = 0.0025;

/// A piece of the text: its bytes, packed and not, and its rows.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    packed: u64,
    bytes: u64,
    rows: u64,
}

impl Piece {
    /// Rows for every packed byte.
    fn density(self) -> f64 {
        self.rows as f64 / self.packed.max(1) as f64
    }

    fn with(self, other: Self) -> Self {
        let (packed, bytes) = (self.packed + other.packed, self.bytes + other.bytes);
        Self { packed, bytes, rows: self.rows + other.rows }
    }
}

/// The beginning of a text, in pieces of about the same length when packed.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefix {
    pieces: Vec<Piece>,
    /// What came before the last piece that is complete.
    before: Piece,
    /// Pieces of the first size that make one now, as a power of two.
    doublings: u32,
}

impl Prefix {
    /// Notes how far it has come, all in all.
    pub(super) fn mark(&mut self, packed: u64, bytes: u64, rows: u64) {
        let before = self.before;
        let is_piece = packed - before.packed >= PIECE_BYTES << self.doublings;
        if !is_piece || bytes == before.bytes {
            return;
        }
        self.pieces.push(Piece {
            packed: packed - before.packed,
            bytes: bytes - before.bytes,
            rows: rows - before.rows,
        });
        self.before = Piece { packed, bytes, rows };
        if self.pieces.len() == MOST_PIECES {
            self.pieces = self.pieces.chunks(2).map(|pair| pair[0].with(pair[pair.len() - 1])).collect();
            self.doublings += 1;
        }
    }

    /// Whether there are enough pieces to take an error from.
    pub(super) fn is_enough(&self) -> bool {
        self.pieces.len() >= LEAST_PIECES
    }

    /// The standard error of the rows of all the text as a share of them. The beginning is this `share` of it, and
    /// the text is that `ratio` of what the beginning lets expect.
    ///
    /// To the error of the pieces comes what the beginning cannot show: that rows change towards the end. Signs of
    /// it are a trend within the beginning, that its halves differ, and that the rest packs otherwise.
    pub(super) fn relative_error(&self, share: f64, ratio: f64) -> f64 {
        let densities: Vec<f64> = self.pieces.iter().map(|piece| piece.density()).collect();
        let Some(round) = Round::of(&densities) else { return 1.0 };
        let (first, second) = self.pieces.split_at(self.pieces.len() / 2);
        let [first, second] = [first, second]
            .map(|half| half.iter().copied().reduce(Piece::with).unwrap_or_default().density());
        let halves = (second - first).abs() / round.density.max(f64::MIN_POSITIVE);
        let trend = self.trend(share);
        round.relative_error().hypot(halves).hypot(trend).hypot(ratio - 1.0).clamp(LEAST_ERROR, 1.0)
    }

    /// By how much the rows of all the text differ from those of its beginning, if their length goes on to grow or
    /// shrink as it does there; 0 where that is no more than chance.
    fn trend(&self, share: f64) -> f64 {
        let lengths: Vec<f64> =
            self.pieces.iter().map(|piece| piece.bytes as f64 / piece.rows.max(1) as f64).collect();
        let count = lengths.len() as f64;
        let (middle, mean) = ((count - 1.0) / 2.0, lengths.iter().sum::<f64>() / count);
        let spread: f64 = (0..lengths.len()).map(|at| (at as f64 - middle).powi(2)).sum();
        let slope = lengths.iter().enumerate().map(|(at, length)| (at as f64 - middle) * length).sum::<f64>()
            / spread;
        let line = |at: usize| mean + slope * (at as f64 - middle);
        let squares: f64 = lengths.iter().enumerate().map(|(at, length)| (length - line(at)).powi(2)).sum();
        let error = (squares / (count - 2.0).max(1.0) / spread).sqrt();
        if slope.abs() <= SIGNIFICANT * error || mean <= 0.0 {
            return 0.0;
        }
        // Rows of all the text, when their length changes in a line from 1 to 1 + growth; it stays positive.
        let growth = (slope * count / share.max(f64::MIN_POSITIVE) / line(0).max(1.0)).clamp(-0.9, 99.0);
        (growth.ln_1p() / growth - 1.0).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A beginning of pieces whose rows have these lengths.
    fn prefix(lengths: impl Iterator<Item = u64>) -> Prefix {
        let (mut prefix, mut bytes, mut rows) = (Prefix::default(), 0, 0);
        for (index, length) in (1..).zip(lengths) {
            bytes += length * 1_000;
            rows += 1_000;
            prefix.mark(index * PIECE_BYTES, bytes, rows);
        }
        prefix
    }

    #[test]
    fn rows_that_grow_in_the_beginning_may_grow_on() {
        let growing = prefix((0..32).map(|index| 100 + index / 4)).relative_error(0.02, 1.0);
        // From 100 to about 500 bytes, so that there are 40 of 100 rows.
        assert!((0.4..0.7).contains(&growing), "{growing}");
        let steady = prefix((0..32).map(|index| 100 + index * 7 % 5)).relative_error(0.02, 1.0);
        assert!(steady < 0.02, "{steady}");
    }

    #[test]
    fn what_packs_otherwise_than_the_beginning_is_less_certain() {
        let same = || prefix((0..32).map(|index| 100 + index * 7 % 5));
        assert!(same().relative_error(0.02, 1.2) > 0.19);
        assert_eq!(prefix(std::iter::empty()).relative_error(0.02, 1.0), 1.0);
    }
}
