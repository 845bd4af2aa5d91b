//! The frame of every page: its head, its bar and where style and script come from.

use crate::chart::style_of_pages;
use crate::markup::name;

/// What all pages do in the browser: the switch of light and dark, values on hover, pages that keep up with a run.
pub(crate) const SCRIPT: &str = include_str!("script.js");

/// How every page looks.
pub(crate) fn style() -> String {
    format!("{}{}", include_str!("style.css"), style_of_pages())
}

/// Where a page has its style and script from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assets {
    /// They stand in the page, which is one file that opens anywhere.
    Inline,
    /// They are `/style.css`, `/script.js` and `/icon.svg` of the server that sends the page.
    Linked,
}

/// What is around a page's content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shell<'a> {
    /// Where style and script come from.
    pub(crate) assets: Assets,
    /// Links in the bar, each a path and its text.
    pub(crate) links: &'a [(&'a str, &'a str)],
    /// Every how many seconds the script fetches the page again and shows what changed; `None` for a page that
    /// stays as it is.
    pub(crate) refresh_s: Option<u32>,
}

impl Shell<'_> {
    /// A page in a file of its own.
    pub(crate) const ALONE: Self = Self { assets: Assets::Inline, links: &[], refresh_s: None };
}

/// A page with this content, which is markup.
pub(crate) fn page(title: &str, content: &str, shell: &Shell<'_>) -> String {
    let title = name(title);
    let (style, script) = match shell.assets {
        Assets::Inline => (format!("<style>{}</style>", style()), format!("<script>{SCRIPT}</script>")),
        Assets::Linked => (
            "<link rel=\"stylesheet\" href=\"/style.css\"><link rel=\"icon\" href=\"/icon.svg\">".to_owned(),
            "<script src=\"/script.js\"></script>".to_owned(),
        ),
    };
    let refresh = shell.refresh_s.map(|seconds| format!(" data-refresh=\"{seconds}\"")).unwrap_or_default();
    let bar = bar(shell);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} · laptime</title>\n{style}\n</head>\n<body{refresh}>\n\
         <a class=\"skip\" href=\"#content\">Skip to the content</a>\n{bar}\n\
         <main id=\"content\" tabindex=\"-1\">\n{content}</main>\n\
         <div id=\"tip\" role=\"status\" hidden></div>\n{script}\n</body>\n</html>\n"
    )
}

fn bar(shell: &Shell<'_>) -> String {
    let links: String = shell
        .links
        .iter()
        .map(|(path, text)| format!("<a href=\"{}\">{}</a>", name(path), name(text)))
        .collect();
    let nav =
        if links.is_empty() { String::new() } else { format!("<nav aria-label=\"laptime\">{links}</nav>") };
    format!(
        "<header class=\"bar\"><span class=\"brand\">laptime</span>{nav}\
         <button id=\"theme\" type=\"button\" hidden>dark</button></header>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_alone_loads_nothing_and_a_page_of_a_server_has_nothing_inline() {
        let alone = page("mlp", "", &Shell::ALONE);
        assert!(!alone.contains("src=") && !alone.contains("href=\"/") && !alone.contains("http"));
        let linked = page("mlp", "", &Shell { assets: Assets::Linked, ..Shell::ALONE });
        assert!(!linked.contains("<style") && !linked.contains("<script>") && !linked.contains("style="));
    }

    #[test]
    fn titles_and_links_are_text() {
        let shell = Shell { links: &[("/runs/\"><b>", "<i>")], ..Shell::ALONE };
        let page = page("</title><script>", "", &shell);
        assert!(!page.contains("</title><script>") && !page.contains("<b>") && !page.contains("<i>"));
    }
}
