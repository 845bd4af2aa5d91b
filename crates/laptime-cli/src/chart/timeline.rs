//! The timeline of one step: host, device and workers as tracks.

use laptime_analyse::{StepTimeline, TimelineSpan, TimelineTrack};
use laptime_core::{TrackKind, units};

use super::canvas::{Anchor, Area, Canvas};
use super::figure::Figure;
use super::numbers::Numbers;
use super::scale::Measure;
use super::theme::stage_order;
use super::tick::Unit;
use crate::markup::cut;
use crate::one_line::shown;
use crate::stage_words::stage_name;

/// Tracks that are drawn; of 64 workers each looks like the next.
const MOST_TRACKS: usize = 12;
/// Spans within spans that are drawn below them.
const DEEPEST: u32 = 3;
const ROW: f64 = 26.0;
const INNER_ROW: f64 = 17.0;
/// Above each track, for its name.
const HEAD: f64 = 20.0;

/// A typical step.
pub(crate) fn timeline_figure(timeline: &StepTimeline) -> Figure {
    let tracks = &timeline.tracks[..timeline.tracks.len().min(MOST_TRACKS)];
    let hidden = timeline.tracks.len() - tracks.len();
    let more = if hidden > 0 { format!(", {hidden} more not drawn") } else { String::new() };
    let described = format!(
        "A step of {}, one of the newest of the usual length: what {} did from its begin to its end{more}",
        units::duration(timeline.wall_s),
        units::counted(tracks.len() as u64, "track")
    );
    Figure::new("step", "A typical step, track by track", described, numbers(timeline), |canvas| {
        draw(canvas, tracks, timeline.wall_s);
    })
}

fn draw(canvas: &mut Canvas, tracks: &[TimelineTrack], wall_s: f64) {
    let mut stages: Vec<&str> =
        tracks.iter().flat_map(|track| &track.spans).map(|span| span.stage.as_str()).collect();
    stages.sort_by_key(|stage| (stage_order(stage), *stage));
    stages.dedup();
    let mut y = canvas.legend(stages.into_iter().take(24), 0.0) + 4.0;
    let measure = Measure::from_zero(wall_s, Unit::Seconds);
    for (at, track) in tracks.iter().enumerate() {
        canvas.text("strong", (0.0, y + 14.0), Anchor::Start, &cut(&name(track, at), 48));
        y = draw_track(canvas, track, y + HEAD, &measure) + 8.0;
    }
    let plot = Area { x: 0.0, y, width: canvas.width, height: 0.0 };
    measure.draw_right(canvas, plot, if canvas.is_narrow() { 4 } else { 8 });
    canvas.height = y + 26.0;
}

/// What a track is called; the first one takes the steps.
fn name(track: &TimelineTrack, at: usize) -> String {
    let name = shown(&track.name);
    match (track.kind, at) {
        (TrackKind::Thread, 0) => "training thread".to_owned(),
        (TrackKind::Thread, _) => format!("thread {name}"),
        (TrackKind::Communication, _) => format!("communication {name}"),
        (TrackKind::Device | TrackKind::Worker, _) => name,
    }
}

fn draw_track(canvas: &mut Canvas, track: &TimelineTrack, top: f64, measure: &Measure) -> f64 {
    let deepest = track.spans.iter().map(|span| span.depth).max().unwrap_or(0).min(DEEPEST);
    canvas.rect("track", Area { x: 0.0, y: top, width: canvas.width, height: ROW }, "");
    for span in track.spans.iter().filter(|span| span.depth <= DEEPEST) {
        let (from, to) = (measure.share(span.start_s), measure.share(span.end_s));
        let at = Area {
            x: from * canvas.width,
            y: top + row_offset(span.depth),
            width: (to - from) * canvas.width,
            height: if span.depth == 0 { ROW } else { INNER_ROW - 1.0 },
        };
        canvas.stage(&span.stage, at, &tip(span), Some(&stage_name(&span.stage)));
    }
    top + row_offset(deepest) + if deepest == 0 { ROW } else { INNER_ROW }
}

fn row_offset(depth: u32) -> f64 {
    if depth == 0 { 0.0 } else { ROW + 1.0 + f64::from(depth - 1) * INNER_ROW }
}

fn tip(span: &TimelineSpan) -> String {
    format!(
        "{} {}\nfrom {} to {}",
        stage_name(&span.stage),
        units::duration(span.end_s - span.start_s),
        units::duration(span.start_s),
        units::duration(span.end_s)
    )
}

fn numbers(timeline: &StepTimeline) -> Numbers {
    let mut numbers = Numbers::new(["track", "stage", "from", "to", "length"]);
    for (at, track) in timeline.tracks.iter().enumerate() {
        for span in &track.spans {
            numbers.row([
                name(track, at),
                format!("{}{}", "within: ".repeat(span.depth.min(1) as usize), stage_name(&span.stage)),
                units::duration(span.start_s),
                units::duration(span.end_s),
                units::duration(span.end_s - span.start_s),
            ]);
        }
    }
    numbers.rows.truncate(MOST_ROWS);
    numbers
}

/// Rows of the table; a page of ten thousand is no help.
const MOST_ROWS: usize = 200;
