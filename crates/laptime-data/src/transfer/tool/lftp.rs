//! `lftp`: folders over FTP, HTTP and SFTP, and parts of a file at the same time.

use super::{Copy, owned};

pub(super) fn words(copy: &Copy<'_>, target: &str) -> Option<Vec<String>> {
    let (scheme, streams) = (copy.place.scheme(), copy.streams);
    if !["http", "https", "ftp", "ftps", "ftpes", "sftp"].contains(&scheme) {
        return None;
    }
    // What others call ftpes is its ftp, which would go on without encryption where the server has none.
    let (url, before) = match copy.place.url().strip_prefix("ftpes") {
        Some(rest) => (format!("ftp{rest}"), "set ftp:ssl-force true; "),
        None => (copy.place.url(), ""),
    };
    let (url, target) = (quoted(&url), quoted(target));
    let script = if copy.one_object {
        format!("pget -n {streams} {url} -o {target}")
    } else {
        format!("open {url}; mirror --parallel={streams} . {target}")
    };
    Some(owned(&["lftp", "-e", &format!("{before}{script}; exit")]))
}

/// A word of its own language.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}
