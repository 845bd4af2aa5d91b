//! The head of a request, read strictly: what a browser would not send is refused.

use super::query::Query;
use super::refusal::Refusal;

/// Bytes of a head at most, its blank line included.
pub(super) const LONGEST_HEAD: usize = 8 * 1024;
const MOST_HEADERS: usize = 64;

/// What is asked for, and all that is known of who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// Whether only the head of the answer is wanted.
    pub(super) head_only: bool,
    /// The path, as it was sent: it is compared, never decoded.
    pub(super) path: String,
    /// What stands after the `?`.
    pub(super) query: Query,
    pub(super) host: String,
    pub(super) origin: Option<String>,
    pub(super) fetch_site: Option<String>,
    pub(super) cookie: Option<String>,
    pub(super) authorization: Option<String>,
}

impl Request {
    /// Reads a head that ends with its blank line.
    pub(super) fn parse(head: &[u8]) -> Result<Self, Refusal> {
        let head = std::str::from_utf8(head).map_err(|_| Refusal::Malformed)?;
        let head = head.strip_suffix("\r\n\r\n").ok_or(Refusal::Malformed)?;
        let mut lines = head.split("\r\n");
        let mut request = Self::of_first_line(lines.next().unwrap_or_default())?;
        let mut host = None;
        for (at, line) in lines.enumerate() {
            if at == MOST_HEADERS {
                return Err(Refusal::TooLarge);
            }
            let (name, value) = header(line)?;
            match name.as_str() {
                "host" => once(&mut host, value)?,
                "origin" => once(&mut request.origin, value)?,
                "sec-fetch-site" => once(&mut request.fetch_site, value)?,
                "cookie" => once(&mut request.cookie, value)?,
                "authorization" => once(&mut request.authorization, value)?,
                "content-length" if value != "0" => return Err(Refusal::Body),
                "transfer-encoding" => return Err(Refusal::Body),
                _ => {}
            }
        }
        request.host = host.ok_or(Refusal::Malformed)?;
        Ok(request)
    }

    fn of_first_line(line: &str) -> Result<Self, Refusal> {
        let mut words = line.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(Refusal::Malformed);
        };
        if !matches!(version, "HTTP/1.1" | "HTTP/1.0") || !is_word(method) {
            return Err(Refusal::Malformed);
        }
        // Refused before anything else is looked at: nothing here changes anything.
        if !matches!(method, "GET" | "HEAD") {
            return Err(Refusal::Method);
        }
        if !target.starts_with('/') || !target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
            return Err(Refusal::Malformed);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = Query::parse(query).ok_or(Refusal::Malformed)?;
        Ok(Self { head_only: method == "HEAD", path: path.to_owned(), query, ..Self::default() })
    }
}

/// A header's name in small letters, and its value.
fn header(line: &str) -> Result<(String, String), Refusal> {
    let (name, value) = line.split_once(':').ok_or(Refusal::Malformed)?;
    // A line that goes on with a blank has no name, and so is refused as well.
    let is_value = value.chars().all(|letter| letter == '\t' || !letter.is_control());
    if !is_word(name) || !is_value {
        return Err(Refusal::Malformed);
    }
    Ok((name.to_ascii_lowercase(), value.trim_matches([' ', '\t']).to_owned()))
}

/// What counts is said once: two answers to who asks are none.
fn once(known: &mut Option<String>, value: String) -> Result<(), Refusal> {
    match known.replace(value) {
        None => Ok(()),
        Some(_) => Err(Refusal::Malformed),
    }
}

fn is_word(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(head: &str) -> Result<Request, Refusal> {
        Request::parse(head.as_bytes())
    }

    #[test]
    fn a_browsers_request_is_understood() {
        let head =
            "GET /run?id=a%2Fb HTTP/1.1\r\nHost: 127.0.0.1:5278\r\nCOOKIE:  a=b \r\nAccept: */*\r\n\r\n";
        let request = parsed(head).unwrap();
        assert_eq!((request.path.as_str(), request.host.as_str()), ("/run", "127.0.0.1:5278"));
        assert_eq!(request.query.first("id"), Some("a/b"));
        assert_eq!(request.cookie.as_deref(), Some("a=b"));
        assert!(!request.head_only && request.origin.is_none());
        assert!(parsed("HEAD / HTTP/1.0\r\nHost: x\r\n\r\n").unwrap().head_only);
    }

    #[test]
    fn every_method_but_two_is_refused() {
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "GETS", "PRI"]
        {
            let head = format!("{method} / HTTP/1.1\r\nHost: x\r\n\r\n");
            assert_eq!(parsed(&head), Err(Refusal::Method), "{method}");
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let malformed = [
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nOrigin: x\r\nOrigin: y\r\n\r\n",
            "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
            "GET / HTTP/1.1\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n",
            "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /\tb HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /#b HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/2\r\nHost: a\r\n\r\n",
            "GET /?a=%zz HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n",
            "",
        ];
        for head in malformed {
            assert_eq!(parsed(head), Err(Refusal::Malformed), "{head:?}");
        }
        assert_eq!(Request::parse(b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n"), Err(Refusal::Malformed));
        for body in ["Content-Length: 5", "Content-Length: 00", "Transfer-Encoding: chunked"] {
            assert_eq!(parsed(&format!("GET / HTTP/1.1\r\nHost: a\r\n{body}\r\n\r\n")), Err(Refusal::Body));
        }
        let many = "X: y\r\n".repeat(MOST_HEADERS + 1);
        assert_eq!(parsed(&format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n")), Err(Refusal::TooLarge));
    }
}
