//! Where each process was that did not end by itself.

use laptime_analyse::{Death, OpenStageSummary, Part, Report};

use super::shown;
use super::units;
use super::words::stage_name;

/// Deaths listed one by one; a job of many ranks has as many, and JSON has all.
const MOST_DEATHS: usize = 8;

/// A line for each death: `rank 0 died in backward (open for 3.20 ms), step 37 of epoch 2 (fit 1)`; without
/// epochs the step is the fit's.
pub(crate) fn death_lines(report: &Report) -> Vec<String> {
    let deaths = &report.deaths;
    let mut lines: Vec<String> = deaths.iter().take(MOST_DEATHS).flat_map(|d| lines_of(d, report)).collect();
    if let Some(more) = deaths.len().checked_sub(MOST_DEATHS).filter(|more| *more > 0) {
        lines.push(format!("and {more} more died (--json has all)"));
    }
    lines
}

/// The thread that takes the steps first; others of the process only where they were in a stage.
fn lines_of(death: &Death, report: &Report) -> Vec<String> {
    let who = subject(death, report.run.ranks > 1 || report.deaths.len() > 1);
    let host = death.host.as_deref().map_or_else(String::new, |host| format!("(host {}) ", shown(host)));
    let who = format!("{who}{host}");
    let mut threads: Vec<&str> = death.open_stages.iter().map(|stage| stage.thread.as_str()).collect();
    threads.dedup();
    if threads.is_empty() {
        return vec![format!("{who}died{}", place(death))];
    }
    let line = |(at, thread): (usize, &&str)| {
        let open: Vec<&OpenStageSummary> =
            death.open_stages.iter().filter(|stage| stage.thread == **thread).collect();
        match at {
            0 => format!("{who}died {}{}", stages(&open), place(death)),
            _ => format!("{who}thread {} died {}", shown(thread), stages(&open)),
        }
    };
    threads.iter().enumerate().map(line).collect()
}

/// Who died, with a blank behind; nothing where only one process could have.
fn subject(death: &Death, among_others: bool) -> String {
    let Death { part, rank, worker, pid, .. } = death;
    match part {
        Part::Rank if among_others => format!("rank {rank} "),
        Part::Rank => String::new(),
        Part::Trainer => format!("trainer {pid} "),
        Part::LoaderWorker => match worker {
            Some(number) => format!("loader worker {number} (pid {pid}) "),
            None => format!("loader worker (pid {pid}) "),
        },
        Part::Process => format!("process {pid} "),
    }
}

/// The open stages from the outermost: `in fetch (open for 20 ms), within it transform (open for 10 ms)`.
fn stages(open: &[&OpenStageSummary]) -> String {
    let stage = |(depth, open): (usize, &&OpenStageSummary)| {
        let time = units::duration(open.open_s);
        match (depth, open.stage.as_str()) {
            (0, "unaccounted") => format!("outside any stage (for {time})"),
            (0, "idle") => format!("while idle (for {time})"),
            (0, "between_epochs") => format!("between epochs (for {time})"),
            (0, stage) => format!("in {} (open for {time})", stage_name(stage)),
            (_, stage) => format!("{} (open for {time})", stage_name(stage)),
        }
    };
    open.iter().enumerate().map(stage).collect::<Vec<_>>().join(", within it ")
}

/// How far its training was.
fn place(death: &Death) -> String {
    let Some(fit) = death.fit.map(|fit| fit + 1) else { return String::new() };
    match (death.epoch.map(|epoch| epoch + 1), death.step.map(|step| step + 1)) {
        (Some(epoch), Some(step)) => format!(", step {} of epoch {epoch} (fit {fit})", units::count(step)),
        (Some(epoch), None) => format!(", after epoch {epoch} (fit {fit})"),
        (None, Some(step)) => format!(", step {} (fit {fit})", units::count(step)),
        (None, None) => match death.steps_done {
            Some(steps) => format!(", after step {} (fit {fit})", units::count(steps)),
            None => format!(", before the first epoch (fit {fit})"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    fn open(stage: &str, open_s: f64) -> OpenStageSummary {
        OpenStageSummary { thread: "main".to_owned(), stage: stage.to_owned(), open_s }
    }

    #[test]
    fn each_process_says_who_it_was_and_where() {
        let rank = Death { step: Some(36), ..sample::death() };
        let worker = Death {
            part: Part::LoaderWorker,
            worker: Some(1),
            fit: None,
            open_stages: vec![open("fetch", 0.02), open("transform", 0.01)],
            ..sample::death()
        };
        let idle = Death { worker: None, open_stages: vec![open("idle", 3.0)], ..worker.clone() };
        let other = Death {
            part: Part::Process,
            fit: None,
            open_stages: vec![open("unaccounted", 1.0)],
            ..sample::death()
        };
        let trainer = Death { part: Part::Trainer, ..rank.clone() };
        let evaluating =
            Death { rank: 1, step: None, open_stages: vec![open("evaluate", 0.5)], ..rank.clone() };
        let by_steps = Death { rank: 3, epoch: None, step: Some(63), steps_done: Some(63), ..rank.clone() };
        let saving = Death {
            step: None,
            open_stages: vec![open("checkpoint", 0.5)],
            steps_done: Some(64),
            ..by_steps.clone()
        };
        let early = Death { rank: 2, epoch: None, step: None, open_stages: Vec::new(), ..rank.clone() };
        let mut report = sample::killed();
        report.deaths = vec![rank, evaluating, early, by_steps, saving, trainer, worker, idle, other];
        insta::assert_snapshot!(death_lines(&report).join("\n"), @r"
        rank 0 died in backward (open for 3.20 ms), step 37 of epoch 2 (fit 1)
        rank 1 died in evaluate (open for 500 ms), after epoch 2 (fit 1)
        rank 2 died, before the first epoch (fit 1)
        rank 3 died in backward (open for 3.20 ms), step 64 (fit 1)
        rank 3 died in checkpoint (open for 500 ms), after step 64 (fit 1)
        trainer 4711 died in backward (open for 3.20 ms), step 37 of epoch 2 (fit 1)
        loader worker 1 (pid 4711) died in fetch (open for 20.0 ms), within it transform (open for 10.0 ms)
        loader worker (pid 4711) died while idle (for 3.00 s)
        and 1 more died (--json has all)
        ");
    }
}
