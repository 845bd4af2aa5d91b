//! Whole requests, made from the list of routes: a new route cannot be forgotten.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use laptime_core::RunMeta;
use laptime_store::Catalogue;

use super::door::Door;
use super::listener::{Listener, Stop};
use super::request::Request;
use super::response::Response;
use super::routes::{ROUTES, Route};
use super::site::Site;
use super::token::Token;

const PORT: u16 = 5278;

/// The recorded runs, each in a folder named by its id.
fn recorded_runs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs");
    for run in fs::read_dir(fixtures).unwrap().flatten() {
        let text = fs::read(run.path().join("run.json")).unwrap();
        let to = folder.path().join(serde_json::from_slice::<RunMeta>(&text).unwrap().id);
        fs::create_dir(&to).unwrap();
        for file in fs::read_dir(run.path()).unwrap().flatten() {
            fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    folder
}

struct Served {
    folder: tempfile::TempDir,
    site: Site,
    token: Token,
}

impl Served {
    fn new() -> Self {
        let (folder, token) = (recorded_runs(), Token::random().unwrap());
        let site = Site::new(Catalogue::at(folder.path()), Door::new(token.clone(), PORT));
        Self { folder, site, token }
    }

    fn ids(&self) -> Vec<String> {
        let runs = Catalogue::at(self.folder.path()).list().unwrap();
        runs.into_iter().map(|run| run.meta.id).collect()
    }

    fn answer(&self, head: &[u8]) -> Response {
        Request::parse(head).map_or_else(Response::from, |request| self.site.answer(&request))
    }

    /// An address of every route, with what it needs to be found.
    fn addresses(&self) -> Vec<String> {
        let ids = self.ids();
        let address = |(path, route): &(&str, Route)| match route {
            Route::Run => format!("{path}?id={}", ids[0]),
            Route::Compare => format!("{path}?run={}&run={}", ids[0], ids[1]),
            _ => (*path).to_owned(),
        };
        ROUTES.iter().map(address).collect()
    }

    /// Asks with the right host and the cookie.
    fn ask(&self, address: &str) -> Response {
        self.answer(&self.head(&format!("GET {address} HTTP/1.1"), ""))
    }

    fn head(&self, first: &str, more: &str) -> Vec<u8> {
        let cookie = format!("Cookie: laptime-{PORT}={}", self.token.revealed());
        format!("{first}\r\nHost: 127.0.0.1:{PORT}\r\n{cookie}\r\n{more}\r\n").into_bytes()
    }
}

#[test]
fn every_route_is_found_with_the_token_and_no_page_repeats_it() {
    let served = Served::new();
    for address in served.addresses() {
        let response = served.ask(&address);
        let expected = if address == "/sweep" { "404 Not Found" } else { "200 OK" };
        assert_eq!(response.status, expected, "{address}: {}", response.body);
        assert!(!response.body.contains(served.token.revealed()), "{address}");
        assert!(response.body.len() > 100, "{address} is empty");
        let is_page = response.body.starts_with("<!doctype");
        let inline = ["<style", "<script>", " style=", " onclick", "javascript:"];
        assert!(!is_page || inline.iter().all(|inline| !response.body.contains(inline)), "{address}");
    }
}

#[test]
fn a_first_visit_gets_the_cookie_and_leaves_the_token_out_of_the_address() {
    let served = Served::new();
    let token = served.token.revealed();
    let host = format!("Host: localhost:{PORT}\r\n\r\n");
    let visit = |address: &str| served.answer(format!("GET {address} HTTP/1.1\r\n{host}").as_bytes());
    let sent = String::from_utf8(visit(&format!("/run?token={token}&id=%22%0d%0a")).bytes(false)).unwrap();
    assert!(sent.starts_with("HTTP/1.1 303 See Other\r\n"), "{sent}");
    assert!(sent.contains("\r\nLocation: /run?id=%22%0D%0A\r\n"), "{sent}");
    let cookie = format!("\r\nSet-Cookie: laptime-{PORT}={token}; Path=/; HttpOnly; SameSite=Strict\r\n");
    assert!(sent.contains(&cookie), "{sent}");
    // What no person looks at needs no cookie.
    assert_eq!(visit(&format!("/style.css?token={token}")).status, "200 OK");
}

#[test]
fn every_route_refuses_who_may_not_look() {
    let served = Served::new();
    let token = served.token.revealed();
    for address in served.addresses().into_iter().chain(["/nothing".to_owned()]) {
        let joined = if address.contains('?') { '&' } else { '?' };
        let get = format!("GET {address} HTTP/1.1");
        let host = format!("Host: 127.0.0.1:{PORT}");
        let refused = [
            (format!("{get}\r\n{host}\r\n\r\n"), "403 Forbidden"),
            (format!("GET {address}{joined}token= HTTP/1.1\r\n{host}\r\n\r\n"), "403 Forbidden"),
            (format!("GET {address}{joined}token=x HTTP/1.1\r\n{host}\r\n\r\n"), "403 Forbidden"),
            (format!("{get}\r\n{host}\r\nCookie: laptime-{PORT}=x\r\n\r\n"), "403 Forbidden"),
            (format!("{get}\r\n{host}\r\nAuthorization: Bearer x\r\n\r\n"), "403 Forbidden"),
            (
                format!("GET {address}{joined}token={token} HTTP/1.1\r\nHost: evil.com\r\n\r\n"),
                "403 Forbidden",
            ),
            (
                format!("GET {address}{joined}token={token} HTTP/1.1\r\nHost: evil.com:{PORT}\r\n\r\n"),
                "403 Forbidden",
            ),
            (format!("GET {address}{joined}token={token} HTTP/1.1\r\n\r\n"), "400 Bad Request"),
        ];
        for (head, status) in refused {
            assert_eq!(served.answer(head.as_bytes()).status, status, "{head}");
        }
        let foreign = ["Origin: http://evil.com\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n"];
        for more in foreign {
            assert_eq!(served.answer(&served.head(&get, more)).status, "403 Forbidden", "{address} {more}");
        }
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"] {
            let head = served.head(&format!("{method} {address} HTTP/1.1"), "");
            assert_eq!(served.answer(&head).status, "405 Method Not Allowed", "{method} {address}");
        }
    }
}

#[test]
fn no_address_reaches_a_file() {
    let served = Served::new();
    let id = &served.ids()[0];
    // Beside the runs lies what nobody may see, under a name that a trick could make.
    fs::write(served.folder.path().join("secret.css"), "secret").unwrap();
    let tricks = [
        "..",
        "../..",
        "/etc/passwd",
        "../secret.css",
        "secret.css",
        "%2e%2e",
        "%2e%2e%2fsecret.css",
        "..%2fsecret.css",
        "%252e%252e%252fsecret.css",
        "..%5csecret.css",
        "..;/secret.css",
        "./secret.css",
        "latest",
        ".",
        "",
        "%00",
        "secret.css%00.html",
        "run.json",
        "%2fetc%2fpasswd",
        "file:///etc/passwd",
        "*",
        "~",
    ];
    for trick in tricks.into_iter().map(str::to_owned).chain([format!("{id}/run.json"), format!("../{id}")]) {
        for (path, _) in ROUTES {
            // As a part of the path, and beside it.
            for address in [format!("{}/{trick}", path.trim_end_matches('/')), format!("{path}{trick}")] {
                if ROUTES.iter().any(|(known, _)| *known == address) {
                    continue;
                }
                assert_eq!(served.ask(&address).status, "404 Not Found", "{address}");
            }
        }
        for address in [
            format!("/run?id={trick}"),
            format!("/sweep?id={trick}"),
            format!("/compare?run={trick}&run={id}"),
            format!("/compare?run={trick}"),
        ] {
            let response = served.ask(&address);
            assert_eq!(response.status, "404 Not Found", "{address}");
            assert!(!response.body.contains("secret\n") && !response.body.contains("root:"), "{address}");
        }
    }
}

/// Every file and folder below a folder, with its content and when it was changed.
fn everything(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, Option<std::time::SystemTime>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(everything(&path));
        }
        let changed = entry.metadata().unwrap().modified().ok();
        found.insert(path.clone(), (fs::read(&path).unwrap_or_default(), changed));
    }
    found
}

/// The addresses that a page links to.
fn links(body: &str) -> Vec<String> {
    let ends = body.split("href=\"/").skip(1).filter_map(|rest| rest.split_once('"'));
    ends.map(|(address, _)| format!("/{address}")).collect()
}

#[test]
fn a_crawl_of_every_route_leaves_the_folder_as_it_was() {
    let served = Served::new();
    let before = everything(served.folder.path());
    let mut next = served.addresses();
    let mut seen: Vec<String> = Vec::new();
    while let Some(address) = next.pop() {
        if !seen.contains(&address) {
            next.extend(links(&served.ask(&address).body));
            seen.push(address);
        }
    }
    for id in served.ids() {
        assert!(seen.contains(&format!("/run?id={id}")), "the list links to every run: {seen:?}");
    }
    assert!(everything(served.folder.path()) == before);
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

/// Changes a request as a bug or an attacker would.
fn mutated(head: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = head.to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len());
        let end = at + dice.below(bytes.len() - at + 1);
        match dice.below(7) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] = dice.below(256) as u8,
            2 => drop(bytes.drain(at..end)),
            3 => bytes.insert(at, b"\r\n \0:/?%&=;\x80"[dice.below(12)]),
            4 => bytes.splice(at..at, bytes[at..end].to_vec()).for_each(drop),
            5 => bytes.extend_from_slice(&other[dice.below(other.len())..]),
            _ => bytes.splice(at..end, other[..dice.below(other.len())].iter().copied()).for_each(drop),
        }
    }
    bytes
}

#[test]
fn ten_thousand_broken_requests_are_answered_or_refused_and_none_gets_in_without_the_token() {
    let served = Served::new();
    let known = ["200 ", "303 ", "400 ", "403 ", "404 ", "405 ", "431 "];
    let heads: Vec<Vec<u8>> = served
        .addresses()
        .iter()
        .map(|address| served.head(&format!("GET {address} HTTP/1.1"), "Origin: http://127.0.0.1:5278\r\n"))
        .collect();
    let mut dice = Dice(18);
    for round in 0..10_000 {
        let (one, other) = (dice.below(heads.len()), dice.below(heads.len()));
        let head = mutated(&heads[one], &heads[other], &mut dice);
        let response = served.answer(&head);
        assert!(known.iter().any(|status| response.status.starts_with(status)), "round {round}");
        let has_token = String::from_utf8_lossy(&head).contains(served.token.revealed());
        assert!(has_token || !response.status.starts_with("200"), "round {round}: {head:?}");
    }
}

/// A server on a port of its own, until it is dropped.
struct Running {
    served: Arc<Served>,
    port: u16,
    stop: Stop,
    thread: Option<thread::JoinHandle<()>>,
}

impl Running {
    fn new() -> Self {
        let listener = Listener::at(0).unwrap();
        let (port, stop) = (listener.port(), listener.stop());
        let (folder, token) = (recorded_runs(), Token::random().unwrap());
        let site = Site::new(Catalogue::at(folder.path()), Door::new(token.clone(), port));
        let served = Arc::new(Served { folder, site, token });
        let (shown, stopped) = (Arc::clone(&served), stop.clone());
        let answer = Arc::new(move |request: &Request| shown.site.answer(request));
        let thread = Some(thread::spawn(move || listener.listen(&stopped, &(answer as _))));
        Self { served, port, stop, thread }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    fn head(&self, first: &str) -> String {
        let token = self.served.token.revealed();
        format!("{first} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {token}\r\n\r\n", self.port)
    }

    /// What the server sends to whoever sends this.
    fn said(&self, sent: &[u8]) -> String {
        let mut stream = self.connect();
        // It may refuse before all of it was sent.
        let _ = stream.write_all(sent);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
        self.thread.take().unwrap().join().unwrap();
    }
}

#[test]
fn a_thousand_clients_that_say_nothing_do_not_stop_it() {
    let running = Running::new();
    let head = running.head("GET /icon.svg");
    let slow: Vec<TcpStream> = (0..1_000)
        .map(|number: usize| {
            let mut stream = running.connect();
            // Some say nothing, some begin and never end; some may be closed already.
            let _ = stream.write_all(&head.as_bytes()[..number % head.len()]);
            stream
        })
        .collect();
    for _ in 0..20 {
        assert!(running.said(head.as_bytes()).starts_with("HTTP/1.1 200 OK\r\n"));
    }
    drop(slow);
}

#[test]
fn requests_have_limits_and_every_refusal_is_sent_whole() {
    let running = Running::new();
    let long = running.head(&format!("GET /?text={}", "a".repeat(9_000)));
    let endless_headers = format!("GET / HTTP/1.1\r\n{}", "X: y\r\n".repeat(200_000));
    let endless_body = format!("POST / HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n{}", "x".repeat(60_000));
    let refused = [
        (long.as_str(), "431 "),
        (endless_headers.as_str(), "431 "),
        (endless_body.as_str(), "405 "),
        ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "400 "),
        ("\x16\x03\x01\x02\r\n\r\n", "400 "),
    ];
    for (sent, status) in refused {
        let said = running.said(sent.as_bytes());
        // A client that goes on sending may find the connection closed before it reads.
        assert!(
            said.is_empty() && sent.len() > 100_000 || said.starts_with(&format!("HTTP/1.1 {status}")),
            "{said}"
        );
    }
    let slow = running.connect();
    slow.shutdown(Shutdown::Write).unwrap();
    let head = running.said(running.head("HEAD /").as_bytes());
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
}
