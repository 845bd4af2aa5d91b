//! A page of metrics: samples by family, in the order in which the families were first met.

use std::fmt::Write;

/// A metric: its name with its unit, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Family {
    /// Such as `laptime_wall_seconds`; what only grows ends in `_total`.
    pub(super) name: &'static str,
    /// One sentence.
    pub(super) help: &'static str,
}

/// A page that is being written.
#[derive(Default)]
pub(super) struct Page {
    families: Vec<(Family, String)>,
}

impl Page {
    /// Adds a sample; labels are names and values as they are.
    pub(super) fn add(&mut self, family: Family, labels: &[(&str, &str)], value: f64) {
        let at = self.families.iter().position(|(known, _)| known.name == family.name);
        let at = at.unwrap_or_else(|| {
            self.families.push((family, String::new()));
            self.families.len() - 1
        });
        if let Some((_, samples)) = self.families.get_mut(at) {
            let labels = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
            let labels: Vec<String> = labels.collect();
            let _ = writeln!(samples, "{}{{{}}} {}", family.name, labels.join(","), number(value));
        }
    }

    /// The page.
    pub(super) fn text(&self) -> String {
        let family = |(Family { name, help }, samples): &(Family, String)| {
            let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
            format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{samples}")
        };
        self.families.iter().map(family).collect()
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() }
    } else {
        value.to_string()
    }
}
