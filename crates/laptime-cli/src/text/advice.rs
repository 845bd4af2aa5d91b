//! Advice and its proofs as text.

use laptime_analyse::advise::{Advice, Item, MeasuredSpeedup, Proof, Speedup};
use laptime_analyse::compare::{Comparison, Outcome};
use laptime_core::{command_line, units};

use super::report::{ended, explained};
use super::shown;
use super::style::{Emphasis, Style};
use super::wrap::wrapped;

/// Where the sentences below an item begin.
const INDENT: &str = "   ";

/// Every item with its gain, its reason, its change and its proof; then what is fine.
pub(crate) fn advice_text(advice: &Advice, style: &Style) -> String {
    let mut lines = Vec::new();
    if advice.step_s.is_none() {
        lines.extend(explained("nothing to advise: this run has no steps", style, Emphasis::Notice));
        lines.extend(explained("next: laptime run -- python train.py", style, Emphasis::Plain));
        return ended(&lines);
    }
    if advice.items.is_empty() {
        lines.extend(explained("nothing to change: no advice is worth 3 % of it", style, Emphasis::Good));
    }
    for item in &advice.items {
        lines.extend(item_lines(item, advice, style));
    }
    lines.extend(together(advice, style));
    if !advice.fine.is_empty() {
        let fine = format!("checked and fine: {}", advice.fine.join(", "));
        lines.extend(explained(&fine, style, Emphasis::Plain));
    }
    for (subject, because) in &advice.unknown {
        lines.extend(explained(&format!("cannot tell: {subject}: {because}"), style, Emphasis::Plain));
    }
    if !advice.proofs.is_empty() {
        let hold = advice.proofs.iter().filter(|proof| proof.holds).count();
        let record = format!("predictions that held in proofs so far: {hold} of {}", advice.proofs.len());
        lines.extend(explained(&record, style, Emphasis::Plain));
    }
    ended(&lines)
}

fn item_lines(item: &Item, advice: &Advice, style: &Style) -> Vec<String> {
    let number = item.number.to_string();
    let gain = gain_text(&item.speedup);
    let room = style.width.saturating_sub(INDENT.len() + gain.chars().count() + 2);
    let title = super::wrap::shortened(&item.title, room);
    let head = format!("{number:<2} {title:<room$}  {gain}");
    let mut lines = vec![style.paint(&style.fitted(head.trim_end()), Emphasis::Bold)];
    lines.extend(wrapped(&shown(&item.because), style.width, INDENT, INDENT));
    lines.extend(wrapped(&format!("change: {}", shown(&item.change)), style.width, INDENT, "     "));
    lines.extend(wrapped(&proof_line(item, advice), style.width, INDENT, "     "));
    lines
}

/// `1.6–1.9×`, with `typical` where it is not predicted.
fn gain_text(speedup: &Speedup) -> String {
    let typical = if speedup.typical { " (typical)" } else { "" };
    format!("{}–{}×{typical}", units::number(speedup.low), units::number(speedup.high))
}

/// What to type for a proof, or what the last one measured.
fn proof_line(item: &Item, advice: &Advice) -> String {
    let made = advice.proofs.iter().rev().find(|proof| proof.run == advice.run && proof.item == item.id);
    if let Some(proof) = made {
        return format!(
            "measured {} in {}",
            measured_text(&proof.measured),
            units::counted(proof.pairs, "pair")
        );
    }
    let command = shown(&command_line::join(&advice.command));
    let changed = if item.injects.is_some() { "" } else { " --changed '…'" };
    format!("proof: laptime advise --prove {}{changed} -- {command}", item.number)
}

fn measured_text(measured: &MeasuredSpeedup) -> String {
    let level = units::percent(measured.level).replace(".0 %", " %");
    format!("{:.2}× ({level}: {:.2}–{:.2})", measured.mean, measured.low, measured.high)
}

/// Gains of several items may come from the same seconds.
fn together(advice: &Advice, style: &Style) -> Vec<String> {
    if advice.items.len() < 2 {
        return Vec::new();
    }
    explained("together they gain less than the product: some save the same seconds", style, Emphasis::Plain)
}

/// `predicted 1.6–1.9×, measured 1.71× (95 %: 1.66–1.76), 8 interleaved pairs, same training`
pub(crate) fn proof_text(proof: &Proof, item: &Item, comparison: &Comparison, style: &Style) -> String {
    let training = match proof.same_training {
        Some(true) => "same training",
        Some(false) => "not the same training",
        None => "cannot tell whether it is the same training",
    };
    let pairs = units::counted(proof.pairs, "interleaved pair");
    let expected = if proof.predicted.typical { "typical" } else { "predicted" };
    let text = format!(
        "{expected} {}, measured {}, {pairs}, {training}",
        gain_text(&proof.predicted).replace(" (typical)", ""),
        measured_text(&proof.measured)
    );
    let paint = if proof.measured.low > 1.0 && proof.same_training != Some(false) {
        Emphasis::Good
    } else {
        Emphasis::Notice
    };
    let mut lines = explained(&text, style, paint);
    let differ = comparison.training.iter().filter(|check| check.outcome == Outcome::Differ);
    for check in differ {
        let values = check.a.as_deref().zip(check.b.as_deref());
        let values = values.map(|(a, b)| format!(": {a} → {b}")).unwrap_or_default();
        lines.extend(explained(&format!("differs: {}{values}", check.what), style, Emphasis::Plain));
    }
    if proof.measured.low > 1.0 {
        lines.extend(explained(&format!("keep it: {}", shown(&item.change)), style, Emphasis::Plain));
    }
    ended(&lines)
}

/// `if data were free: 1.93× (95 %: 1.90–1.96), 4 interleaved pairs`
pub(crate) fn ceiling_text(speedup: &MeasuredSpeedup, pairs: u64, style: &Style) -> String {
    let pairs = units::counted(pairs, "interleaved pair");
    let text = format!("if data were free: {}, {pairs}", measured_text(speedup));
    let mut lines = explained(&text, style, Emphasis::Bold);
    let next = match speedup.high < 1.05 {
        true => "loading data faster gains next to nothing here",
        false => "no change of the loading can gain more; next: laptime advise",
    };
    lines.extend(explained(next, style, Emphasis::Plain));
    ended(&lines)
}
