//! A failure as the user sees it: what was asked, why it failed, what to type next.

use std::error::Error;
use std::fmt;

use crate::text::{Emphasis, Style, shown, wrapped};

/// Exit code of a failure of ours or of the training.
pub(crate) const EXIT_FAILED: u8 = 1;

/// Exit code of a command that was typed wrong; nothing was written.
pub(crate) const EXIT_USAGE: u8 = 2;

/// Exit code of a condition that was asked for and is not met.
pub(crate) const EXIT_NOT_MET: u8 = 3;

/// An error with everything the user needs to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What was asked for and did not happen: "could not train `mlp`".
    pub(crate) asked: String,
    /// Why, from the outermost reason to the innermost.
    pub(crate) because: Vec<String>,
    /// What to do or type next.
    pub(crate) hint: Option<String>,
    /// The partial result that was saved, and where.
    pub(crate) kept: Option<String>,
    /// The code the process ends with.
    pub(crate) exit: u8,
}

impl Failure {
    /// A failure to do what was asked, such as "could not train `mlp`".
    pub(crate) fn new(asked: impl Into<String>) -> Self {
        Self { asked: asked.into(), because: Vec::new(), hint: None, kept: None, exit: EXIT_FAILED }
    }

    /// A command that was typed wrong.
    pub(crate) fn usage(asked: impl Into<String>) -> Self {
        Self { exit: EXIT_USAGE, ..Self::new(asked) }
    }

    /// Adds a reason.
    pub(crate) fn because(mut self, reason: impl Into<String>) -> Self {
        self.because.push(reason.into());
        self
    }

    /// Adds an error and its sources as reasons; one that only repeats the reason before it is left out.
    pub(crate) fn caused_by(mut self, error: &dyn Error) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            let reason = error.to_string();
            if !self.because.last().is_some_and(|before| before.contains(&reason)) {
                self.because.push(reason);
            }
            next = error.source();
        }
        self
    }

    /// Says what to do or type next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Names the partial result that was saved.
    pub(crate) fn kept(mut self, kept: impl Into<String>) -> Self {
        self.kept = Some(kept.into());
        self
    }

    /// The failure as text in the style of the terminal, without an end of line.
    pub(crate) fn text(&self, style: &Style) -> String {
        let mut lines = marked("", "error", &self.asked, Emphasis::Bad, style);
        for reason in &self.because {
            lines.extend(marked("  ", "because", reason, Emphasis::Dim, style));
        }
        let kept = self.kept.iter().flat_map(|kept| marked("  ", "kept", kept, Emphasis::Good, style));
        lines.extend(kept);
        let hint = self.hint.iter().flat_map(|hint| marked("  ", "hint", hint, Emphasis::Good, style));
        lines.extend(hint);
        lines.join("\n")
    }
}

fn marked(indent: &str, mark: &str, text: &str, emphasis: Emphasis, style: &Style) -> Vec<String> {
    let mut lines = wrapped(&shown(text), style.width, &format!("{indent}{mark}: "), &format!("{indent}  "));
    if let Some(first) = lines.first_mut() {
        *first = first.replacen(mark, &style.paint(mark, emphasis), 1);
    }
    lines
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text(&Style::default()))
    }
}

impl Error for Failure {}

/// The known name that was probably meant; `None` when nothing is close.
pub(crate) fn closest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    // A third of the letters may be wrong; more, and the guess annoys.
    let most = (typed.chars().count() / 3).max(1);
    let near = known.into_iter().map(|name| (edits(&typed, &name.to_lowercase()), name));
    let near = near.filter(|(edits, _)| *edits <= most);
    // Of equally near names the one of the same length: letters are swapped more often than left out.
    near.min_by_key(|(edits, name)| (*edits, name.len().abs_diff(typed.len()))).map(|(_, name)| name)
}

/// Letters to insert, remove, replace or swap with their neighbour to get from one word to the other.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Failure {
        Failure::new("could not train `mlp` on data.csv")
            .because("line 17, column 3: `abc` is not a number")
            .because("a rather long reason that goes on and on so that it has to be wrapped at the end of the line")
            .kept("the run as failed, in .laptime/20260301T101500Z-3f9a2c71")
            .hint("laptime train mlp --data generated")
    }

    #[test]
    fn a_failure_says_what_was_asked_why_it_failed_what_is_kept_and_what_to_type() {
        insta::assert_snapshot!(sample(), @r"
        error: could not train `mlp` on data.csv
          because: line 17, column 3: `abc` is not a number
          because: a rather long reason that goes on and on so that it has to be wrapped
            at the end of the line
          kept: the run as failed, in .laptime/20260301T101500Z-3f9a2c71
          hint: laptime train mlp --data generated
        ");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_no_code_from_outside_reaches_it() {
        let failure = sample().because(format!("\x1b[31m{}", "x".repeat(300)));
        for width in [40, 60, 80] {
            let text = failure.text(&Style { width, ..Style::default() });
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert!(!text.contains('\x1b'));
        }
    }

    #[test]
    fn a_chain_of_errors_becomes_reasons_without_repeating_itself() {
        #[derive(Debug)]
        struct Outer(std::io::Error);
        impl fmt::Display for Outer {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "could not open data.csv")
            }
        }
        impl Error for Outer {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&self.0)
            }
        }
        let failure =
            Failure::new("could not train").caused_by(&Outer(std::io::Error::other("disk is gone")));
        assert_eq!(failure.because, ["could not open data.csv", "disk is gone"]);
    }

    #[test]
    fn a_near_miss_finds_the_name_that_was_meant_and_a_wild_guess_does_not() {
        let models = ["linear", "mlp", "cnn"];
        assert_eq!(closest("mpl", models), Some("mlp"));
        assert_eq!(closest("liner", models), Some("linear"));
        assert_eq!(closest("CNN", models), Some("cnn"));
        assert_eq!(closest("resnet", models), None);
        assert_eq!(closest("", models), None);
        assert_eq!(closest("rnu", ["run", "runs"]), Some("run"));
        assert_eq!(closest("rusn", ["run", "runs"]), Some("runs"));
    }
}
