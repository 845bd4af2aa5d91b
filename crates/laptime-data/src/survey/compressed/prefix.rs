//! How well the beginning of a packed text stands for all of it.

use super::super::density::Round;
use super::PIECE_BYTES;

/// Pieces that an error is taken from; where more come, two neighbours become one.
const MOST_PIECES: usize = 64;
const LEAST_PIECES: usize = 4;

/// A piece of the text: its bytes and its rows.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    bytes: u64,
    rows: u64,
}

impl Piece {
    fn density(self) -> f64 {
        self.rows as f64 / self.bytes.max(1) as f64
    }

    fn with(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, rows: self.rows + other.rows }
    }
}

/// The beginning of a text, in pieces of about the same length when packed.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefix {
    pieces: Vec<Piece>,
    /// What came before the last piece that is complete.
    before: Piece,
    packed: u64,
    /// Pieces of the first size that make one now, as a power of two.
    doublings: u32,
}

impl Prefix {
    /// Notes how far it has come, all in all.
    pub(super) fn mark(&mut self, packed: u64, bytes: u64, rows: u64) {
        let is_piece = packed - self.packed >= PIECE_BYTES << self.doublings;
        if !is_piece || bytes == self.before.bytes {
            return;
        }
        self.pieces.push(Piece { bytes: bytes - self.before.bytes, rows: rows - self.before.rows });
        (self.before, self.packed) = (Piece { bytes, rows }, packed);
        if self.pieces.len() == MOST_PIECES {
            self.pieces = self.pieces.chunks(2).map(|pair| pair[0].with(pair[pair.len() - 1])).collect();
            self.doublings += 1;
        }
    }

    /// Whether there are enough pieces to take an error from.
    pub(super) fn is_enough(&self) -> bool {
        self.pieces.len() >= LEAST_PIECES
    }

    /// The standard error of the rows of all the text as a share of them; `ratio` is how much more text the file
    /// says it has than the beginning lets expect.
    ///
    /// To the error of the pieces comes what the beginning cannot show: that rows change towards the end. A
    /// measure of it are the two halves of the beginning, and that the rest packs otherwise than the beginning.
    pub(super) fn relative_error(&self, ratio: f64) -> f64 {
        let densities: Vec<f64> = self.pieces.iter().map(|piece| piece.density()).collect();
        let Some(round) = Round::of(&densities) else { return 1.0 };
        let (first, second) = self.pieces.split_at(self.pieces.len() / 2);
        let [first, second] = [first, second]
            .map(|half| half.iter().copied().reduce(Piece::with).unwrap_or_default().density());
        let drift = (second - first).abs() / round.density.max(f64::MIN_POSITIVE);
        round.relative_error().hypot(drift).hypot(ratio - 1.0).min(1.0)
    }
}
