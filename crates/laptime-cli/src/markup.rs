//! Markup: text from outside, safe within HTML and SVG.

use laptime_core::display_name;

use crate::one_line::shown;

/// The text with every letter escaped that HTML or XML would read as its own.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // Letters that XML does not know.
            '\u{fffe}' | '\u{ffff}' => safe.push('?'),
            other => safe.push(other),
        }
    }
    safe
}

/// A name from outside as one line: escaped, its control letters spelled out.
pub(crate) fn name(text: &str) -> String {
    escaped(&shown(text))
}

/// As [`name`], where text that runs from right to left does not turn what stands beside it.
pub(crate) fn isolated(text: &str) -> String {
    format!("<bdi>{}</bdi>", name(text))
}

/// Text from outside that is safe to show and has at most so many letters.
pub(crate) fn cut(text: &str, letters: usize) -> String {
    let safe = display_name(text);
    if safe.chars().count() <= letters {
        return safe;
    }
    safe.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_read_as_markup() {
        let hostile = "<script>alert(\"1\")</script> & \x1b[31m\u{202e}";
        assert_eq!(
            name(hostile),
            "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; \\u{1b}[31m\\u{202e}"
        );
        assert_eq!(isolated("שלום"), "<bdi>שלום</bdi>");
    }

    #[test]
    fn long_text_ends_with_three_dots() {
        assert_eq!((cut("augment", 7), cut("augment", 4)), ("augment".to_owned(), "aug…".to_owned()));
    }
}
