//! The samples of a profile, as text in a file or on standard output.

use std::fs;
use std::path::Path;

use laptime_analyse::{ProfileStacks, SampledPart};
use laptime_core::SampledFunction;

use super::{ExportFormat, Exported, collapsed, speedscope};
use crate::Ending;
use crate::failure::Failure;
use crate::screen::Screen;

/// Writes the samples of a run.
pub(super) fn write(
    asked: String,
    format: ExportFormat,
    path: &Path,
    run: &Exported,
    screen: &Screen,
) -> Result<Ending, Failure> {
    let stacks = run.study.profile_stacks();
    if stacks.stacks.is_empty() {
        return Err(Failure::usage(asked)
            .because("it has no samples: it was not run with --profile, or nothing could be sampled")
            .hint("laptime run --profile -- COMMAND"));
    }
    let text = match format {
        ExportFormat::Collapsed => collapsed::lines(&stacks),
        _ => speedscope::document(&stacks, &run.report),
    };
    if path == Path::new("-") {
        screen.show(text.trim_end());
        return Ok(Ending::Done);
    }
    fs::write(path, text).map_err(|error| Failure::new(asked).caused_by(&error))?;
    screen.note(&format!("{} of run {} written to {}", format.name(), run.report.run.id, path.display()));
    Ok(Ending::Done)
}

/// Who was sampled, in a few words; `ranked` where there are several ranks.
pub(super) fn part_name(part: SampledPart, rank: u32, ranked: bool) -> String {
    let name = match part {
        SampledPart::Training => "training",
        SampledPart::LoaderWorkers => "loader workers",
        SampledPart::Others => "other threads and processes",
    };
    if ranked { format!("rank {rank} {name}") } else { name.to_owned() }
}

pub(super) fn has_ranks(stacks: &ProfileStacks) -> bool {
    stacks.stacks.iter().any(|stack| stack.rank > 0)
}

/// `decode (train.py:14)`.
pub(super) fn function_name(function: &SampledFunction) -> String {
    let file = function.file.rsplit('/').next().unwrap_or(&function.file);
    format!("{} ({file}:{})", function.name, function.line)
}

/// Samples to export in tests: two stages of the training, and a worker that waits.
#[cfg(test)]
pub(super) fn sample() -> ProfileStacks {
    use laptime_analyse::ProfileStack;

    let function = |function, name: &str, line| {
        let (name, file) = (name.to_owned(), "/home/me/train.py".to_owned());
        SampledFunction { function, name, file, line }
    };
    let stack = |part, stage: Option<&str>, waiting, calls: &[usize], samples| ProfileStack {
        part,
        rank: 0,
        stage: stage.map(str::to_owned),
        waiting,
        calls: calls.to_vec(),
        samples,
        micros: samples * 10_000,
    };
    ProfileStacks {
        functions: vec![function(0, "<module>", 1), function(1, "decode;\nall", 14)],
        stacks: vec![
            stack(SampledPart::Training, Some("data_wait"), false, &[0, 1], 30),
            stack(SampledPart::Training, Some("data_wait"), true, &[0, 1], 5),
            stack(SampledPart::Training, Some("forward"), false, &[0], 10),
            stack(SampledPart::LoaderWorkers, None, true, &[0], 7),
        ],
    }
}
