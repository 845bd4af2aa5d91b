//! A made-up language for the sequence models: what follows a token depends on it and on the one before.

use laptime_load::Table;

use crate::model_kind::VOCABULARY;
use crate::random::Random;

/// One token in ten is any token at all.
const RANDOM_ONE_IN: u32 = 10;

/// Rows of `length` tokens with the token that follows as target.
///
/// Guessing evenly costs ln 20 = 3.0; knowing which two tokens may follow costs 1.2; knowing by the token
/// before which of the two it is, 0.6, which is the least there can be.
pub(crate) fn sequences(rows: usize, length: usize, random: &mut Random) -> Table {
    let grammar = Grammar::new(random);
    let mut tokens = Vec::with_capacity(rows * length);
    let next = (0..rows)
        .map(|_| {
            let mut last = [random.below(VOCABULARY as u32), random.below(VOCABULARY as u32)];
            for _ in 0..length {
                tokens.push(last[1] as f32);
                last = [last[1], grammar.follow(last, random)];
            }
            last[1] as f32
        })
        .collect();
    Table::new(length, tokens, next)
}

/// For each token the two that may follow it, after an even and after an odd token.
struct Grammar([Vec<u32>; 2]);

impl Grammar {
    fn new(random: &mut Random) -> Self {
        Self([shuffled(random), shuffled(random)])
    }

    fn follow(&self, last: [u32; 2], random: &mut Random) -> u32 {
        if random.below(RANDOM_ONE_IN) == 0 {
            return random.below(VOCABULARY as u32);
        }
        self.0[last[0] as usize % 2][last[1] as usize]
    }
}

/// Every token once, in an order of chance: no token is likelier than another.
fn shuffled(random: &mut Random) -> Vec<u32> {
    let mut tokens: Vec<u32> = (0..VOCABULARY as u32).collect();
    for place in (1..tokens.len()).rev() {
        tokens.swap(place, random.below(place as u32 + 1) as usize);
    }
    tokens
}

#[cfg(test)]
mod tests {
    use laptime_load::{Dataset, Order};

    use super::*;
    use crate::{ModelKind, generate};

    #[test]
    fn two_tokens_tell_the_next_nine_times_in_ten() {
        let data = Dataset::from_table(generate(ModelKind::Rnn, 1000, 50, 0));
        let batch = data.batches(1000, Order::AsStored).next().unwrap().unwrap();
        let mut seen = vec![[0u32; VOCABULARY]; VOCABULARY * VOCABULARY];
        for row in batch.features.chunks_exact(50) {
            for three in row.windows(3) {
                seen[three[0] as usize * VOCABULARY + three[1] as usize][three[2] as usize] += 1;
            }
        }
        let (usual, all) = seen.iter().fold((0, 0), |(usual, all), next| {
            (usual + next.iter().max().unwrap(), all + next.iter().sum::<u32>())
        });
        let share = f64::from(usual) / f64::from(all);
        // Nine in ten by the grammar, and one in twenty of the rest by chance.
        assert!((share - 0.905).abs() < 0.01, "{share}");
    }
}
