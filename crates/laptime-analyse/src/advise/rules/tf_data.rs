//! A `tf.data` pipeline that the model waits for: keep what it makes, map in parallel, prefetch.

use laptime_core::units::percent;

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::gpu::of_share;
use super::super::injected;
use super::super::rule::{Advised, Outcome, Rule};

pub(super) const CACHE: Rule = Rule { id: "tf_cache", subject: "tf.data cache", look: look_at_cache };
pub(super) const PARALLEL_MAP: Rule =
    Rule { id: "tf_parallel_map", subject: "tf.data parallel map", look: look_at_map };
pub(super) const PREFETCH: Rule =
    Rule { id: "tf_prefetch", subject: "tf.data prefetch", look: look_at_prefetch };

/// Waiting for data is worth a change from this share of the training on.
const WAITS: f64 = 0.05;
/// How far predictions may be off.
const UNCERTAIN: f64 = 0.15;
/// What is left of a wait for rows that are kept in memory.
const KEPT: f64 = 20.0;
/// Rows that take memory of more than this share of what there is cannot be kept.
const OF_MEMORY: f64 = 0.5;

fn look_at_cache(evidence: &Evidence<'_>) -> Outcome {
    let Some(data) = Pipeline::of(evidence) else { return Outcome::DoesNotApply };
    if data.has("cache") || data.waits < WAITS {
        return Outcome::Fine;
    }
    // A source that is in memory, and of which nothing is made, has nothing to keep.
    if !data.maps() && !data.reads_files() || evidence.fit.epochs < 2 {
        return Outcome::DoesNotApply;
    }
    let fits = evidence.run.machine.memory_bytes.zip(evidence.report.transfer.batch_bytes_per_epoch);
    if fits.is_some_and(|(memory, epoch)| epoch as f64 > OF_MEMORY * memory as f64) {
        return Outcome::DoesNotApply;
    }
    Outcome::advice(Advised {
        title: "keep the mapped rows in memory".to_owned(),
        because: format!("{}, which makes the same rows again in each epoch", data.because()),
        change: "dataset.cache() after the last map that is not random".to_owned(),
        speedup: Speedup::around(of_share(data.waits, KEPT), UNCERTAIN),
        injects: injected("cache", 1),
    })
}

fn look_at_map(evidence: &Evidence<'_>) -> Outcome {
    let Some(data) = Pipeline::of(evidence) else { return Outcome::DoesNotApply };
    if !data.maps() {
        return Outcome::DoesNotApply;
    }
    if !data.has("map") || data.waits < WAITS || evidence.cpus < 2.0 {
        return Outcome::Fine;
    }
    // The model needs CPUs, too, unless a GPU computes it: what is left of the wait is what the others cannot make.
    let faster = evidence.cpus.min(8.0);
    Outcome::advice(Advised {
        title: "map rows in parallel".to_owned(),
        because: format!("{}, which maps one row after the other", data.because()),
        change: "map(…, num_parallel_calls=tf.data.AUTOTUNE)".to_owned(),
        speedup: Speedup::typical(of_share(data.waits, 1.1), of_share(data.waits, faster)),
        injects: injected("parallel_map", 1),
    })
}

fn look_at_prefetch(evidence: &Evidence<'_>) -> Outcome {
    let Some(data) = Pipeline::of(evidence) else { return Outcome::DoesNotApply };
    if data.ends_with_prefetch() || data.waits < WAITS || evidence.cpus < 2.0 {
        return Outcome::Fine;
    }
    // Made ahead, the shorter of making and using a batch is hidden behind the longer.
    let hidden = data.waits.min(1.0 - data.waits);
    Outcome::advice(Advised {
        title: "prefetch batches".to_owned(),
        because: format!("{}, which makes a batch when it is asked for", data.because()),
        change: "dataset.prefetch(tf.data.AUTOTUNE) at its end".to_owned(),
        speedup: Speedup::typical(1.0, 1.0 / (1.0 - hidden)),
        injects: injected("prefetch", 1),
    })
}

/// What a dataset is made of, from its source on, and how much of the training waits for it.
struct Pipeline<'a> {
    names: Vec<&'a str>,
    waits: f64,
}

impl<'a> Pipeline<'a> {
    fn of(evidence: &Evidence<'a>) -> Option<Self> {
        let names = evidence.setting("tensorflow.data")?.split(' ').collect();
        Some(Self { names, waits: evidence.training.share("data_wait") })
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    fn maps(&self) -> bool {
        self.names.iter().any(|name| name.ends_with("map"))
    }

    fn reads_files(&self) -> bool {
        self.names.first().is_some_and(|source| !source.starts_with("tensor") && *source != "range")
    }

    /// Options and counters may follow it.
    fn ends_with_prefetch(&self) -> bool {
        let mut last = self.names.iter().rev().filter(|name| !name.contains("options"));
        last.next().is_some_and(|name| name.starts_with("prefetch"))
    }

    fn because(&self) -> String {
        format!("the model waits {} of the time for the dataset", percent(self.waits))
    }
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{DATA_WAIT, FORWARD, MS, advice, changed, gains, on_cpu, with};

    fn waiting(percent: u64, data: &str) -> crate::compare::ComparedRun {
        let run = on_cpu("keras", &[(DATA_WAIT, percent * MS / 5), (FORWARD, (100 - percent) * MS / 5)]);
        changed(with(run, &[("tensorflow.data", data)]), |report| report.run.cpus = 4)
    }

    fn ids(run: &crate::compare::ComparedRun) -> Vec<&'static str> {
        gains(run).into_iter().map(|item| item.0).collect()
    }

    #[test]
    fn rows_that_are_mapped_again_in_each_epoch_are_to_be_kept() {
        let run = waiting(60, "tensor_slice map batch prefetch");
        assert_eq!(ids(&run), ["tf_cache", "tf_parallel_map"]);
        assert_eq!(gains(&run)[0], ("tf_cache", 2.02, 2.67));
        assert_eq!(ids(&waiting(60, "tensor_slice cache parallel_map batch prefetch")), Vec::<&str>::new());
    }

    #[test]
    fn a_dataset_that_ends_without_prefetch_gets_one() {
        assert_eq!(ids(&waiting(40, "tensor_slice batch")), ["tf_prefetch"]);
        assert_eq!(ids(&waiting(40, "tensor_slice batch prefetch options")), Vec::<&str>::new());
    }

    #[test]
    fn a_model_that_does_not_wait_needs_nothing_of_its_dataset() {
        let run = waiting(1, "tensor_slice map batch");
        assert!(advice(&run).items.is_empty() && advice(&run).fine.contains(&"tf.data cache"));
    }

    #[test]
    fn rows_that_do_not_fit_into_memory_are_not_kept() {
        let mut run = waiting(60, "text_line parallel_map batch prefetch");
        run.machine.memory_bytes = Some(8 << 30);
        run.report.transfer.batch_bytes_per_epoch = Some(1 << 30);
        assert_eq!(ids(&run), ["tf_cache"]);
        run.report.transfer.batch_bytes_per_epoch = Some(6 << 30);
        assert_eq!(ids(&run), Vec::<&str>::new());
    }
}
