//! Names made safe to show: one function for the terminal and every export.

/// A name as it may be shown: control and direction-changing characters become `\u{…}`.
///
/// Run and stage names come from other people's programs; an escape code in one must not reach a terminal.
#[must_use]
pub fn display_name(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter.is_control() || is_direction_control(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

fn is_direction_control(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_codes_and_direction_marks_are_spelled_out() {
        assert_eq!(display_name("ok äö"), "ok äö");
        assert_eq!(display_name("\x1b[31mred\n"), "\\u{1b}[31mred\\u{a}");
        assert_eq!(display_name("a\u{202e}b"), "a\\u{202e}b");
    }
}
