//! What differs between the sides besides times: settings, versions, machines.

use std::collections::{BTreeMap, BTreeSet};

use laptime_core::{is_detail, units};

use super::document::{Change, ChangeKind};
use super::run::{ComparedRun, Side};
use crate::report::Report;

/// Machines whose memory differs by more are different ones.
pub(super) const SAME_MEMORY: f64 = 0.02;
/// Options of laptime that say nothing of the training.
const NAMING: [&str; 2] = ["--name", "--dir"];
/// What a machine is told apart by, in `what`.
const MACHINE: [&str; 3] = ["CPU", "memory", "device name"];

/// What differs, configuration first.
pub(super) fn changes(a: &Side<'_>, b: &Side<'_>) -> Vec<Change> {
    let known = |side: &Side<'_>| side.runs.iter().map(facts).collect::<Vec<_>>();
    let (first, second) = (known(a), known(b));
    let names: BTreeSet<&(ChangeKind, String)> =
        first.iter().chain(&second).flat_map(BTreeMap::keys).collect();
    let differing = names.into_iter().filter_map(|key| {
        let (of_a, of_b) = (values(&first, key), values(&second, key));
        let is_known = !of_a.contains(&None) && !of_b.contains(&None);
        // What only one side recorded of how it computes need not differ: the other may be of an earlier laptime.
        (of_a != of_b && (is_known || !is_detail(&key.1))).then(|| change(key, &of_a, &of_b))
    });
    let mut changes: Vec<Change> = differing.filter(|change| !same_memory(change, a, b)).collect();
    changes.extend(command(a, b));
    changes.sort_by_key(|change| change.kind);
    changes
}

/// Whether the changes say that the sides ran on different machines; `None` where one side's is not known.
pub(super) fn different_machines(changes: &[Change]) -> Option<&Change> {
    let tells = |change: &&Change| {
        change.kind == ChangeKind::Machine
            && MACHINE.contains(&change.what.as_str())
            && change.a.is_some()
            && change.b.is_some()
    };
    changes.iter().find(tells)
}

type Facts = BTreeMap<(ChangeKind, String), String>;

fn values<'a>(runs: &'a [Facts], key: &(ChangeKind, String)) -> BTreeSet<Option<&'a String>> {
    runs.iter().map(|facts| facts.get(key)).collect()
}

fn change(
    key: &(ChangeKind, String),
    a: &BTreeSet<Option<&String>>,
    b: &BTreeSet<Option<&String>>,
) -> Change {
    let joined = |values: &BTreeSet<Option<&String>>| {
        let known: Vec<&str> = values.iter().flatten().map(|value| value.as_str()).collect();
        (!known.is_empty()).then(|| known.join(" or "))
    };
    Change { what: key.1.clone(), a: joined(a), b: joined(b), kind: key.0 }
}

fn facts(run: &ComparedRun) -> Facts {
    let mut facts = Facts::new();
    let mut put = |kind, what: &str, value: Option<String>| {
        facts.extend(value.filter(|value| !value.is_empty()).map(|value| ((kind, what.to_owned()), value)));
    };
    configuration(&run.report, &mut put);
    environment(&run.report, &mut put);
    let machine = &run.machine;
    put(ChangeKind::Environment, "kernel", machine.kernel.clone());
    put(ChangeKind::Machine, "CPU", machine.cpu_model.clone());
    put(ChangeKind::Machine, "memory", machine.memory_bytes.map(units::bytes));
    put(
        ChangeKind::Configuration,
        "CPUs",
        Some(machine.cpus).filter(|cpus| *cpus > 0).map(|cpus| cpus.to_string()),
    );
    let devices = run.report.devices.iter().flatten();
    let names: BTreeSet<String> = devices.filter_map(|device| device.name.clone()).collect();
    put(ChangeKind::Machine, "device name", Some(names.into_iter().collect::<Vec<_>>().join(" and ")));
    facts
}

fn configuration(report: &Report, put: &mut impl FnMut(ChangeKind, &str, Option<String>)) {
    let mut say = |what: &str, value: Option<String>| put(ChangeKind::Configuration, what, value);
    say("threads", report.run.threads.map(|threads| threads.to_string()));
    say("ranks", Some(report.run.ranks.max(1).to_string()));
    say("device", report.run.device.clone());
    // What several fits have in common is said once.
    let mut of_fits: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for fit in &report.fits {
        let facts = [
            ("model", Some(fit.label.clone())),
            ("batch", fit.batch.map(units::count)),
            ("epochs", fit.planned_epochs.map(units::count)),
            ("steps", fit.planned_steps.map(units::count)),
            ("compiled", Some(fit.compiled_functions.join(", "))),
        ];
        let facts = facts.into_iter().filter_map(|(what, value)| Some((what, value?)));
        let details = fit.settings.iter().filter(|(what, _)| is_detail(what));
        let choices = fit.choices.iter().chain(details).map(|(what, value)| (what.as_str(), value.clone()));
        for (what, value) in facts.chain(choices) {
            let values = of_fits.entry(what).or_default();
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    for (what, values) in of_fits {
        say(what, Some(values.join(", ")));
    }
}

fn environment(report: &Report, put: &mut impl FnMut(ChangeKind, &str, Option<String>)) {
    let mut say = |what: &str, value: Option<String>| put(ChangeKind::Environment, what, value);
    say("engine", report.run.engine.clone());
    let mut versions = 0;
    for fit in &report.fits {
        if let (Some(name), Some(version)) = (&fit.framework, &fit.framework_version) {
            say(name, Some(version.clone()));
            versions += 1;
        }
    }
    let frameworks: BTreeSet<&str> = report.run.frameworks.iter().map(String::as_str).collect();
    if versions == 0 {
        say("framework", Some(frameworks.into_iter().collect::<Vec<_>>().join(" and ")));
    }
    let drivers: BTreeSet<&str> =
        report.devices.iter().flatten().filter_map(|device| device.driver.as_deref()).collect();
    say("driver", Some(drivers.into_iter().collect::<Vec<_>>().join(" and ")));
}

/// Whether memory is the same but for what a kernel keeps.
fn same_memory(change: &Change, a: &Side<'_>, b: &Side<'_>) -> bool {
    let all =
        || a.runs.iter().chain(b.runs).filter_map(|run| run.machine.memory_bytes).map(|bytes| bytes as f64);
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    change.kind == ChangeKind::Machine && change.what == "memory" && most <= least * (1.0 + SAME_MEMORY)
}

/// The words of the command that differ, where each side has one command.
fn command(a: &Side<'_>, b: &Side<'_>) -> Option<Change> {
    let of = |side: &Side<'_>| {
        let commands: BTreeSet<Vec<String>> =
            side.runs.iter().map(|run| told(&run.report.run.command)).collect();
        commands
    };
    let (first, second) = (of(a), of(b));
    if first == second {
        return None;
    }
    let all: Vec<&Vec<String>> = first.iter().chain(&second).collect();
    let (begin, end) = alike(&all);
    let joined = |commands: &BTreeSet<Vec<String>>| {
        let rest: BTreeSet<String> =
            commands.iter().map(|words| words[begin..words.len() - end].join(" ")).collect();
        rest.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" or ")
    };
    let (a, b) = (joined(&first), joined(&second));
    let known = |words: String| Some(words).filter(|words| !words.is_empty());
    Some(Change { what: "command".into(), a: known(a), b: known(b), kind: ChangeKind::Configuration })
}

/// The command without what it is called.
fn told(command: &[String]) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = command.iter();
    while let Some(word) = rest.next() {
        if NAMING.contains(&word.as_str()) {
            rest.next();
        } else if !NAMING.iter().any(|option| word.starts_with(&format!("{option}="))) {
            words.push(word.clone());
        }
    }
    words
}

/// How many words all commands begin and end with alike; an option stays with its value.
fn alike(commands: &[&Vec<String>]) -> (usize, usize) {
    let shortest = commands.iter().map(|words| words.len()).min().unwrap_or(0);
    let one = |of: &dyn Fn(&[String]) -> Option<String>| {
        commands.windows(2).all(|pair| of(pair[0]).is_some() && of(pair[0]) == of(pair[1]))
    };
    let mut begin = (0..shortest).take_while(|at| one(&|words: &[String]| words.get(*at).cloned())).count();
    let is_option = |word: &String| word.starts_with('-') && !word.contains('=');
    let is_value = |words: &&Vec<String>| words.get(begin).is_some_and(|word| !word.starts_with('-'));
    if begin > 0 && is_option(&commands[0][begin - 1]) && commands.iter().any(is_value) {
        begin -= 1;
    }
    let from_end = |at: usize| move |words: &[String]| words.get(words.len().checked_sub(at + 1)?).cloned();
    let end = (0..shortest - begin).take_while(|at| one(&from_end(*at))).count();
    (begin, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn only_the_words_that_differ_are_named() {
        let of = |a: &str, b: &str| {
            let (a, b) = (words(a), words(b));
            let (begin, end) = alike(&[&a, &b]);
            [&a, &b].map(|words| words[begin..words.len() - end].join(" "))
        };
        assert_eq!(of("python t.py --w 0 --lr 1", "python t.py --w 6 --lr 1"), ["--w 0", "--w 6"]);
        assert_eq!(of("python t.py --lr 1", "python t.py --lr 1 --fused"), ["", "--fused"]);
        assert_eq!(of("python a.py", "python b.py"), ["a.py", "b.py"]);
        assert_eq!(of("a", "a"), ["", ""]);
    }

    #[test]
    fn what_a_run_is_called_is_no_change() {
        assert_eq!(
            told(&words("laptime train mlp --name a --dir=x --seed 1")),
            words("laptime train mlp --seed 1")
        );
    }
}
