//! Pages of text: what the terminal shows, and what could not be shown.

use crate::failure::Failure;
use crate::markup::{escaped, name};

/// Text as the terminal has it.
pub(super) fn text_content(title: &str, text: &str) -> String {
    format!(
        "<header class=\"title\"><h1>{title}</h1></header>\n\
         <pre class=\"text\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\">{}</pre>\n",
        escaped(text.trim_end())
    )
}

/// What was asked for, why it is not there, and what to do.
pub(super) fn problem_content(failure: &Failure) -> String {
    let because: String = failure
        .because
        .iter()
        .map(|reason| format!("<p class=\"bad\">because: {}</p>\n", name(reason)))
        .collect();
    let hint: String = failure.hint.iter().map(|hint| format!("<p>hint: {}</p>\n", name(hint))).collect();
    format!(
        "<header class=\"title\"><h1>{}</h1></header>\n{because}{hint}<p><a href=\"/\">all runs</a></p>\n",
        name(&failure.asked)
    )
}
