//! A canvas: the shapes that charts of stages are made of, as SVG.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::theme::{Texture, stage_class};
use crate::markup::{cut, escaped};
use crate::one_line::shown;
use crate::stage_words::stage_name;

/// The mean width of a letter of 12 units in the wider fonts for screens, bold ones too.
const LETTER: f64 = 7.6;
/// The height of a line of the legend.
const LINE: f64 = 20.0;
/// Letters of a name in the legend.
const LONGEST_NAME: usize = 26;
/// Less is not seen.
const THINNEST: f64 = 0.15;

/// A place and its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Area {
    pub(super) fn right(&self) -> f64 {
        self.x + self.width
    }

    pub(super) fn bottom(&self) -> f64 {
        self.y + self.height
    }
}

/// How a text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing in units of about a pixel.
#[derive(Clone, Debug)]
pub(super) struct Canvas {
    pub(super) width: f64,
    pub(super) height: f64,
    /// What names of its parts begin with, so that they are no one else's on a page.
    prefix: String,
    body: String,
    textures: BTreeSet<Texture>,
}

impl Canvas {
    pub(super) fn new(width: f64, prefix: String) -> Self {
        Self { width, height: 0.0, prefix, body: String::new(), textures: BTreeSet::new() }
    }

    /// Whether it is for a phone.
    pub(super) fn is_narrow(&self) -> bool {
        self.width < 600.0
    }

    /// Adds markup.
    pub(super) fn add(&mut self, markup: std::fmt::Arguments) {
        // Writing into memory does not fail.
        let _ = self.body.write_fmt(markup);
        self.body.push('\n');
    }

    /// A rectangle of a stage that says something on hover; `label` is written into it where it has room.
    pub(super) fn stage(&mut self, stage: &str, at: Area, tip: &str, label: Option<&str>) {
        self.shaded(stage, at, tip, label, "");
    }

    /// As [`Self::stage`], of something that is not over.
    pub(super) fn open_stage(&mut self, stage: &str, at: Area, tip: &str) {
        self.shaded(stage, at, tip, None, " open");
    }

    fn shaded(&mut self, stage: &str, at: Area, tip: &str, label: Option<&str>, more: &str) {
        let (class, texture) = stage_class(stage);
        if at.width < THINNEST || at.height < THINNEST {
            return;
        }
        let place = place(at);
        // Thin parts are all edge.
        let edge = if at.width > 2.0 && at.height > 2.0 { " edge" } else { "" };
        let tip = if tip.is_empty() { String::new() } else { format!("<title>{}</title>", escaped(tip)) };
        let _ = write!(self.body, "<g class=\"{class}{more}\">{tip}<rect class=\"ink{edge}\" {place}/>");
        if texture != Texture::Plain && at.width > 2.5 && at.height > 2.5 {
            self.textures.insert(texture);
            let fill = self.pattern(texture);
            let _ = write!(self.body, "<rect class=\"tx\" fill=\"url(#{fill})\" {place}/>");
        }
        if let Some(text) = label.and_then(|label| fitting(label, at.width - 6.0)) {
            let (x, y) = (at.x + 4.0, at.y + 0.5 * at.height + 4.0);
            let _ =
                write!(self.body, "<text class=\"on\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(&text));
        }
        self.body.push_str("</g>\n");
    }

    /// A rectangle of a class.
    pub(super) fn rect(&mut self, class: &str, at: Area, tip: &str) {
        let place = place(at);
        if tip.is_empty() {
            self.add(format_args!("<rect class=\"{class}\" {place}/>"));
        } else {
            self.add(format_args!("<rect class=\"{class}\" {place}><title>{}</title></rect>", escaped(tip)));
        }
    }

    /// A text.
    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        self.add(format_args!("<text{class}{anchor} x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(text)));
    }

    /// A path of a class.
    pub(super) fn path(&mut self, class: &str, d: &str) {
        self.add(format_args!("<path class=\"{class}\" d=\"{d}\"/>"));
    }

    /// The names of stages with their colours, from the top at `y`; gives where it ends.
    pub(super) fn legend<'a>(&mut self, stages: impl IntoIterator<Item = &'a str>, y: f64) -> f64 {
        let (mut x, mut y) = (0.0, y);
        for stage in stages {
            let shown = cut(&stage_name(stage), LONGEST_NAME);
            let width = text_width(&shown) + 34.0;
            if x + width > self.width && x > 0.0 {
                (x, y) = (0.0, y + LINE);
            }
            self.stage(stage, Area { x, y: y + 2.0, width: 12.0, height: 12.0 }, "", None);
            self.text("", (x + 17.0, y + 12.0), Anchor::Start, &shown);
            x += width;
        }
        y + LINE
    }

    /// Everything, with the textures it uses.
    pub(super) fn markup(&self) -> String {
        if self.textures.is_empty() {
            return self.body.clone();
        }
        let patterns: String = self
            .textures
            .iter()
            .map(|texture| {
                let (size, lines) = grain(*texture);
                format!(
                    "<pattern id=\"{}\" width=\"{size}\" height=\"{size}\" patternUnits=\"userSpaceOnUse\">\
                     {lines}</pattern>",
                    self.pattern(*texture)
                )
            })
            .collect();
        format!("<defs>{patterns}</defs>\n{}", self.body)
    }

    fn pattern(&self, texture: Texture) -> String {
        format!("{}-{}", self.prefix, texture as u8)
    }
}

fn place(at: Area) -> String {
    let Area { x, y, width, height } = at;
    format!("x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"")
}

/// One tile of a texture and its size.
fn grain(texture: Texture) -> (u32, &'static str) {
    match texture {
        Texture::Plain => (6, ""),
        Texture::Rising => (6, "<path class=\"grain\" d=\"M-1 1l2 -2M0 6l6 -6M5 7l2 -2\"/>"),
        Texture::Falling => (6, "<path class=\"grain\" d=\"M-1 5l2 2M0 0l6 6M5 -1l2 2\"/>"),
        Texture::Level => (5, "<path class=\"grain\" d=\"M0 2.5h5\"/>"),
        Texture::Upright => (5, "<path class=\"grain\" d=\"M2.5 0v5\"/>"),
        Texture::Dots => (6, "<circle class=\"grain\" cx=\"3\" cy=\"3\" r=\".7\"/>"),
        Texture::Cross => (7, "<path class=\"grain\" d=\"M0 3.5h7M3.5 0v7\"/>"),
    }
}

/// As much of a text as fits, and nothing of one that hardly does.
fn fitting(text: &str, width: f64) -> Option<String> {
    let letters = (width / LETTER).floor();
    let text = shown(text);
    if letters >= text.chars().count() as f64 {
        return Some(text);
    }
    (letters >= 4.0).then(|| cut(&text, letters as usize))
}

/// About how wide a text is.
pub(super) fn text_width(text: &str) -> f64 {
    LETTER * text.chars().count() as f64
}
