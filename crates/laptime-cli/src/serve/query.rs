//! What stands after the `?` of an address.

/// More parameters than this nobody typed: a page of ticked runs has one each.
const MOST: usize = 64;

/// The parameters of a request, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what stands after the `?`; `None` where that is no list of parameters.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut found = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            found.push((decoded(name)?, decoded(value)?));
            if found.len() > MOST {
                return None;
            }
        }
        Some(Self(found))
    }

    /// The first value of a parameter.
    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Every value of a parameter.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The parameters but one, as they stand in an address.
    pub(super) fn without(&self, name: &str) -> String {
        let others = self.0.iter().filter(|(known, _)| known != name);
        let pairs: Vec<String> =
            others.map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
    }
}

/// Text as it stands in an address, safe also in a header and in an attribute.
pub(super) fn encoded(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                safe.push(char::from(byte));
            }
            other => safe.push_str(&format!("%{other:02X}")),
        }
    }
    safe
}

/// Decodes once: what is encoded twice stays encoded.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => 16 * digit(rest.next()?)? + digit(rest.next()?)?,
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

fn digit(letter: u8) -> Option<u8> {
    // A hexadecimal digit is below 16.
    char::from(letter).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_once_and_kept_in_order() {
        let query = Query::parse("run=a%20b&run=c+d&name=%2e%2e%252f&empty&").unwrap();
        assert_eq!(query.all("run").collect::<Vec<_>>(), ["a b", "c d"]);
        assert_eq!(query.first("name"), Some("..%2f"));
        assert_eq!(query.first("empty"), Some(""));
        assert_eq!(query.first("other"), None);
    }

    #[test]
    fn broken_escapes_broken_letters_and_too_many_are_refused() {
        for text in ["a=%", "a=%4", "a=%zz", "a=%ff", "a=%+1"] {
            assert_eq!(Query::parse(text), None, "{text}");
        }
        assert_eq!(Query::parse(&"a=1&".repeat(MOST + 1)), None);
    }

    #[test]
    fn what_is_left_of_a_query_cannot_leave_a_header_or_an_attribute() {
        let query = Query::parse("token=x&name=%22%3E%0d%0aSet-Cookie:+a").unwrap();
        assert_eq!(query.without("token"), "?name=%22%3E%0D%0ASet-Cookie%3A%20a");
        assert_eq!(Query::parse("token=x").unwrap().without("token"), "");
    }
}
