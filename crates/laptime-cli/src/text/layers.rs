//! Layers: the modules of a model by their time on sampled steps.

use laptime_analyse::{LayerSummary, Report};

use super::report::{ended, explained};
use super::shown;
use super::style::{Emphasis, Style};
use super::table::{Align, Cell, Column, Table};
use super::units;

/// Modules with a row of their own.
const MOST_ROWS: usize = 20;
/// A name has this part of the width.
const NAME_PARTS: usize = 4;
/// Fits whose modules are shown; `--json` has all.
const MOST_FITS: usize = 3;

/// The modules of the trained models, longest first; empty where none were asked for.
pub(crate) fn layers_text(report: &Report, style: &Style) -> String {
    let layers = report.layers.as_deref().unwrap_or_default();
    let fits: Vec<&[LayerSummary]> = layers.chunk_by(|one, next| one.fit == next.fit).collect();
    let mut text: Vec<String> =
        fits.iter().take(MOST_FITS).map(|layers| one_fit(layers, fits.len() > 1, style)).collect();
    if fits.len() > MOST_FITS {
        let more = format!("layers of {} more fits with --json", fits.len() - MOST_FITS);
        text.push(ended(&explained(&more, style, Emphasis::Dim)));
    }
    text.join("\n")
}

fn one_fit(layers: &[LayerSummary], is_one_of_several: bool, style: &Style) -> String {
    let on_device = LayerSummary::are_on_device(layers);
    let mut table = Table::new(vec![
        Column::new("layer", Align::Left),
        Column::new("kind", Align::Left).shrinks_to(8).importance(3),
        Column::new("params", Align::Right).importance(1),
        Column::new("forward", Align::Unit),
        Column::new("backward", Align::Unit).importance(4),
        Column::new("share", Align::Right),
        Column::new("FLOP/s", Align::Unit).importance(2),
    ]);
    let shown_ones = if layers.len() > MOST_ROWS + 1 { MOST_ROWS } else { layers.len() };
    let (first, rest) = layers.split_at(shown_ones);
    for layer in first {
        let name = if layer.name.is_empty() { "(model)".to_owned() } else { end_of(&layer.name, style) };
        table.row(row(name, &shown(&layer.kind), std::slice::from_ref(layer), on_device));
    }
    if !rest.is_empty() {
        table.row(row(format!("{} others", units::count(rest.len() as u64)), "", rest, on_device));
    }
    table.rule();
    table.row(row("all".to_owned(), "", layers, on_device));
    let steps = layers.iter().map(|layer| layer.steps).max().unwrap_or(0);
    let whose = if on_device { "of the device, " } else { "" };
    let fit = is_one_of_several.then(|| layers.first()).flatten();
    let fit = fit.map_or_else(String::new, |layer| format!("fit {}; ", layer.fit + 1));
    let note = format!(
        "{fit}a step's own time of each layer {whose}without the layers inside it; mean of {}",
        units::counted(steps, "sampled step")
    );
    table.drawn(style) + &ended(&explained(&note, style, Emphasis::Dim))
}

/// A row of one layer, or of several together.
fn row(name: String, kind: &str, layers: &[LayerSummary], on_device: bool) -> Vec<Cell> {
    let times: Vec<(f64, Option<f64>)> = layers.iter().map(|layer| layer.times(on_device)).collect();
    let forward: f64 = times.iter().map(|(forward, _)| forward).sum();
    let backwards: Vec<f64> = times.iter().filter_map(|(_, backward)| *backward).collect();
    let backward = (!backwards.is_empty()).then(|| backwards.iter().sum::<f64>());
    let parameters: u64 = layers.iter().map(|layer| layer.parameters).fold(0, u64::saturating_add);
    let rate = match layers {
        [layer] => layer.flops_per_s,
        _ => None,
    };
    vec![
        name.into(),
        kind.into(),
        units::count(parameters).into(),
        units::duration(forward).into(),
        units::or_unknown(backward, units::duration).into(),
        units::percent_in_column(layers.iter().map(|layer| layer.share).sum()).into(),
        units::or_unknown(rate, flops_a_second).into(),
    ]
}

/// A name that fits: `e.l.12.self_attention.out_proj`. Which layer it is, its numbers and its end say.
fn end_of(name: &str, style: &Style) -> String {
    let (name, room) = (shown(name), style.width / NAME_PARTS);
    let mut words: Vec<&str> = name.split('.').collect();
    let letters = |words: &[&str]| words.iter().map(|word| word.chars().count() + 1).sum::<usize>() - 1;
    for at in 0..words.len() - 1 {
        if letters(&words) > room && !words[at].starts_with(|first: char| first.is_ascii_digit()) {
            words[at] = words[at].char_indices().nth(1).map_or(words[at], |(end, _)| &words[at][..end]);
        }
    }
    let (left_out, name) = (letters(&words).saturating_sub(room), words.join("."));
    match left_out {
        0 => name,
        _ => format!("…{}", name.chars().skip(left_out + 1).collect::<String>()),
    }
}

/// Operations a second under their head: `1.99 G`.
fn flops_a_second(rate: f64) -> String {
    units::flops(rate).trim_end_matches("FLOP").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn few_layers_each_have_a_row_and_their_sum() {
        insta::assert_snapshot!(layers_text(&sample::with_layers(3), &Style::default()));
    }

    #[test]
    fn of_many_layers_the_longest_are_shown_and_the_rest_is_summed() {
        let text = layers_text(&sample::with_layers(30), &Style::default());
        let row = text.lines().position(|line| line.starts_with("10 others"));
        assert_eq!(row, Some(1 + MOST_ROWS), "{text}");
        assert!(!layers_text(&sample::with_layers(MOST_ROWS + 1), &Style::default()).contains("others"));
    }

    #[test]
    fn the_times_of_a_device_stand_for_the_hosts_and_each_fit_is_named() {
        let mut report = sample::with_layers(2);
        let layers = report.layers.as_mut().unwrap();
        for layer in layers.iter_mut() {
            (layer.device_forward_s, layer.device_backward_s) = (Some(1e-3), Some(2e-3));
        }
        layers.extend(
            sample::with_layers(1).layers.unwrap().into_iter().map(|layer| LayerSummary { fit: 1, ..layer }),
        );
        insta::assert_snapshot!(layers_text(&report, &Style::default()));
    }

    #[test]
    fn without_layers_there_is_no_table() {
        assert_eq!(layers_text(&sample::finished(), &Style::default()), "");
    }
}
