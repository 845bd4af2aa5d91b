//! An answer, with the headers that every one of them has.

use std::borrow::Cow;

use super::refusal::Refusal;

/// What a page may do: load our own style, script and pictures, ask us, send its form to us; nothing inline.
pub(super) const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What each answer has, also a refusal.
const ALWAYS: [(&str, &str); 8] = [
    ("Content-Security-Policy", CONTENT_POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
    ("Connection", "close"),
];

/// What is sent back.
#[derive(Clone, Debug)]
pub(super) struct Response {
    pub(super) status: &'static str,
    kind: &'static str,
    more: Vec<(&'static str, String)>,
    pub(super) body: Cow<'static, str>,
}

impl Response {
    /// Something that is there; `kind` is its media type.
    pub(super) fn found(kind: &'static str, body: impl Into<Cow<'static, str>>) -> Self {
        Self { status: "200 OK", kind, more: Vec::new(), body: body.into() }
    }

    /// A page.
    pub(super) fn page(body: String) -> Self {
        Self::found("text/html; charset=utf-8", body)
    }

    /// The same page with another status, such as of a run that is not there.
    pub(super) fn with_status(self, status: &'static str) -> Self {
        Self { status, ..self }
    }

    /// Sends the browser on; `to` is a path of ours.
    pub(super) fn elsewhere(to: String) -> Self {
        let more = vec![("Location", to)];
        Self { status: "303 See Other", more, ..Self::found("text/plain; charset=utf-8", "") }
    }

    /// Adds a header whose value is ours.
    pub(super) fn with(mut self, name: &'static str, value: String) -> Self {
        self.more.push((name, value));
        self
    }

    /// The bytes that are sent.
    pub(super) fn bytes(&self, head_only: bool) -> Vec<u8> {
        let mut text = format!("HTTP/1.1 {}\r\n", self.status);
        let own = [("Content-Type", self.kind.to_owned()), ("Content-Length", self.body.len().to_string())];
        let more = self.more.iter().map(|(name, value)| (*name, value.clone()));
        let always = ALWAYS.into_iter().map(|(name, value)| (name, value.to_owned()));
        for (name, value) in own.into_iter().chain(more).chain(always) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        if !head_only {
            bytes.extend_from_slice(self.body.as_bytes());
        }
        bytes
    }
}

impl From<Refusal> for Response {
    /// Plain text: nothing of a refused request is repeated, and no style can be loaded for it.
    fn from(refusal: Refusal) -> Self {
        let response =
            Self::found("text/plain; charset=utf-8", refusal.words()).with_status(refusal.status());
        match refusal {
            Refusal::Method => response.with("Allow", "GET, HEAD".into()),
            _ => response,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_forbids_what_a_page_must_not_do_and_a_head_has_no_body() {
        for response in
            [Response::page("<p>".into()), Refusal::Method.into(), Response::elsewhere("/".into())]
        {
            let whole = String::from_utf8(response.bytes(false)).unwrap();
            assert!(ALWAYS.iter().all(|(name, value)| whole.contains(&format!("\r\n{name}: {value}\r\n"))));
            let (head, body) = whole.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())));
            assert_eq!(response.bytes(true), format!("{head}\r\n\r\n").into_bytes());
        }
        assert!(!CONTENT_POLICY.contains("unsafe"));
    }
}
