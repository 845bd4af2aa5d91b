//! How fast this CPU could compute at most: the measure that a training is held against.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::float::Float;
use super::isa::{Isa, vectorised};

/// Sums that do not wait for each other: enough to keep two units busy for the four to five cycles that a
/// multiplication with addition takes, and few enough for 16 registers.
const SUMS: usize = 12;

/// Rounds of one try, a few microseconds.
const ROUNDS: u32 = 2_000;

/// How long is tried.
const TRIED: Duration = Duration::from_millis(3);

/// Floating-point operations a second that one thread does at most: the best of many short tries, because others
/// may use the CPU in between. A multiplication with addition counts as two.
pub(super) fn peak_flops_per_s<F: Float>(isa: Isa) -> f64 {
    let begin = Instant::now();
    let mut shortest = Duration::MAX;
    while begin.elapsed() < TRIED {
        let one = Instant::now();
        black_box(multiply_and_add(isa, black_box(F::ONE)));
        shortest = shortest.min(one.elapsed());
    }
    let flops = 2.0 * SUMS as f64 * f64::from(ROUNDS) * isa.lanes::<F>() as f64;
    flops / shortest.as_secs_f64().max(1e-9)
}

vectorised! {
    /// Multiplies and adds in registers alone.
    fn multiply_and_add<F, I>(value: F) -> F {
        let factor = I::splat(value);
        let mut sums = [I::splat(value); SUMS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = I::multiply_add_lanes(*sum, factor, factor);
            }
        }
        let mut total = F::ZERO;
        for sum in sums {
            total += I::total(sum);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_that_of_a_cpu() {
        // Tests share the CPU, so the bounds are wide.
        for peak in [peak_flops_per_s::<f32>(Isa::best()), peak_flops_per_s::<f64>(Isa::best())] {
            assert!((1e8..1e13).contains(&peak), "{peak:.2e}");
        }
    }
}
