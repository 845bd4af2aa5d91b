//! `curl`: a file on one stream.

use super::{Copy, owned};

pub(super) fn words(copy: &Copy<'_>, target: &str) -> Option<Vec<String>> {
    // It asks no agent for the keys of SFTP, and signs for object stores only with the keys in its command.
    let spoken = ["http", "https", "ftp", "ftps"].contains(&copy.place.scheme());
    let url = copy.place.url();
    (spoken && copy.one_object)
        .then(|| owned(&["curl", "--fail", "--location", "--netrc-optional", "--output", target, &url]))
}
