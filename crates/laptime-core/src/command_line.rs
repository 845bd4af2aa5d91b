//! A command line as text: words joined and split as a shell does, without anything that only a shell can do.

/// Letters that mean nothing to a shell.
const PLAIN: &str = "-_./=:,+@%^";

/// The words as somebody would type them.
#[must_use]
pub fn join(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || PLAIN.contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}

/// The words of a text; `None` where a quote is not closed.
#[must_use]
pub fn split(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in text.chars() {
        match quote {
            Some(mark) if mark == letter => quote = None,
            None if letter == '\'' || letter == '"' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_hold_a_word_together_and_must_be_closed() {
        let words = |text| split(text).map(|words| words.join("|"));
        assert_eq!(words("python  train.py --name 'a b'").as_deref(), Some("python|train.py|--name|a b"));
        assert_eq!(words("x=\"it's\"y ''").as_deref(), Some("x=it'sy|"));
        assert_eq!(words("'open"), None);
        assert_eq!(join(&["python".into(), "a b".into(), String::new()]), "python 'a b' ''");
    }

    proptest! {
        #[test]
        fn what_is_joined_splits_into_the_same_words(words in proptest::collection::vec(".{0,12}", 0..6)) {
            prop_assert_eq!(split(&join(&words)), Some(words));
        }
    }
}
