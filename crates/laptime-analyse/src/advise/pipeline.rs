//! Pipeline: how long a step takes when workers load its batches beside it, on CPUs that are shared.
//!
//! A step takes as long as computing or as its share of the loading, whichever is longer. Where other programs want the
//! CPUs, too, the kernel divides each CPU evenly among them, so whatever computes is stretched, and more threads of one
//! program gain it little.

use super::evidence::Evidence;

/// What a batch costs to be handed over by a worker, seconds: it is put in shared memory and taken out again.
pub(crate) const HAND_OVER_S: f64 = 0.5e-3;
/// What workers take to be started and ended, seconds: any at all, and each of them. A process that has imported PyTorch
/// took 53 ms for one and 77 for four.
const START_S: (f64, f64) = (0.045, 0.008);
/// Rounds until the share of the CPUs is known; each brings it closer by a half.
const ROUNDS: usize = 60;

/// What the steps of a training need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pipeline {
    /// Everything in a step but the wait for its batch, with CPUs to spare, seconds.
    pub(crate) compute_s: f64,
    /// CPU time of that, seconds; more than `compute_s` where threads compute together.
    pub(crate) compute_cpu_s: f64,
    /// CPU time to load a batch, seconds.
    pub(crate) load_cpu_s: f64,
    /// What loading waits for besides, seconds.
    pub(crate) load_waits_s: f64,
    /// CPUs.
    pub(crate) cpus: f64,
    /// Other programs that want the CPUs as much.
    pub(crate) rivals: f64,
    /// Steps of an epoch.
    pub(crate) steps_per_epoch: f64,
}

impl Pipeline {
    /// Of a training whose loading was timed; `None` where it was not, or what it had of the CPUs is unknown.
    pub(crate) fn of(evidence: &Evidence<'_>) -> Option<Self> {
        let passes = &evidence.run.passes;
        let has_workers = evidence.fit.workers.unwrap_or(0) > 0;
        let loading = if has_workers { passes.worker_loading } else { passes.own_loading }?;
        let (steps, training) = (evidence.fit.steps.max(1) as f64, &evidence.training);
        let stretch = evidence.stretch().unwrap_or(1.0);
        let per_step = training.step_s();
        let waits = training.stage_s("data_wait") / training.steps as f64;
        let own_cpu = passes.own.cpu_s? / steps - if has_workers { 0.0 } else { loading.cpu_s };
        let computing = (per_step - waits).max(0.0);
        let compute_cpu_s = own_cpu.max(0.0);
        // What is on a CPU took longer by as much as its threads waited for one.
        let on_cpu = (compute_cpu_s * stretch).min(computing);
        let compute_s = computing - on_cpu + on_cpu / stretch;
        Some(Self {
            compute_s,
            compute_cpu_s,
            load_cpu_s: loading.cpu_s,
            load_waits_s: loading.waits_s(),
            cpus: evidence.cpus,
            rivals: evidence.rivals(),
            steps_per_epoch: evidence.steps_per_epoch(),
        })
    }

    /// Seconds a step with so many workers that live as long as the training, or start anew each epoch.
    pub(crate) fn step_s(&self, workers: u64, persistent: bool) -> f64 {
        let share = self.share(workers);
        let step = self.at_share(workers, share);
        if workers == 0 {
            return step;
        }
        // An epoch begins with nothing loaded ahead.
        let first = self.load_s(share) + if persistent { 0.0 } else { Self::start_s(workers) };
        step + first / self.steps_per_epoch
    }

    /// Computing of a step, and loading of a batch by one worker, beside so many of them; seconds.
    pub(crate) fn stages(&self, workers: u64) -> (f64, f64) {
        let share = self.share(workers);
        let hand_over = if workers == 0 { 0.0 } else { HAND_OVER_S };
        (self.computing(share) + hand_over, self.load_s(share))
    }

    /// What workers that start anew take until they load, seconds.
    pub(crate) fn start_s(workers: u64) -> f64 {
        if workers == 0 { 0.0 } else { START_S.0 + START_S.1 * workers as f64 }
    }

    /// The share of a CPU that each thread gets with so many workers.
    fn share(&self, workers: u64) -> f64 {
        let mut share = 1.0_f64;
        for _ in 0..ROUNDS {
            let step = self.at_share(workers, share);
            let threads = (self.compute_cpu_s + self.load_cpu_s) / share / step.max(1e-9);
            share = (share + self.granted(threads)) / 2.0;
        }
        share
    }

    /// The same with loading that takes only a part of what it does, of its CPU time and its waits alike.
    pub(crate) fn with_loading(&self, part: f64) -> Self {
        Self { load_cpu_s: self.load_cpu_s * part, load_waits_s: self.load_waits_s * part, ..*self }
    }

    /// The fewest workers, of at most so many, that are as good as any.
    pub(crate) fn best_workers(&self, most: u64) -> u64 {
        let best = (1..=most).map(|workers| self.step_s(workers, true)).fold(f64::INFINITY, f64::min);
        (1..=most).find(|workers| self.step_s(*workers, true) <= best * AS_GOOD).unwrap_or(1)
    }

    /// The share of loading that computes rather than waits, 0 to 1.
    pub(crate) fn computing_share(&self) -> f64 {
        self.load_cpu_s / (self.load_cpu_s + self.load_waits_s).max(f64::MIN_POSITIVE)
    }

    /// The share of a CPU that each of so many busy threads gets.
    fn granted(&self, threads: f64) -> f64 {
        let threads = threads.max(1.0);
        // The weight of a program is divided among the CPUs that it has threads on.
        let spread = threads.min(self.cpus);
        let all = spread * self.cpus / (self.cpus + self.rivals * spread);
        (all / threads).min(1.0)
    }

    fn at_share(&self, workers: u64, share: f64) -> f64 {
        let computing = self.computing(share);
        match workers {
            0 => computing + self.load_s(share),
            _ => (computing + HAND_OVER_S).max(self.load_s(share) / workers as f64),
        }
    }

    fn computing(&self, share: f64) -> f64 {
        let on_cpu = self.compute_cpu_s.min(self.compute_s);
        self.compute_s - on_cpu + on_cpu / share
    }

    fn load_s(&self, share: f64) -> f64 {
        self.load_cpu_s / share + self.load_waits_s
    }
}

/// Numbers of workers whose steps differ by less are equally good.
const AS_GOOD: f64 = 1.03;

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Pipeline = Pipeline {
        compute_s: 0.04,
        compute_cpu_s: 0.04,
        load_cpu_s: 0.06,
        load_waits_s: 0.0,
        cpus: 2.0,
        rivals: 0.0,
        steps_per_epoch: 1e6,
    };

    fn near(value: f64, expected: f64) -> bool {
        (value / expected - 1.0).abs() < 0.03
    }

    #[test]
    fn without_workers_a_step_loads_and_then_computes() {
        assert!(near(QUIET.step_s(0, true), 0.1));
    }

    #[test]
    fn one_worker_loads_beside_the_model_and_more_share_the_cpus() {
        assert!(near(QUIET.step_s(1, true), 0.06), "{}", QUIET.step_s(1, true));
        assert!(near(QUIET.step_s(2, true), 0.05), "two CPUs have 100 ms of work a step");
        assert!(near(QUIET.step_s(8, true), 0.05));
        assert_eq!(QUIET.best_workers(8), 2);
    }

    #[test]
    fn loading_that_waits_is_hidden_by_more_workers_than_cpus() {
        let waits = Pipeline { load_cpu_s: 0.005, load_waits_s: 0.2, ..QUIET };
        assert!(waits.best_workers(16) >= 5, "{}", waits.best_workers(16));
        assert!(near(waits.step_s(16, true), 0.0405));
    }

    #[test]
    fn on_a_loaded_machine_more_threads_gain_little() {
        let loaded = Pipeline { rivals: 7.0, ..QUIET };
        assert!(near(loaded.step_s(0, true), 0.1 * 9.0 / 2.0), "{}", loaded.step_s(0, true));
        assert!(near(loaded.step_s(2, true), 0.1 * 8.0 / 2.0), "{}", loaded.step_s(2, true));
        let waits = Pipeline { load_cpu_s: 0.001, load_waits_s: 0.18, ..loaded };
        assert!(near(waits.step_s(2, true), 0.0405 * 4.5), "waits are hidden, {}", waits.step_s(2, true));
    }

    #[test]
    fn short_epochs_pay_for_the_start_of_workers() {
        let short = Pipeline { steps_per_epoch: 2.0, ..QUIET };
        let saved = short.step_s(2, false) - short.step_s(2, true);
        assert!((saved - Pipeline::start_s(2) / 2.0).abs() < 1e-9);
    }
}
