//! The theme: every colour of every chart, and which stage has which.
//!
//! A stage is told from another by its colour to most readers and by its texture to all; within one texture colours
//! are apart for colour-blind readers too, and stages that follow each other differ in grey. The tests compute that.

use std::fmt::Write;

/// A colour on light and on dark paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hue {
    pub(super) light: u32,
    pub(super) dark: u32,
    /// What is drawn over it.
    pub(super) texture: Texture,
}

/// What is drawn over a colour, in that of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Texture {
    Plain,
    Rising,
    Falling,
    Level,
    Upright,
    Dots,
    Cross,
}

use Texture::{Cross, Dots, Falling, Level, Plain, Rising, Upright};

const fn hue(light: u32, dark: u32, texture: Texture) -> Hue {
    Hue { light, dark, texture }
}

/// The paper of charts and pages, as the rules below have it.
#[cfg(test)]
const PAPER: Hue = hue(0xff_ffff, 0x11_161d, Plain);

/// Stages with a colour of their own, in the order in which they are stacked.
pub(super) const STAGES: [(&str, Hue); 27] = [
    ("start_up", hue(0x5f_6873, 0x8b_95a1, Dots)),
    ("imports", hue(0x8a_919b, 0x66_7080, Dots)),
    ("data_wait", hue(0xf1_6630, 0xfd_8e3f, Plain)),
    ("prepare", hue(0x7c_2d02, 0xb5_5c24, Rising)),
    ("host_to_device", hue(0x82_6107, 0xfe_d65d, Plain)),
    ("forward", hue(0x01_82cb, 0x99_bbfd, Plain)),
    ("loss", hue(0x40_9dbd, 0xb4_dafe, Level)),
    ("backward", hue(0x1b_3dd6, 0x3a_64ab, Plain)),
    ("optimizer", hue(0x85_987a, 0x22_edc8, Plain)),
    ("communication", hue(0xc5_3396, 0xd3_4ae2, Plain)),
    ("device_wait", hue(0x6d_42bb, 0xb1_8efd, Falling)),
    ("after_update", hue(0x9a_5b00, 0xd9_a441, Dots)),
    ("callbacks", hue(0x4d_6b12, 0x9f_c04a, Upright)),
    ("garbage_collection", hue(0x8b_2252, 0xf0_86b6, Cross)),
    ("evaluate", hue(0x05_514d, 0x0f_b1a5, Plain)),
    ("checkpoint", hue(0x8f_6c4b, 0xd1_9d76, Falling)),
    ("between_epochs", hue(0x8a_919b, 0x66_7080, Falling)),
    ("tear_down", hue(0x5f_6873, 0x8b_95a1, Level)),
    ("<other>", hue(0x5f_6873, 0x8b_95a1, Rising)),
    ("unaccounted", hue(0x8a_919b, 0x66_7080, Cross)),
    ("copy", hue(0x82_6107, 0xfe_d65d, Plain)),
    ("idle_data", hue(0xf1_6630, 0xfd_8e3f, Rising)),
    ("idle_host", hue(0xa8_4fd0, 0xd9_a8ff, Falling)),
    ("idle_sync", hue(0x2f_7d6b, 0x5f_b8a2, Upright)),
    ("idle", hue(0x8a_919b, 0x66_7080, Cross)),
    ("unexplained", hue(0x8a_919b, 0x66_7080, Dots)),
    ("batch", hue(0x01_82cb, 0x99_bbfd, Plain)),
];

/// The colours of stages that users named: always the same for the same name, told apart from others by their dots.
pub(super) const USERS: [Hue; 6] = [
    hue(0xf1_6630, 0xfd_8e3f, Dots),
    hue(0x01_82cb, 0x99_bbfd, Dots),
    hue(0x1b_3dd6, 0x3a_64ab, Dots),
    hue(0x85_987a, 0x22_edc8, Dots),
    hue(0xc5_3396, 0xd3_4ae2, Dots),
    hue(0x05_514d, 0xfe_d65d, Dots),
];

/// The colours of series, which also differ in their marks.
pub(super) const SERIES: [Hue; 8] = [
    hue(0x0b_62c4, 0x6c_b2ff, Plain),
    hue(0xc2_410c, 0xff_9d5c, Plain),
    hue(0x15_803d, 0x5f_d38a, Plain),
    hue(0x8b_2fd6, 0xc9_9bff, Plain),
    hue(0xa1_6207, 0xf2_c14e, Plain),
    hue(0x0e_7490, 0x5f_d0e0, Plain),
    hue(0xbe_185d, 0xff_8fc0, Plain),
    hue(0x5b_6470, 0xaa_b4bf, Plain),
];

/// Where a stage stands in a stack: built-in ones as a step goes, then users' own.
pub(crate) fn stage_order(stage: &str) -> usize {
    let evaluate = STAGES.iter().position(|(name, _)| *name == "evaluate").unwrap_or(STAGES.len());
    match STAGES.iter().position(|(name, _)| *name == stage) {
        Some(at) if at < evaluate => at,
        Some(at) => at + 1,
        // A user's stage comes before what follows the steps.
        None => evaluate,
    }
}

/// The class of a stage's colour, and what is drawn over it.
pub(super) fn stage_class(stage: &str) -> (String, Texture) {
    if let Some(at) = STAGES.iter().position(|(name, _)| *name == stage) {
        return (format!("s{at}"), STAGES[at].1.texture);
    }
    // FNV: every run gives the same name the same colour.
    let hash = stage.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let at = (hash % USERS.len() as u64) as usize;
    (format!("u{at}"), USERS[at].texture)
}

/// The rules that this drawing uses where it stands alone: light, or dark where the reader's screen is.
pub(super) fn style_alone(body: &str) -> String {
    let used = |class: &str| body.contains(&format!("\"{class}\"")) || body.contains(&format!("\"{class} "));
    let (light, dark) = (colors(".lt", |hue| hue.light, used), colors(".lt", |hue| hue.dark, used));
    format!("{}{light}{LIGHT}@media (prefers-color-scheme:dark){{{dark}{DARK}}}", SHAPES.trim())
}

/// The rules of charts within pages, where a switch may say light or dark; print is light.
pub(crate) fn style_of_pages() -> String {
    let system = ":root:not([data-theme=light]) .lt";
    let switch = ":root[data-theme=dark] .lt";
    let dark =
        |root: &str| format!("{}{}", colors(root, |hue| hue.dark, |_| true), DARK.replace(".lt", root));
    format!(
        "{SHAPES}{}{LIGHT}@media screen and (prefers-color-scheme:dark){{{}}}\n@media screen{{{}}}\n",
        colors(".lt", |hue| hue.light, |_| true),
        dark(system),
        dark(switch)
    )
}

const SHAPES: &str = include_str!("theme.css");

const LIGHT: &str = ".lt text{fill:#3d444d}.lt .title{fill:#1f2328}.lt .paper{fill:#fff}\
.lt .grid{stroke:#dfe3e8}.lt .axis{stroke:#818b98}.lt .grain{stroke:#fff;fill:#fff}.lt .edge{stroke:#fff}\
.lt .rule{stroke:#1f2328}.lt .strong{fill:#1f2328}.lt .track{fill:#eef1f4}";
const DARK: &str = ".lt text{fill:#b6bfc9}.lt .title{fill:#f0f3f6}.lt .paper{fill:#11161d}\
.lt .grid{stroke:#2a313a}.lt .axis{stroke:#6e7781}.lt .grain{stroke:#11161d;fill:#11161d}.lt .edge{stroke:#11161d}\
.lt .rule{stroke:#f0f3f6}.lt .strong{fill:#f0f3f6}.lt .track{fill:#1b222b}";

/// The colour of every class that is used, and of text on it.
fn colors(root: &str, of: fn(&Hue) -> u32, used: impl Fn(&str) -> bool) -> String {
    let stages = STAGES.iter().enumerate().map(|(at, (_, hue))| (format!("s{at}"), of(hue)));
    let users = USERS.iter().enumerate().map(|(at, hue)| (format!("u{at}"), of(hue)));
    let series = SERIES.iter().enumerate().map(|(at, hue)| (format!("c{at}"), of(hue)));
    let mut rules = String::new();
    for (class, color) in stages.chain(users).chain(series).filter(|(class, _)| used(class)) {
        let on = if luminance(color) > 0.18 { "000" } else { "fff" };
        // Writing into memory does not fail.
        let _ = write!(rules, "{root} .{class}{{color:#{color:06x}}}{root} .{class} .on{{fill:#{on}}}");
    }
    rules
}

/// Relative luminance as WCAG defines it, 0 to 1.
fn luminance(color: u32) -> f64 {
    let [red, green, blue] = linear(color);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// The parts of a colour as light, 0 to 1.
fn linear(color: u32) -> [f64; 3] {
    [16, 8, 0].map(|shift| {
        let part = f64::from((color >> shift) & 0xff) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How light reaches readers who see all colours, and who lack one kind of cone (Machado 2009, severity 1).
    const READERS: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ];

    /// A colour in Oklab, where distances are as eyes see them.
    fn seen(color: u32, reader: &[[f64; 3]; 3]) -> [f64; 3] {
        let light = linear(color);
        let part = |row: &[f64; 3]| row.iter().zip(light).map(|(a, b)| a * b).sum::<f64>().max(0.0);
        let [r, g, b] = [part(&reader[0]), part(&reader[1]), part(&reader[2])];
        let l = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b).cbrt();
        let m = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b).cbrt();
        let s = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b).cbrt();
        [
            0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
            1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
        ]
    }

    fn distance(a: u32, b: u32, reader: &[[f64; 3]; 3]) -> f64 {
        let (a, b) = (seen(a, reader), seen(b, reader));
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    fn contrast(a: u32, b: u32) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn papers() -> [fn(&Hue) -> u32; 2] {
        [|hue| hue.light, |hue| hue.dark]
    }

    #[test]
    fn every_colour_stands_out_from_the_paper() {
        let stages = STAGES.iter().map(|(name, hue)| (*name, *hue));
        let all = stages.chain(USERS.map(|hue| ("user", hue))).chain(SERIES.map(|hue| ("series", hue)));
        for (name, hue) in all {
            for of in papers() {
                let contrast = contrast(of(&hue), of(&PAPER));
                assert!(contrast >= 3.0, "{name} #{:06x}: {contrast:.2}", of(&hue));
            }
        }
    }

    #[test]
    fn the_paper_is_the_one_that_colours_are_held_against() {
        assert!(LIGHT.contains("fill:#fff") && DARK.contains(&format!("fill:#{:06x}", PAPER.dark)));
    }

    #[test]
    fn text_on_a_colour_can_be_read() {
        for (name, hue) in STAGES {
            for of in papers() {
                let ink = if luminance(of(&hue)) > 0.18 { 0 } else { 0xff_ffff };
                assert!(contrast(of(&hue), ink) >= 4.5, "{name} #{:06x}", of(&hue));
            }
        }
    }

    /// Those that can meet in one chart: the rows of hosts, then those of devices.
    fn meeting() -> [Vec<(&'static str, Hue)>; 2] {
        let device = ["copy", "idle_data", "idle_host", "idle_sync", "idle", "unexplained", "batch"];
        let host = STAGES.iter().filter(|(name, _)| !device.contains(name)).copied().collect();
        let on_device = ["forward", "backward", "optimizer", "loss", "communication", "evaluate"];
        let not_batch = |name: &str| device[..6].contains(&name) || on_device.contains(&name);
        [host, STAGES.iter().filter(|(name, _)| not_batch(name)).copied().collect()]
    }

    #[test]
    fn stages_of_one_texture_are_apart_for_every_reader() {
        for stages in meeting() {
            for (at, (a, one)) in stages.iter().enumerate() {
                let alike = stages[..at].iter().filter(|(_, other)| other.texture == one.texture);
                for (b, other) in alike {
                    for (reader, eyes) in READERS.iter().enumerate() {
                        for of in papers() {
                            let apart = distance(of(one), of(other), eyes);
                            assert!(apart >= 0.09, "{a} and {b}, reader {reader}: {apart:.3}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn stages_that_follow_each_other_differ_in_grey() {
        for stages in meeting() {
            for pair in stages.windows(2) {
                let [(a, one), (b, next)] = pair else { continue };
                for of in papers() {
                    let apart = contrast(of(one), of(next));
                    let told_apart = one.texture != next.texture || apart >= 1.3;
                    assert!(told_apart, "{a} and {b}: {apart:.2}");
                }
            }
        }
    }

    #[test]
    fn users_stages_keep_their_colour_and_stand_before_evaluation() {
        assert_eq!(stage_class("augment"), stage_class("augment"));
        assert_eq!(stage_class("augment").1, Dots);
        assert!(stage_order("optimizer") < stage_order("augment"));
        assert!(stage_order("augment") < stage_order("evaluate"));
    }
}
