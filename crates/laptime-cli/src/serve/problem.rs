//! What stands on the page of something that could not be shown.

use crate::failure::Failure;
use crate::markup::name;

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
