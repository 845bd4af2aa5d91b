//! The threads that the engine computes with.
//!
//! A batch is divided over the rayon pool of the calling thread. The training thread therefore becomes a member of
//! a pool of the wanted size: with one thread nothing else is started, and the thread that takes the steps stays
//! the one that called.

use crate::TrainError;

/// A mistyped number should not start a million threads.
const MOST_THREADS: u32 = 1024;

/// Makes everything this thread computes from now on use `threads` threads, itself included.
///
/// A thread can choose once; choosing the same number again is fine.
pub(crate) fn use_threads(threads: u32) -> Result<(), TrainError> {
    if threads == 0 {
        return Err(TrainError::Zero { setting: "threads" });
    }
    if threads > MOST_THREADS {
        return Err(TrainError::TooManyThreads { threads, most: MOST_THREADS });
    }
    if rayon::current_thread_index().is_some() {
        return agree(threads);
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads as usize)
        .thread_name(|at| format!("train-{at}"))
        .use_current_thread()
        .build()
        // The pool must outlive this thread's last step; rayon keeps such a pool until the process ends.
        .map(std::mem::forget)
        .map_err(|source| TrainError::Threads { threads, source })
}

fn agree(asked: u32) -> Result<(), TrainError> {
    let current = u32::try_from(rayon::current_num_threads()).unwrap_or(u32::MAX);
    if current == asked { Ok(()) } else { Err(TrainError::ThreadsFixed { current, asked }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_a_fresh_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::spawn(work).join().unwrap()
    }

    #[test]
    fn the_calling_thread_counts_as_one_of_the_threads() {
        let seen = on_a_fresh_thread(|| {
            use_threads(2).unwrap();
            (rayon::current_num_threads(), rayon::current_thread_index())
        });
        assert_eq!(seen, (2, Some(0)));
    }

    #[test]
    fn a_thread_keeps_the_number_it_chose_first() {
        on_a_fresh_thread(|| {
            use_threads(1).unwrap();
            use_threads(1).unwrap();
            assert!(matches!(use_threads(2), Err(TrainError::ThreadsFixed { current: 1, asked: 2 })));
        });
    }

    #[test]
    fn absurd_numbers_of_threads_are_refused() {
        assert!(matches!(use_threads(0), Err(TrainError::Zero { setting: "threads" })));
        assert!(matches!(use_threads(1_000_000), Err(TrainError::TooManyThreads { .. })));
    }
}
