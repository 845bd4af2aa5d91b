//! The order in which an epoch delivers its rows.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// The order in which an epoch delivers its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they are in the file.
    AsStored,
    /// Shuffled; the same seed and epoch give the same order again.
    ///
    /// In memory this is a permutation of all rows. A streamed file is shuffled within each chunk; of an NPY
    /// file the chunks come in shuffled order too, those of a CSV file as they are stored. A streamed CSV file
    /// that is sorted by its target should therefore be shuffled once on disk.
    Shuffled {
        /// Which of the possible orders; the run's seed.
        seed: u64,
        /// The epoch, so that every epoch has another order.
        epoch: u64,
    },
}

/// What is put in order; each kind has random numbers of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shelf {
    /// The chunks of a file.
    Chunks,
    /// The rows of the chunk that starts at this row; of a table in memory, of the whole.
    RowsFrom(u64),
}

impl Order {
    /// Puts items in this order.
    pub(crate) fn arrange<T>(self, shelf: Shelf, items: &mut [T]) {
        if let Self::Shuffled { seed, epoch } = self {
            items.shuffle(&mut generator(seed, epoch, shelf));
        }
    }
}

fn generator(seed: u64, epoch: u64, shelf: Shelf) -> ChaCha8Rng {
    let (kind, from) = match shelf {
        Shelf::Chunks => (0_u64, 0),
        Shelf::RowsFrom(row) => (1, row),
    };
    let mut key = [0; 32];
    for (place, part) in key.chunks_exact_mut(8).zip([seed, epoch, kind, from]) {
        place.copy_from_slice(&part.to_le_bytes());
    }
    ChaCha8Rng::from_seed(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arranged(order: Order, shelf: Shelf) -> Vec<u32> {
        let mut items: Vec<u32> = (0..100).collect();
        order.arrange(shelf, &mut items);
        items
    }

    #[test]
    fn the_same_seed_and_epoch_give_the_same_order() {
        let order = Order::Shuffled { seed: 1, epoch: 2 };
        assert_eq!(arranged(order, Shelf::Chunks), arranged(order, Shelf::Chunks));
    }

    #[test]
    fn seed_epoch_and_shelf_each_change_the_order() {
        let base = arranged(Order::Shuffled { seed: 1, epoch: 2 }, Shelf::Chunks);
        assert_ne!(base, arranged(Order::Shuffled { seed: 2, epoch: 2 }, Shelf::Chunks));
        assert_ne!(base, arranged(Order::Shuffled { seed: 1, epoch: 3 }, Shelf::Chunks));
        assert_ne!(base, arranged(Order::Shuffled { seed: 1, epoch: 2 }, Shelf::RowsFrom(0)));
        let rows = |from| arranged(Order::Shuffled { seed: 1, epoch: 2 }, Shelf::RowsFrom(from));
        assert_ne!(rows(0), rows(100));
    }

    #[test]
    fn as_stored_changes_nothing() {
        assert!(arranged(Order::AsStored, Shelf::Chunks).is_sorted());
    }
}
