//! Shares as bars: of one stage, or of all stages in one line.

use super::style::{Style, stage_paint};
use super::words::stage_letter;

/// A bar as long as its share of `cells`; what is not zero shows at least a sliver.
pub(crate) fn share_bar(share: f64, cells: usize, style: &Style) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if !share.is_finite() || share <= 0.0 {
        return String::new();
    }
    let length = share.min(1.0) * cells as f64;
    if !style.unicode {
        return "#".repeat((length.round() as usize).max(1));
    }
    let eighths = ((length * 8.0).round() as usize).max(1);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// All stages in one bar of exactly `cells` letters, each stage by its own letter (and colour).
pub(crate) fn stage_bar(shares: &[(&str, f64)], cells: usize, style: &Style) -> String {
    let total: f64 = shares.iter().map(|(_, share)| share.max(0.0)).sum();
    if total <= 0.0 || !total.is_finite() {
        return " ".repeat(cells);
    }
    let mut bar = String::new();
    let (mut so_far, mut drawn) = (0.0, 0);
    for (stage, share) in shares {
        so_far += share.max(0.0);
        // Rounding the running sum instead of every share keeps the bar's length exact.
        let end = (so_far / total * cells as f64).round() as usize;
        let segment = stage_letter(stage).to_string().repeat(end.saturating_sub(drawn));
        bar.push_str(&style.paint(&style.fitted(&segment), stage_paint(stage)));
        drawn = drawn.max(end);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASCII: Style = Style { width: 80, color: false, unicode: false };

    #[test]
    fn a_bar_is_as_long_as_its_share_to_an_eighth_of_a_letter() {
        let style = Style::default();
        assert_eq!(share_bar(0.5, 8, &style), "████");
        assert_eq!(share_bar(0.5, 5, &style), "██▌");
        assert_eq!(share_bar(1.7, 4, &style), "████");
        assert_eq!(share_bar(0.5, 8, &ASCII), "####");
    }

    #[test]
    fn nothing_draws_nothing_and_little_draws_a_sliver() {
        assert_eq!(share_bar(0.0, 8, &Style::default()), "");
        assert_eq!(share_bar(f64::NAN, 8, &Style::default()), "");
        assert_eq!(share_bar(0.0001, 8, &Style::default()), "▏");
    }

    #[test]
    fn the_bar_of_all_stages_is_exactly_as_long_as_asked() {
        let shares = [("data_wait", 0.13), ("forward", 0.29), ("backward", 0.47), ("unaccounted", 0.11)];
        assert_eq!(stage_bar(&shares, 16, &ASCII), "ddfffffbbbbbbb--");
        for cells in 0..40 {
            assert_eq!(stage_bar(&shares, cells, &ASCII).chars().count(), cells);
        }
        assert_eq!(stage_bar(&[], 3, &ASCII), "   ");
    }
}
