//! Text and paths from outside, as one line that is safe to show.

use std::path::Path;

use laptime_core::display_name;

/// Text from outside as one line that is safe to show.
pub(crate) fn shown(text: &str) -> String {
    display_name(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A path as a user would type it: relative where it lies below the current folder.
pub(crate) fn shown_path(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    shown(&path.strip_prefix(here).unwrap_or(path).display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_becomes_one_safe_line() {
        assert_eq!(shown("boom\n\tat \x1b[31mline 3"), "boom at \\u{1b}[31mline 3");
    }
}
