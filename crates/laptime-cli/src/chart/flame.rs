//! A flame graph: which functions take each stage, callers above what they call.

use std::collections::BTreeMap;

use laptime_analyse::{ProfileStack, ProfileStacks, SampledPart};
use laptime_core::units;

use super::canvas::{Area, Canvas};
use super::figure::Figure;
use super::numbers::Numbers;
use super::theme::stage_order;
use crate::one_line::shown;
use crate::stage_words::stage_name;

const ROW: f64 = 19.0;
/// Calls within calls that are drawn.
const DEEPEST: usize = 36;
/// Functions that take less than this share of a part's time are not drawn.
const THINNEST: f64 = 0.001;
/// Rows of the table.
const MOST_ROWS: usize = 100;

/// Calls of one function from one place.
#[derive(Default)]
struct Calls {
    micros: u64,
    /// Of them, with it innermost.
    own: u64,
    inner: BTreeMap<usize, Calls>,
}

/// One flame graph of each part of the run that was sampled, of the first rank.
pub(crate) fn flame_figures(stacks: &ProfileStacks) -> Vec<Figure> {
    let parts = [
        (SampledPart::Training, "flame", "Functions of the training thread"),
        (SampledPart::LoaderWorkers, "flame-workers", "Functions of the loader workers"),
        (SampledPart::Others, "flame-others", "Functions of other threads"),
    ];
    parts.into_iter().filter_map(|(part, id, title)| figure(stacks, part, id, title)).collect()
}

fn figure(stacks: &ProfileStacks, part: SampledPart, id: &str, title: &str) -> Option<Figure> {
    let own = || stacks.stacks.iter().filter(|stack| stack.part == part);
    let rank = own().map(|stack| stack.rank).min()?;
    let mut stages: BTreeMap<&str, Calls> = BTreeMap::new();
    for stack in own().filter(|stack| stack.rank == rank) {
        take(stages.entry(stack.stage.as_deref().unwrap_or("<other>")).or_default(), stack);
    }
    let all: u64 = stages.values().map(|calls| calls.micros).sum();
    let samples: u64 = own().filter(|stack| stack.rank == rank).map(|stack| stack.samples).sum();
    let mut stages: Vec<(&str, Calls)> = stages.into_iter().collect();
    stages.sort_by_key(|(stage, _)| stage_order(stage));
    let described = format!(
        "{title} by stage, callers above what they call; as wide as their share of {} in {}",
        units::duration(all as f64 * 1e-6),
        units::counted(samples, "sample")
    );
    let numbers = numbers(stacks, &stages, all);
    (all > 0).then(|| Figure::new(id, title, described, numbers, |canvas| draw(canvas, stacks, &stages, all)))
}

fn take(stage: &mut Calls, stack: &ProfileStack) {
    stage.micros += stack.micros;
    let mut at = stage;
    for call in stack.calls.iter().take(DEEPEST) {
        at = at.inner.entry(*call).or_default();
        at.micros += stack.micros;
    }
    at.own += stack.micros;
}

/// What all boxes share.
struct Flame<'a> {
    stacks: &'a ProfileStacks,
    stage: &'a str,
    all: u64,
}

fn draw(canvas: &mut Canvas, stacks: &ProfileStacks, stages: &[(&str, Calls)], all: u64) {
    let mut x = 0.0;
    canvas.height = ROW;
    for (stage, calls) in stages {
        let width = calls.micros as f64 / all as f64 * canvas.width;
        let flame = Flame { stacks, stage, all };
        let tip = format!("{}: {}", stage_name(stage), took(calls.micros, all));
        canvas.stage(stage, Area { x, y: 0.0, width, height: ROW - 1.0 }, &tip, Some(&stage_name(stage)));
        flame.draw_inner(canvas, calls, (x, ROW));
        x += width;
    }
}

impl Flame<'_> {
    fn draw_inner(&self, canvas: &mut Canvas, calls: &Calls, (left, y): (f64, f64)) {
        let mut x = left;
        for (function, inner) in &calls.inner {
            let share = inner.micros as f64 / self.all as f64;
            let width = share * canvas.width;
            if share >= THINNEST {
                let (name, place) = named(self.stacks, *function);
                let tip = format!(
                    "{name}\n{place}\n{}, itself {}",
                    took(inner.micros, self.all),
                    units::percent(inner.own as f64 / self.all as f64)
                );
                canvas.stage(self.stage, Area { x, y, width, height: ROW - 1.0 }, &tip, Some(&name));
                canvas.height = canvas.height.max(y + ROW);
                self.draw_inner(canvas, inner, (x, y + ROW));
            }
            x += width;
        }
    }
}

fn took(micros: u64, all: u64) -> String {
    format!("{}, {}", units::duration(micros as f64 * 1e-6), units::percent(micros as f64 / all as f64))
}

fn named(stacks: &ProfileStacks, function: usize) -> (String, String) {
    match stacks.functions.get(function) {
        Some(known) => (shown(&known.name), format!("{}:{}", shown(&known.file), known.line)),
        None => ("unknown".to_owned(), String::new()),
    }
}

/// The functions that take most themselves.
fn numbers(stacks: &ProfileStacks, stages: &[(&str, Calls)], all: u64) -> Numbers {
    let mut own: BTreeMap<(&str, usize), u64> = BTreeMap::new();
    for (stage, calls) in stages {
        add_own(stage, calls, &mut own);
    }
    let mut own: Vec<((&str, usize), u64)> = own.into_iter().filter(|(_, micros)| *micros > 0).collect();
    own.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut numbers = Numbers::new(["function", "where", "stage", "itself", "share"]);
    for ((stage, function), micros) in own.into_iter().take(MOST_ROWS) {
        let (name, place) = named(stacks, function);
        let share = units::percent_in_column(micros as f64 / all.max(1) as f64);
        numbers.row([name, place, stage_name(stage), units::duration(micros as f64 * 1e-6), share]);
    }
    numbers
}

fn add_own<'a>(stage: &'a str, calls: &Calls, own: &mut BTreeMap<(&'a str, usize), u64>) {
    for (function, inner) in &calls.inner {
        *own.entry((stage, *function)).or_default() += inner.own;
        add_own(stage, inner, own);
    }
}
