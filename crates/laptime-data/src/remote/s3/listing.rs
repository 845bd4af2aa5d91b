//! A page of a bucket's listing.

/// Objects of a page, and where the next page begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) objects: Vec<(String, u64)>,
    pub(super) next: Option<String>,
}

/// Reads `ListBucketResult`; `None` of anything else.
pub(super) fn page(text: &str) -> Option<Page> {
    let inside = element(text, "ListBucketResult")?;
    let mut page = Page::default();
    let mut rest = inside;
    while let Some((contents, after)) = next_element(rest, "Contents") {
        rest = after;
        let key = element(contents, "Key").map(unescaped);
        let bytes = element(contents, "Size").and_then(|size| size.trim().parse().ok());
        page.objects.extend(key.zip(bytes));
    }
    let more = element(inside, "IsTruncated").is_some_and(|more| more.trim() == "true");
    page.next = element(inside, "NextContinuationToken").filter(|_| more).map(unescaped);
    Some(page)
}

/// The text inside the first element of that name.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    next_element(text, name).map(|(inside, _)| inside)
}

/// The text inside the next element of that name, and what follows it.
fn next_element<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let open = format!("<{name}");
    let mut rest = text;
    loop {
        let after = &rest[rest.find(&open)? + open.len()..];
        // `<Key` begins `<KeyCount` too.
        match after.as_bytes().first()? {
            b'>' | b' ' | b'\t' | b'\r' | b'\n' => {
                let inside = &after[after.find('>')? + 1..];
                let close = format!("</{name}>");
                let end = inside.find(&close)?;
                return Some((&inside[..end], &inside[end + close.len()..]));
            }
            _ => rest = after,
        }
    }
}

fn unescaped(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let (name, tail) = after.split_once(';').unwrap_or((after, ""));
        let number = name.strip_prefix("#x").map(|hex| u32::from_str_radix(hex, 16));
        let number = number.or_else(|| name.strip_prefix('#').map(str::parse));
        match name {
            "amp" => out.push('&'),
            "lt" => out.push('<'),
            "gt" => out.push('>'),
            "quot" => out.push('"'),
            "apos" => out.push('\''),
            _ => out.push(number.and_then(Result::ok).and_then(char::from_u32).unwrap_or('\u{fffd}')),
        }
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_objects_and_says_where_the_next_begins() {
        let text = "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name><KeyCount>2</KeyCount><IsTruncated>true</IsTruncated><Contents><Key>a&amp;b/x.csv</Key><Size>12</Size></Contents><Contents><Key>y&#x41;</Key><Size> 0 </Size></Contents><NextContinuationToken>t&lt;</NextContinuationToken></ListBucketResult>";
        let page = page(text).unwrap();
        assert_eq!(page.objects, [("a&b/x.csv".into(), 12), ("yA".into(), 0)]);
        assert_eq!(page.next.as_deref(), Some("t<"));
    }

    #[test]
    fn what_is_no_listing_is_none() {
        for text in ["", "<Error><Code>x</Code></Error>", "<ListBucketResult", "<ListBucketResult>"] {
            assert_eq!(page(text), None, "{text}");
        }
        let cut = "<ListBucketResult><Contents><Key>a</Key></Contents><Contents></ListBucketResult>";
        assert_eq!(page(cut), Some(Page::default()));
    }
}
