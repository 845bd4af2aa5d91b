//! The command with its holes: `{NAME}` takes a value of that axis, `{{` is a brace, and so is the `}}` that
//! closes it.

use laptime_analyse::sweep::Parameter;

use crate::args::is_name;

/// A piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Hole(String),
}

/// A word of the command in pieces. Braces around what cannot be a name are text, as in `awk '{print $1}'`.
fn pieces(word: &str) -> Vec<Piece> {
    let (mut pieces, mut text, mut rest) = (Vec::new(), String::new(), word);
    let mut doubled = 0_usize;
    while let Some(letter) = rest.chars().next() {
        let name = rest.strip_prefix('{').and_then(|inner| inner.split_once('}')).map(|(name, _)| name);
        let mut taken = letter.len_utf8();
        if let Some(name) = name.filter(|name| is_name(name)) {
            pieces.extend([Piece::Text(std::mem::take(&mut text)), Piece::Hole(name.to_owned())]);
            taken = name.len() + 2;
        } else {
            text.push(letter);
            if rest.starts_with("{{") {
                (doubled, taken) = (doubled + 1, 2);
            } else if rest.starts_with("}}") && doubled > 0 {
                (doubled, taken) = (doubled - 1, 2);
            }
        }
        rest = &rest[taken..];
    }
    pieces.push(Piece::Text(text));
    pieces
}

/// The names of all holes of a command, in order.
pub(super) fn holes(command: &[String]) -> Vec<String> {
    let all = command.iter().flat_map(|word| pieces(word));
    all.filter_map(|piece| if let Piece::Hole(name) = piece { Some(name) } else { None }).collect()
}

/// The command with one value for every axis; a hole without an axis stays as it was typed.
pub(super) fn filled(command: &[String], axes: &[Parameter], values: &[&str]) -> Vec<String> {
    let value = |name: &str| axes.iter().position(|axis| axis.name == name).and_then(|at| values.get(at));
    let fill = |piece: Piece| match piece {
        Piece::Text(text) => text,
        Piece::Hole(name) => value(&name).map_or_else(|| format!("{{{name}}}"), |value| (*value).to_owned()),
    };
    command.iter().map(|word| pieces(word).into_iter().map(fill).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fill(word: &str) -> String {
        let axes = ["batch", "lr"].map(|name| Parameter { name: name.into(), values: Vec::new() });
        filled(&[word.to_owned()], &axes, &["32", "0.1"]).remove(0)
    }

    #[test]
    fn names_are_filled_anywhere_and_braces_can_be_had() {
        assert_eq!(fill("--bs={batch},{lr}"), "--bs=32,0.1");
        assert_eq!(fill("{{batch}}"), "{batch}");
        assert_eq!(fill("{{{batch}}}"), "{32}");
        assert_eq!(fill("{print $1} {} {"), "{print $1} {} {");
        assert_eq!(fill("{\"a\": {batch}}"), "{\"a\": 32}");
        assert_eq!(fill("{\"a\": {\"b\": 1}}"), "{\"a\": {\"b\": 1}}");
        assert_eq!(fill("{{\"a\": {batch}}}"), "{\"a\": 32}");
        assert_eq!(fill("ä{batch}ö"), "ä32ö");
    }

    #[test]
    fn the_holes_are_listed_in_order() {
        let command = ["x".to_owned(), "{b}-{{c}}".to_owned(), "{a}{b}".to_owned()];
        assert_eq!(holes(&command), ["b", "a", "b"]);
    }

    proptest! {
        #[test]
        fn text_without_braces_is_left_alone(word in "[^{}]{0,20}") {
            prop_assert_eq!(fill(&word), word);
        }

        #[test]
        fn no_word_makes_it_panic(word in "[{}a-c ä\"]{0,20}") {
            let _ = (fill(&word), holes(&[word]));
        }
    }
}
