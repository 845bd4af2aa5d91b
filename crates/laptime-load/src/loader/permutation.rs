//! A random order of `0..length` that is computed place by place: no array, any place at once.
//!
//! A Feistel network over a grid of about √n × √n cells: in turns, the row is moved by a hash of the column and the
//! column by a hash of the row, each round with a key of its own, which is one-to-one whatever the hash. The grid has
//! fewer than √n cells more than are needed; a place that lands on one of these is sent through again until it lands
//! inside. Places that follow each other are computed together, with vector instructions where the CPU has them.

/// Rounds of each side. Three of each leave no pattern that the tests below find; small grids, where a hash has few
/// results, get twice as many.
const ROUNDS: usize = 3;

/// Places that are computed together.
const LANES: usize = 32;

/// The longest order that is computed in 32 bits: each side of its grid has at most 2^16 cells.
const MOST_NARROW: u64 = 1 << 32;

/// A random one-to-one map of `0..length` onto itself, the same for the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Permutation {
    length: u64,
    /// Sides of the grid.
    rows: u64,
    columns: u64,
    /// By how much all is turned at the end, which makes each place equally likely for each item.
    turn: u64,
    /// Keys of row and column of each round.
    keys: [[u64; 2]; 2 * ROUNDS],
    rounds: usize,
}

/// 2^64 divided by the golden ratio: the step of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// `hash` scaled to `0..end`.
const fn scaled(hash: u64, end: u64) -> u64 {
    ((hash as u128 * end as u128) >> 64) as u64
}

impl Permutation {
    /// The permutation of this key: what is shuffled, and which of its orders.
    pub(super) fn new(length: u64, key: [u64; 3]) -> Self {
        let mut state =
            key.into_iter().fold(GOLDEN, |state, part| mix(state ^ mix(part.wrapping_add(GOLDEN))));
        let mut next = || {
            state = state.wrapping_add(GOLDEN);
            mix(state)
        };
        let columns = ceil_sqrt(length).max(1);
        let rows = length.div_ceil(columns).max(1);
        let keys = std::array::from_fn(|_| [next(), next()]);
        let rounds = if length < 1 << 16 { 2 * ROUNDS } else { ROUNDS };
        Self { length, rows, columns, turn: scaled(next(), length), keys, rounds }
    }

    /// The items at `start..start + out.len()`, all of which must be places of the permutation.
    pub(super) fn fill(&self, start: u64, out: &mut [u64]) {
        debug_assert!(start + out.len() as u64 <= self.length);
        if self.is_narrow() && self.columns >= LANES as u64 {
            fill_lanes(self, start, out);
        } else {
            self.fill_one_by_one(start, out);
        }
    }

    /// Whether every number fits 32 bits.
    const fn is_narrow(&self) -> bool {
        self.length <= MOST_NARROW
    }

    /// The item at one place.
    pub(super) fn at(&self, place: u64) -> u64 {
        let narrow = self.is_narrow();
        let mut cell = place;
        loop {
            cell = if narrow { self.moved_narrow(cell) } else { self.moved_wide(cell) };
            if cell < self.length {
                break;
            }
        }
        self.turned(cell)
    }

    /// The place of an item: the other direction.
    pub(super) fn place_of(&self, item: u64) -> u64 {
        let narrow = self.is_narrow();
        let mut cell = (item + self.length - self.turn) % self.length;
        loop {
            cell = self.moved_back(cell, narrow);
            if cell < self.length {
                return cell;
            }
        }
    }

    const fn turned(&self, cell: u64) -> u64 {
        let turned = cell + self.turn;
        if turned >= self.length { turned - self.length } else { turned }
    }

    fn moved_wide(&self, cell: u64) -> u64 {
        let (mut row, mut column) = (cell / self.columns, cell % self.columns);
        for keys in &self.keys[..self.rounds] {
            row = (row + scaled(mix(column ^ keys[0]), self.rows)) % self.rows;
            column = (column + scaled(mix(row ^ keys[1]), self.columns)) % self.columns;
        }
        row * self.columns + column
    }

    fn moved_back(&self, cell: u64, narrow: bool) -> u64 {
        let hash = |value: u64, key: u64, end: u64| match narrow {
            true => u64::from(narrow_hash(value as u32, key as u32, end)),
            false => scaled(mix(value ^ key), end),
        };
        let (mut row, mut column) = (cell / self.columns, cell % self.columns);
        for keys in self.keys[..self.rounds].iter().rev() {
            column = (column + self.columns - hash(row, keys[1], self.columns)) % self.columns;
            row = (row + self.rows - hash(column, keys[0], self.rows)) % self.rows;
        }
        row * self.columns + column
    }

    fn moved_narrow(&self, cell: u64) -> u64 {
        let (mut row, mut column) = ((cell / self.columns) as u32, (cell % self.columns) as u32);
        for keys in &self.keys[..self.rounds] {
            row = wrapped(row + narrow_hash(column, keys[0] as u32, self.rows), self.rows as u32);
            column = wrapped(column + narrow_hash(row, keys[1] as u32, self.columns), self.columns as u32);
        }
        u64::from(row) * self.columns + u64::from(column)
    }

    /// The same for [`LANES`] places at a time.
    #[inline(always)]
    fn fill_lanes(&self, start: u64, out: &mut [u64]) {
        let (mut row, mut column) = ((start / self.columns) as u32, (start % self.columns) as u32);
        let (rows, columns) = (self.rows as u32, self.columns as u32);
        let mut place = start;
        for out in out.chunks_mut(LANES) {
            let (mut lane_rows, mut lane_columns) = ([0_u32; LANES], [0_u32; LANES]);
            for lane in 0..LANES {
                // The grid is wider than there are lanes, so that at most one row ends among them.
                let ahead = column + lane as u32;
                let over = ahead >= columns;
                lane_columns[lane] = if over { ahead - columns } else { ahead };
                lane_rows[lane] = row + u32::from(over);
            }
            for keys in &self.keys[..self.rounds] {
                for lane in 0..LANES {
                    let by = narrow_hash(lane_columns[lane], keys[0] as u32, self.rows);
                    lane_rows[lane] = wrapped(lane_rows[lane] + by, rows);
                }
                for lane in 0..LANES {
                    let by = narrow_hash(lane_rows[lane], keys[1] as u32, self.columns);
                    lane_columns[lane] = wrapped(lane_columns[lane] + by, columns);
                }
            }
            let mut cells = [0_u64; LANES];
            let mut outside = false;
            for lane in 0..LANES {
                let cell = u64::from(lane_rows[lane]) * self.columns + u64::from(lane_columns[lane]);
                outside |= cell >= self.length;
                cells[lane] = self.turned(cell);
            }
            match <&mut [u64; LANES]>::try_from(&mut *out) {
                Ok(out) => *out = cells,
                Err(_) => out.copy_from_slice(&cells[..out.len()]),
            }
            if outside {
                self.fill_one_by_one(place, out);
            }
            place += LANES as u64;
            column += LANES as u32;
            (row, column) = if column >= columns { (row + 1, column - columns) } else { (row, column) };
        }
    }

    fn fill_one_by_one(&self, start: u64, out: &mut [u64]) {
        for (place, out) in (start..).zip(out) {
            *out = self.at(place);
        }
    }
}

/// `fill_lanes` with the instructions of newer CPUs.
#[cfg(target_arch = "x86_64")]
mod newer {
    use super::Permutation;

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
    pub(super) fn avx512(order: &Permutation, start: u64, out: &mut [u64]) {
        order.fill_lanes(start, out);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn avx2(order: &Permutation, start: u64, out: &mut [u64]) {
        order.fill_lanes(start, out);
    }
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "2.5 times as fast with vectors of the CPU at hand")]
fn fill_lanes(order: &Permutation, start: u64, out: &mut [u64]) {
    if is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
    {
        // SAFETY: the CPU was just found to have these instructions; each of them implies `avx512f`.
        unsafe { newer::avx512(order, start, out) }
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU was just found to have these instructions.
        unsafe { newer::avx2(order, start, out) }
    } else {
        order.fill_lanes(start, out);
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn fill_lanes(order: &Permutation, start: u64, out: &mut [u64]) {
    order.fill_lanes(start, out);
}

fn ceil_sqrt(number: u64) -> u64 {
    let root = number.isqrt();
    if root * root == number { root } else { root + 1 }
}

#[inline(always)]
const fn wrapped(sum: u32, end: u32) -> u32 {
    // Both were below `end`, so one subtraction is enough.
    if sum >= end { sum - end } else { sum }
}

/// A hash in 32 bits (by Chris Wellons, "prospector"), scaled to `0..end`, which is at most 2^16.
#[inline(always)]
const fn narrow_hash(value: u32, key: u32, end: u64) -> u32 {
    let hash = value ^ key;
    let hash = (hash ^ (hash >> 16)).wrapping_mul(0x7feb_352d);
    let hash = (hash ^ (hash >> 15)).wrapping_mul(0x846c_a68b);
    let hash = hash ^ (hash >> 16);
    ((hash as u64 * end) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(length: u64, key: [u64; 3]) -> Vec<u64> {
        let mut out = vec![0; length as usize];
        Permutation::new(length, key).fill(0, &mut out);
        out
    }

    fn is_one_to_one(items: &[u64]) -> bool {
        let mut seen = vec![false; items.len()];
        items.iter().all(|item| !std::mem::replace(&mut seen[*item as usize], true))
    }

    #[test]
    fn every_length_up_to_5000_is_one_to_one() {
        for length in 1..=5000 {
            assert!(is_one_to_one(&all(length, [length, 1, 2])), "{length}");
        }
    }

    #[test]
    fn no_places_are_filled_with_nothing() {
        Permutation::new(0, [0; 3]).fill(0, &mut []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn longer_ones_are_one_to_one_too(length in 5000_u64..2_000_000, key: [u64; 3]) {
            prop_assert!(is_one_to_one(&all(length, key)));
        }
    }

    proptest! {
        #[test]
        fn any_place_of_any_length_has_its_way_back(length in 1_u64..=1 << 40, key: [u64; 3], from: u64) {
            let order = Permutation::new(length, key);
            let start = from % length;
            let mut out = vec![0; 100.min(length - start) as usize];
            order.fill(start, &mut out);
            for (place, item) in (start..).zip(out) {
                prop_assert!(item < length);
                prop_assert_eq!(order.at(place), item);
                prop_assert_eq!(order.place_of(item), place);
            }
        }
    }

    #[test]
    fn the_longest_in_32_bits_and_the_first_beyond_work() {
        for length in [MOST_NARROW - 1, MOST_NARROW, MOST_NARROW + 1] {
            let order = Permutation::new(length, [1, 2, 3]);
            let mut out = [0; 64];
            order.fill(length - 64, &mut out);
            for (place, item) in (length - 64..).zip(out) {
                assert_eq!(order.place_of(item), place);
            }
        }
    }

    /// How far counts are from even, in standard deviations of chi-square.
    fn unevenness(counts: &[u32]) -> f64 {
        let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        let chi: f64 = counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
        let freedom = (counts.len() - 1) as f64;
        (chi - freedom) / (2.0 * freedom).sqrt()
    }

    #[test]
    fn every_item_is_equally_likely_at_every_place() {
        for length in [2_u64, 3, 5, 10, 33, 100, 257] {
            let mut counts = vec![0; (length * length) as usize];
            for seed in 0..length * 400 {
                for (place, item) in all(length, [seed, 0, 0]).into_iter().enumerate() {
                    counts[place * length as usize + item as usize] += 1;
                }
            }
            let found = unevenness(&counts);
            assert!(found.abs() < 5.0, "{length}: {found}");
        }
    }

    #[test]
    fn every_distance_between_neighbours_is_equally_likely() {
        for length in [3_u64, 5, 10, 33, 100, 1000, 70_000] {
            let mut counts = vec![0; length as usize - 1];
            for seed in 0..(2_000_000 / length).clamp(100, 20_000) {
                for pair in all(length, [seed, 7, 0]).windows(2) {
                    counts[((pair[1] + length - pair[0]) % length) as usize - 1] += 1;
                }
            }
            let found = unevenness(&counts);
            assert!(found.abs() < 5.0, "{length}: {found}");
        }
    }

    #[test]
    fn every_pair_of_neighbours_is_equally_likely() {
        for length in [4_u64, 7, 16, 50] {
            let mut counts = vec![0; (length * (length - 1)) as usize];
            for seed in 0..length * 2000 {
                for pair in all(length, [3, seed, 0]).windows(2) {
                    let second = if pair[1] > pair[0] { pair[1] - 1 } else { pair[1] };
                    counts[(pair[0] * (length - 1) + second) as usize] += 1;
                }
            }
            let found = unevenness(&counts);
            assert!(found.abs() < 5.0, "{length}: {found}");
        }
    }

    #[test]
    fn the_order_of_a_key_stays_the_same_for_ever() {
        let order = Permutation::new(1_000_000, [1, 2, 3]);
        let found: Vec<u64> = (0..4).map(|place| order.at(place)).collect();
        assert_eq!(found, PINNED, "a change here changes every training that is resumed");
    }

    const PINNED: [u64; 4] = [51_430, 677_889, 687_493, 511_235];
}
