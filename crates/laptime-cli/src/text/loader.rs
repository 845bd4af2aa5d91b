//! The settings of a loader as text: what was measured, the choice, why no more would help.

use laptime_analyse::advise::loader_search::{
    Bound, Choice, Enough, Limit, LoaderReport, More, Point, Setting,
};
use laptime_core::units::{self, UNKNOWN};

use super::report::{ended, explained};
use super::shown;
use super::style::{Emphasis, Style};
use super::table::{Align, Cell, Column, Table};
use super::wrap::wrapped;

/// Starting the workers is worth a word when it takes this share of a pass.
const SLOW_START: f64 = 0.05;
/// Other programs are worth a word when they use so many CPUs.
const DISTURBED: f64 = 0.2;

/// What was measured, then the choice and its reasons.
pub(crate) fn loader_text(report: &LoaderReport, style: &Style) -> String {
    let line = |text: &str, paint| ended(&explained(text, style, paint));
    let mut parts = vec![line(&needs(report), Emphasis::Plain), table(report).drawn(style), "\n".to_owned()];
    if let Some(choice) = &report.choice {
        parts.push(line(&chosen(choice), Emphasis::Bold));
        parts.push(line(&why(choice), Emphasis::Plain));
        parts.extend(met(report, choice).map(|text| line(&text, Emphasis::Notice)));
        let code = wrapped(&code(choice), style.width, "  ", "    ");
        parts.push(ended(&code.iter().map(|line| style.paint(line, Emphasis::Good)).collect::<Vec<_>>()));
    }
    parts.extend(notes(report).iter().map(|note| line(&format!("note: {note}"), Emphasis::Dim)));
    parts.push(line(&tally(report), Emphasis::Dim));
    parts.concat()
}

/// A setting in the words of `DataLoader`.
pub(crate) fn setting_text(setting: &Setting) -> String {
    let mut words = vec![format!("num_workers={}", setting.workers)];
    words.extend(setting.prefetch.map(|prefetch| format!("prefetch_factor={prefetch}")));
    words.extend(setting.batch.map(|batch| format!("batch_size={batch}")));
    words.extend(setting.pin.then(|| "pin_memory=True".to_owned()));
    words.join(", ")
}

fn needs(report: &LoaderReport) -> String {
    let Some(need) = &report.needs else {
        return "needs: unknown, so the fastest is chosen (a run or --needs RATE says it)".to_owned();
    };
    let rate = units::rate(need.samples_per_s);
    match &need.run {
        Some(run) => {
            let id = run.rsplit('-').next().unwrap_or(run);
            format!("needs {rate} (run {id}, without waiting for data)")
        }
        None => format!("needs {rate} (--needs)"),
    }
}

fn table(report: &LoaderReport) -> Table {
    let has_batch = report.points.iter().any(|point| point.setting.batch.is_some());
    let has_copies = report.points.iter().any(|point| point.setting.copied);
    let mut columns = vec![Column::new("workers", Align::Right), Column::new("prefetch", Align::Right)];
    columns.extend(has_batch.then(|| Column::new("batch", Align::Right)));
    columns.extend(has_copies.then(|| Column::new("pinned copy", Align::Left)));
    columns.extend([
        Column::new("samples/s", Align::Right),
        Column::new("±", Align::Right),
        Column::new("first batch", Align::Unit).importance(3),
        Column::new("CPUs used", Align::Right).importance(2),
        Column::new("", Align::Left).importance(1),
    ]);
    let mut table = Table::new(columns);
    for point in &report.points {
        let is_chosen = report.choice.as_ref().is_some_and(|choice| choice.point.setting == point.setting);
        let mut cells = vec![
            point.setting.workers.to_string(),
            units::or_unknown(point.setting.prefetch, |prefetch| prefetch.to_string()),
        ];
        cells.extend(has_batch.then(|| units::or_unknown(point.setting.batch, units::count)));
        cells.extend(has_copies.then(|| pinned(&point.setting).to_owned()));
        cells.extend(numbers(point));
        let paint = if is_chosen { Emphasis::Bold } else { Emphasis::Plain };
        let cell = |text: String| if is_chosen { Cell::painted(text, paint) } else { text.into() };
        let mut cells: Vec<Cell> = cells.into_iter().map(cell).collect();
        cells.push(Cell::painted(remark(point, is_chosen), Emphasis::Dim));
        table.row(cells);
    }
    table
}

fn pinned(setting: &Setting) -> &'static str {
    match (setting.copied, setting.pin) {
        (false, _) => UNKNOWN,
        (true, false) => "no",
        (true, true) => "yes",
    }
}

fn numbers(point: &Point) -> [String; 4] {
    if point.failed.is_some() {
        return [UNKNOWN; 4].map(str::to_owned);
    }
    [
        units::per_second(point.samples_per_s),
        units::or_unknown(point.error, units::percent),
        units::duration(point.first_batch_s),
        units::fixed(point.main_cpus + point.worker_cpus, 2),
    ]
}

fn remark(point: &Point, is_chosen: bool) -> String {
    let words = match (&point.failed, point.ended) {
        (Some(_), _) => "failed",
        _ if is_chosen => "← choice",
        (_, Some(Enough::Behind)) => "cut off: slower",
        _ if point.cold => "read from disk",
        _ => "",
    };
    words.to_owned()
}

/// `choice: num_workers=2, prefetch_factor=2: 790 samples/s ±1.8 %, 1.9× as fast as num_workers=0`
fn chosen(choice: &Choice) -> String {
    let point = &choice.point;
    let error = point.error.map(|error| format!(" ±{}", units::percent(error))).unwrap_or_default();
    // Where workers only let loading happen meanwhile, the ratio would say nothing for them.
    let over = choice.over_no_workers.filter(|ratio| *ratio > 1.0);
    let over = over.map(|ratio| format!(", {}× num_workers=0", units::three_digits(ratio)));
    let setting = setting_text(&point.setting);
    format!("choice: {setting}: {}{error}{}", units::rate(point.samples_per_s), over.unwrap_or_default())
}

/// Why more would not help, in what was measured.
fn why(choice: &Choice) -> String {
    let tried = |more: &More| {
        let noise = more.noise.map(|noise| format!(" ±{}", units::percent(noise))).unwrap_or_default();
        let sign = if more.gain >= 0.0 { "+" } else { "" };
        format!("{} workers: {sign}{}{noise}", more.workers, units::percent(more.gain))
    };
    let tried = choice.more.as_ref().map(|more| format!(" ({})", tried(more))).unwrap_or_default();
    match &choice.limit {
        Limit::NeedMet => "more is not needed: the model would not wait for data".to_owned(),
        Limit::Cpus { used, others, cpus } => {
            let of = units::counted(u64::from(*cpus), "CPU");
            let used = units::fixed(*used, 2);
            let others = match *others >= DISTURBED {
                true => format!(", other programs {}", units::fixed(*others, 2)),
                false => String::new(),
            };
            format!(
                "more workers do not help{tried}: the CPUs are busy; the loader uses {used} of {of}{others}"
            )
        }
        Limit::MainProcess { cpus } => format!(
            "more workers do not help{tried}: the process that takes the batches is busy, {} of a CPU",
            units::percent(*cpus)
        ),
        Limit::Waiting { each } => format!(
            "more workers do not help{tried}: they wait; each uses {} of a CPU, so a disk, a network or a lock \
             that they share is the limit",
            units::percent(*each)
        ),
        Limit::HandingOver { workers, samples_per_s } => format!(
            "workers do not help: {} came to {}, since handing batches over costs more than loading them",
            units::counted(u64::from(*workers), "worker"),
            units::rate(*samples_per_s)
        ),
        Limit::Bound { most, by } => format!("more than {most} workers were not tried: {}", bound(*by)),
        Limit::Failed { workers, reason } => format!("{workers} workers failed: {}", shown(reason)),
        Limit::TimeOver => "more workers may help: the search ended before it came to them".to_owned(),
    }
}

fn bound(by: Bound) -> &'static str {
    match by {
        Bound::Cpus => "4 for each CPU that a rank has are the most",
        Bound::Memory => "they would fill the memory",
        Bound::Pass => "a pass has no more batches",
    }
}

/// What the model would wait nevertheless; `None` where it would not, or its need is unknown.
fn met(report: &LoaderReport, choice: &Choice) -> Option<String> {
    let need = report.needs.as_ref().filter(|_| choice.meets_need == Some(false))?;
    let share = choice.point.samples_per_s / need.samples_per_s;
    Some(format!("the model would still wait: this is {} of what it needs", units::percent(share)))
}

/// The line to write.
fn code(choice: &Choice) -> String {
    let setting = Setting { pin: choice.pin == Some(true), ..choice.point.setting };
    format!("DataLoader(..., {})", setting_text(&setting))
}

fn notes(report: &LoaderReport) -> Vec<String> {
    let cold = report.was_cold_first().map(|bytes| {
        format!(
            "the first measurement read {} from disk, the later ones found the data in memory; data that \
             does not fit into memory is slower than this",
            units::bytes(bytes)
        )
    });
    let slow_start = report.choice.as_ref().and_then(|choice| {
        let share =
            choice.start_share.filter(|share| *share > SLOW_START && choice.point.setting.workers > 0)?;
        let first = units::duration(choice.point.first_batch_s);
        Some(format!(
            "the first batch takes {first}, {} of a pass; persistent_workers=True pays for it only once",
            units::percent(share)
        ))
    });
    let ranks = (report.host.ranks > 1)
        .then(|| format!("{} ranks share {} CPUs", report.host.ranks, report.host.cpus));
    let others = report.points.iter().map(|point| point.other_cpus).fold(0.0, f64::max);
    let others = (others >= DISTURBED)
        .then(|| format!("other programs used up to {} CPUs meanwhile", units::fixed(others, 2)));
    let early = match (report.interrupted, report.out_of_time) {
        (true, _) => Some("interrupted: the choice is the best so far".to_owned()),
        (_, true) => Some("the budget was spent: the choice is the best so far".to_owned()),
        _ => None,
    };
    [cold, slow_start, ranks, others, early].into_iter().flatten().collect()
}

fn tally(report: &LoaderReport) -> String {
    let measured = report.points.len();
    format!("measured {measured} of {} settings in {}", report.settings, units::duration(report.seconds))
}
