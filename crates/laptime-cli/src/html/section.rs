//! Sections of a page: a heading that can be linked to, and what stands below it.

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
