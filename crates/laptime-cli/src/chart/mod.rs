//! Charts: made once from a finding, drawn as SVG or in the terminal.

mod bytes;
mod canvas;
mod compare;
mod fan;
mod figure;
mod files;
mod flame;
mod frame;
mod laps;
mod ledger;
mod numbers;
mod ranks;
mod run;
mod scale;
mod scaling;
mod series;
mod sparkline;
mod spread;
mod stacked;
mod svg;
mod sweep;
mod terminal;
mod theme;
mod tick;
mod timeline;
mod tracks;
mod trend;

pub(crate) use bytes::{bars_of_bytes, bytes_figure};
pub(crate) use compare::compare_figures;
pub(crate) use fan::fan_figure;
pub use figure::Figure;
pub use files::NamedChart;
pub(crate) use files::write_charts;
pub(crate) use flame::flame_figures;
pub(crate) use laps::laps_figure;
pub(crate) use ledger::ledger_figures;
pub(crate) use numbers::Numbers;
pub(crate) use ranks::ranks_figure;
pub use run::run_charts;
pub use scaling::scaling_series;
pub use series::{Mark, Place, Series};
pub(crate) use sparkline::sparkline;
pub(crate) use spread::spread_figure;
pub use svg::svg;
pub use sweep::sweep_charts;
pub use terminal::{Sheet, terminal};
pub(crate) use theme::style_of_pages;
pub use tick::Unit;
pub(crate) use timeline::timeline_figure;
pub(crate) use tracks::tracks_figure;
pub(crate) use trend::trend_figure;

/// A chart, whoever draws it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows, as a sentence or a name.
    pub title: String,
    /// The axis that goes right.
    pub x: Axis,
    /// The axis that goes up.
    pub y: Axis,
    /// What is drawn, in the order of the legend.
    pub series: Vec<Series>,
}

/// One axis of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it counts.
    pub label: String,
    /// In what.
    pub unit: Unit,
    /// How values are spread along it.
    pub scale: Scale,
}

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences take equal room.
    Linear,
    /// Equal ratios take equal room; values of zero and below are not drawn.
    Log,
}

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
