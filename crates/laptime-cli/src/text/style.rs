//! How text is drawn: its width, its colours and its characters.

/// The terminal, as far as text needs to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// Columns a line may take.
    pub(crate) width: usize,
    /// Whether colour codes are welcome.
    pub(crate) color: bool,
    /// Whether the terminal shows more than ASCII.
    pub(crate) unicode: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 80, color: false, unicode: true }
    }
}

/// The emphasis of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Emphasis {
    /// As the terminal writes.
    #[default]
    Plain,
    /// What the eye should find first.
    Bold,
    /// What explains and steps back.
    Dim,
    /// Went well.
    Good,
    /// Went wrong.
    Bad,
    /// Wants a look.
    Notice,
    /// One of the 256 colours, for stages.
    Color(u8),
}

impl Style {
    /// The text in that emphasis; unchanged where colour is not welcome.
    ///
    /// Pad first and paint last: codes have no width but count as letters.
    pub(crate) fn paint(&self, text: &str, paint: Emphasis) -> String {
        let code = match paint {
            Emphasis::Plain => return text.to_owned(),
            Emphasis::Bold => "1".to_owned(),
            Emphasis::Dim => "2".to_owned(),
            Emphasis::Good => "32".to_owned(),
            Emphasis::Bad => "31".to_owned(),
            Emphasis::Notice => "33".to_owned(),
            Emphasis::Color(number) => format!("38;5;{number}"),
        };
        if !self.color || text.trim().is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// The text in characters this terminal shows. One letter for one letter, so that columns stay aligned.
    pub(crate) fn fitted(&self, text: &str) -> String {
        if self.unicode { text.to_owned() } else { text.chars().map(ascii).collect() }
    }
}

/// The colour a stage has everywhere, so that bars of different screens can be compared by eye.
pub(crate) fn stage_paint(stage: &str) -> Emphasis {
    Emphasis::Color(match stage {
        "data_wait" => 214,
        "host_to_device" => 180,
        "forward" => 74,
        "loss" => 109,
        "backward" => 68,
        "optimizer" => 71,
        "communication" => 168,
        "evaluate" => 140,
        "checkpoint" => 137,
        _ => 245,
    })
}

fn ascii(letter: char) -> char {
    match letter {
        '–' | '─' | '·' => '-',
        '×' => 'x',
        '±' => '~',
        '…' => '~',
        '→' => '>',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paint_leaves_text_alone_where_colour_is_not_welcome() {
        assert_eq!(Style::default().paint("mlp", Emphasis::Bold), "mlp");
        let colored = Style { color: true, ..Style::default() };
        assert_eq!(colored.paint("mlp", Emphasis::Bold), "\x1b[1mmlp\x1b[0m");
    }

    #[test]
    fn ascii_text_is_as_wide_as_the_text_it_replaces() {
        let plain = Style { unicode: false, ..Style::default() };
        assert_eq!(plain.fitted("2 × 3 – name…"), "2 x 3 - name~");
    }
}
