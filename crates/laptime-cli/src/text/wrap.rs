//! Sentences that keep to the width of the terminal.

use laptime_core::units::UNKNOWN;

/// The text cut to that many letters, with "…" for what is left out.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    cut.truncate(cut.trim_end().len());
    if width > 0 {
        cut.push('…');
    }
    cut
}

/// The text in lines of at most `width` letters: the first begins with `first`, the others with `rest`.
///
/// Lines break at spaces, but never between a number and its unit. Wider gaps inside a line stay.
pub(crate) fn wrapped(text: &str, width: usize, first: &str, rest: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut empty = true;
    let room = width.saturating_sub(first.chars().count().max(rest.chars().count()));
    for word in text.split(' ').flat_map(|word| pieces(word, room)) {
        let gap = usize::from(!empty);
        let full = line.chars().count() + gap + word.chars().count() > width;
        if full && !empty {
            let carried = carried_number(&mut line, &word);
            lines.push(line.trim_end().to_owned());
            line = format!("{rest}{carried}");
            empty = carried.is_empty();
        }
        if empty && word.is_empty() {
            continue;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(&word);
        empty = false;
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// A word in pieces that fit a line; almost always the word itself.
fn pieces(word: &str, width: usize) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    if letters.len() <= width.max(8) {
        return vec![word.to_owned()];
    }
    letters.chunks(width.max(8)).map(|piece| piece.iter().collect()).collect()
}

/// When `word` is a unit, or stands for a value that is not known, takes the number or the name before it off
/// the end of the line, to go with it to the next.
fn carried_number(line: &mut String, word: &str) -> String {
    let unit = word.trim_end_matches([';', ',', '.', ':', ')']);
    if !["ns", "us", "ms", "s", "B", "KiB", "MiB", "GiB", "TiB", "%", "×", UNKNOWN].contains(&unit) {
        return String::new();
    }
    match line.rfind(' ') {
        Some(at) if !line[..at].trim().is_empty() => line.split_off(at).trim_start().to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_hang_under_the_first() {
        let lines = wrapped("one two three four", 12, "a: ", "   ");
        assert_eq!(lines, ["a: one two", "   three", "   four"]);
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(wrapped("took about 12.4 ms", 16, "", ""), ["took about", "12.4 ms"]);
        assert_eq!(wrapped("first 4.06 s   steady –", 21, "", ""), ["first 4.06 s", "steady –"]);
    }

    #[test]
    fn a_word_longer_than_a_line_is_cut_into_lines() {
        let lines = wrapped(&"x".repeat(25), 10, "", "");
        assert_eq!(lines.iter().map(String::len).collect::<Vec<_>>(), [10, 10, 5]);
    }

    #[test]
    fn wide_gaps_stay_inside_a_line_and_vanish_at_its_end() {
        assert_eq!(wrapped("a 1   b 2   c 3", 10, "", ""), ["a 1   b 2", "c 3"]);
    }

    #[test]
    fn shortened_text_ends_in_an_ellipsis() {
        assert_eq!(shortened("a long name", 7), "a long…");
        assert_eq!(shortened("name", 4), "name");
    }
}
