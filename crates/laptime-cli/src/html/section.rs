//! Sections of a page: a heading that can be linked to, and what stands below it.

use crate::markup::{isolated, name};

/// One section.
pub(super) struct Section {
    /// Where links within the page go.
    id: &'static str,
    heading: &'static str,
    content: String,
}

impl Section {
    /// A section; `content` is markup.
    pub(super) fn new(id: &'static str, heading: &'static str, content: String) -> Self {
        Self { id, heading, content }
    }

    fn drawn(&self) -> String {
        let Self { id, heading, content } = self;
        format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-heading\">\n\
             <h2 id=\"{id}-heading\">{heading}</h2>\n{content}</section>\n"
        )
    }
}

/// The sections that have something to show, with links to each of them above.
pub(super) fn sections(all: Vec<Section>) -> String {
    let all: Vec<Section> = all.into_iter().filter(|section| !section.content.is_empty()).collect();
    let links: String = all
        .iter()
        .map(|section| format!("<li><a href=\"#{}\">{}</a></li>", section.id, section.heading))
        .collect();
    let content: String = all.iter().map(Section::drawn).collect();
    format!("<nav class=\"contents\" aria-label=\"On this page\"><ul>{links}</ul></nav>\n{content}")
}

/// What is known, by what it is about; text from outside.
pub(super) fn described_list<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let rows = facts.into_iter().map(|(label, fact)| {
        let lines: Vec<String> = fact.lines().map(isolated).collect();
        format!("<dt>{label}</dt><dd>{}</dd>\n", lines.join("<br>"))
    });
    format!("<dl>{}</dl>\n", rows.collect::<String>())
}

/// The head of a page: what it is about, how it stands, and a line below.
pub(super) fn head(heading: &str, status: &str, below: &str) -> String {
    let status =
        if status.is_empty() { String::new() } else { format!("<p class=\"status\">{}</p>", name(status)) };
    format!(
        "<header class=\"title\"><h1>{}</h1> {status}\n<p class=\"command\">{}</p></header>\n",
        isolated(heading),
        name(below)
    )
}

/// Sentences, the first of which is the one to read.
pub(super) fn told(sentences: &[String]) -> String {
    let told = sentences.iter().enumerate().map(|(at, sentence)| {
        format!("<p class=\"{}\">{}</p>\n", if at == 0 { "verdict" } else { "also" }, name(sentence))
    });
    told.collect()
}
