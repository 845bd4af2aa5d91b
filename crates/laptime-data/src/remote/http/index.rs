//! The files and folders that an index page names, as nginx, Apache, Caddy, lighttpd and Python write them.

use crate::remote::address::Address;

/// A file or folder on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) address: Address,
    /// Its exact length; pages that round it (`1.2M`) do not say.
    pub(super) bytes: Option<u64>,
}

impl Entry {
    pub(super) fn is_folder(&self) -> bool {
        self.address.path.ends_with('/')
    }
}

/// What lies below the page; links up, away, or to other orders of the same page are none.
pub(super) fn entries(page: &str, at: &Address) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    for piece in links(page) {
        let Ok(address) = at.joined(&unescaped(piece.link)) else { continue };
        let below = address.has_origin_of(at) && address.path.starts_with(&at.path);
        if !below || address.path == at.path || address.query.is_some() {
            continue;
        }
        if found.last().is_none_or(|last| last.address != address) {
            found.push(Entry { address, bytes: length(piece.after) });
        }
    }
    found
}

struct Piece<'a> {
    link: &'a str,
    /// The text from the link's end to the next link.
    after: &'a str,
}

/// Every `href` of an anchor.
fn links(page: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = page;
    std::iter::from_fn(move || {
        loop {
            let at = find_ignoring_case(rest, "<a ")?;
            let inside = &rest[at + 3..];
            let end = inside.find('>')?;
            let tag = &inside[..end];
            rest = &inside[end..];
            let next = find_ignoring_case(rest, "<a ").unwrap_or(rest.len());
            if let Some(link) = href(tag) {
                return Some(Piece { link, after: &rest[..next] });
            }
        }
    })
}

fn find_ignoring_case(text: &str, what: &str) -> Option<usize> {
    text.as_bytes().windows(what.len()).position(|window| window.eq_ignore_ascii_case(what.as_bytes()))
}

fn href(tag: &str) -> Option<&str> {
    let value = tag[find_ignoring_case(tag, "href=")? + 5..].trim_start();
    match value.as_bytes().first()? {
        quote @ (b'"' | b'\'') => value[1..].split(char::from(*quote)).next(),
        _ => value.split_ascii_whitespace().next(),
    }
}

/// The last column of nginx and of others that write whole numbers: the only digits that stand alone at the end.
fn length(after: &str) -> Option<u64> {
    let text = after.split("</a>").nth(1)?;
    let plain: String = without_tags(text);
    let mut words = plain.split_whitespace().rev();
    let last = words.next()?;
    // A date before it tells a length from what else stands there.
    let date = words.any(|word| word.contains('-') || word.contains(':'));
    if date && last.len() < 20 { last.parse().ok() } else { None }
}

fn without_tags(text: &str) -> String {
    let mut inside = false;
    let keep = |letter: char| {
        match letter {
            '<' => inside = true,
            '>' => inside = false,
            _ => return if inside { None } else { Some(letter) },
        }
        Some(' ')
    };
    text.chars().filter_map(keep).collect()
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    let text = text.replace("&amp;", "&");
    // Some servers leave spaces as they are.
    text.replace(' ', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(page: &str) -> Vec<(String, Option<u64>)> {
        let at = Address::parse("http://host/set/").unwrap();
        entries(page, &at).into_iter().map(|entry| (entry.address.path, entry.bytes)).collect()
    }

    #[test]
    fn pages_of_nginx_have_exact_lengths() {
        let page = "<html><head><title>Index of /set/</title></head><body><h1>Index of /set/</h1><hr><pre><a href=\"../\">../</a>\r\n<a href=\"a/\">a/</a>          19-Nov-2026 04:00      -\r\n<a href=\"x%20y.csv\">x y.csv</a>    19-Nov-2026 04:00     1234\r\n</pre><hr></body></html>";
        assert_eq!(listed(page), [("/set/a/".into(), None), ("/set/x%20y.csv".into(), Some(1234))]);
    }

    #[test]
    fn pages_of_apache_and_python_leave_lengths_open() {
        let apache = "<table><tr><th><a href=\"?C=N;O=D\">Name</a></th></tr><tr><td><a href=\"/\">Parent Directory</a></td></tr>\n<tr><td><a href=\"a.csv\">a.csv</a></td><td align=\"right\">2026-11-19 04:00  </td><td align=\"right\">1.2K</td></tr></table>";
        assert_eq!(listed(apache), [("/set/a.csv".into(), None)]);
        let python = "<ul><LI><A HREF='b&amp;c.csv'>b</A></li><li><a href=http://elsewhere/z>z</a></li><li><a href=\"javascript:x\">x</a></li></ul>";
        assert_eq!(listed(python), [("/set/b&c.csv".into(), None)]);
    }

    #[test]
    fn what_is_no_page_names_nothing() {
        for page in [
            "",
            "<a ",
            "<a href=",
            "<a href=\"",
            "<a href=>",
            "<a><a><a",
            "\u{e9}<a href=\u{e9}>",
            "<A HREF='",
        ] {
            assert!(listed(page).is_empty() || page.contains('\u{e9}'), "{page}");
        }
    }
}
