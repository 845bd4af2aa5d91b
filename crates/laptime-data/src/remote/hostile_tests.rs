//! Servers that mean no good: every one is answered by an error or a part of the data, within the limits.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use crate::source::{Object, Source, SourceError};

use super::{Limits, Place, Remote};

/// What is waited for at most here; a loaded machine takes long for a connection to itself.
fn limits() -> Limits {
    Limits {
        connect: Duration::from_secs(2),
        silence: Duration::from_secs(1),
        answer: Duration::from_secs(2),
    }
}

/// A server that does the same to everybody who connects. It ends with the process of the test.
fn server(serve: impl Fn(&mut TcpStream) + Send + Clone + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, serve) = (stream.unwrap(), serve.clone());
            thread::spawn(move || serve(&mut stream));
        }
    });
    port
}

fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        bytes.push(byte[0]);
    }
    String::from_utf8(bytes).unwrap()
}

/// A server that answers every request with these bytes and closes.
fn answering(answer: &'static str) -> u16 {
    server(move |stream| {
        request(stream);
        let _ = stream.write_all(answer.as_bytes());
    })
}

fn place(scheme: &str, port: u16, path: &str) -> Remote {
    Place::parse(&format!("{scheme}://me:s3cret@127.0.0.1:{port}{path}"), None)
        .unwrap()
        .open(limits())
        .unwrap()
}

fn listed(remote: &Remote) -> Result<Vec<Object>, SourceError> {
    let mut objects = Vec::new();
    remote.list(&mut |object| {
        objects.push(object);
        ControlFlow::Continue(())
    })?;
    Ok(objects)
}

/// That both listing and reading end soon and say nothing secret; the error of reading.
fn error_of(remote: &Remote) -> SourceError {
    let started = Instant::now();
    let listed = listed(remote).map(|objects| objects.len());
    let error = remote.read("x", 0..1 << 20).unwrap_err();
    let said = format!("{listed:?} {error} {error:?} {} {remote:?}", remote.place());
    assert!(!said.contains("s3cret"), "{said}");
    assert!(started.elapsed() < Duration::from_secs(60), "{said}");
    error
}

#[test]
fn a_server_that_says_nothing_or_a_byte_a_second_is_given_up() {
    let hang =
        server(|stream| drop(stream.read(&mut [0; 1]).map(|_| thread::sleep(Duration::from_secs(60)))));
    let drip = server(|stream| {
        request(stream);
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(300));
        }
    });
    for port in [hang, drip] {
        for scheme in ["http", "https", "ftp"] {
            let remote = place(scheme, port, "/x");
            let error = error_of(&remote);
            assert!(
                matches!(
                    error,
                    SourceError::TimedOut(_) | SourceError::Unreachable(_) | SourceError::Untrusted(_)
                ),
                "{scheme}: {error}"
            );
        }
    }
}

#[test]
fn redirects_end() {
    let circle = answering("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n");
    assert!(matches!(error_of(&place("http", circle, "/x")), SourceError::Redirected("in circles")));
    let on = server(|stream| {
        let path = request(stream).split(' ').nth(1).unwrap().to_owned();
        let _ = stream.write_all(
            format!("HTTP/1.1 307 Go\r\nLocation: {path}x\r\nContent-Length: 0\r\n\r\n").as_bytes(),
        );
    });
    assert!(matches!(error_of(&place("http", on, "/x")), SourceError::Redirected("on and on")));
    let other = answering("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n");
    assert!(matches!(error_of(&place("http", other, "/x")), SourceError::Redirected(_)));
}

#[test]
fn a_login_is_not_sent_to_where_a_redirect_leads() {
    let (sender, heard) = std::sync::mpsc::channel();
    let other = server(move |stream| {
        sender.send(request(stream)).unwrap();
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    });
    let first = server(move |stream| {
        assert!(request(stream).contains("Authorization: Basic bWU6czNjcmV0"));
        let answer = format!(
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{other}/y\r\nContent-Length: 0\r\n\r\n"
        );
        let _ = stream.write_all(answer.as_bytes());
    });
    assert_eq!(place("http", first, "/x").read("x", 0..5).unwrap(), b"hi");
    assert!(!heard.recv().unwrap().contains("Authorization"));
}

#[test]
fn bodies_without_end_and_lengths_that_lie_cost_no_more_than_was_asked() {
    let endless = server(|stream| {
        request(stream);
        let _ = stream
            .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n");
        while stream.write_all(b"10000\r\n").is_ok() && stream.write_all(&[b'x'; 65_536]).is_ok() {
            let _ = stream.write_all(b"\r\n");
        }
    });
    let remote = place("http", endless, "/x");
    assert_eq!(remote.read("x", 0..1 << 20).unwrap().len(), 1 << 20);
    assert_eq!(listed(&place("http", endless, "/set/")).unwrap(), []);
    let short = answering(
        "HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-999/1000\r\nContent-Length: 1000\r\n\r\nabc",
    );
    assert!(matches!(error_of(&place("http", short, "/x")), SourceError::Unreachable(_)));
    let elsewhere =
        answering("HTTP/1.1 206 Partial\r\nContent-Range: bytes 5-9/1000\r\nContent-Length: 5\r\n\r\nabcde");
    assert!(matches!(error_of(&place("http", elsewhere, "/x")), SourceError::BadAnswer(_)));
    let whole = answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde");
    assert!(matches!(place("http", whole, "/x").read("x", 2..4).unwrap_err(), SourceError::NoRanges));
}

#[test]
fn what_speaks_another_protocol_is_not_understood() {
    let ssh = server(|stream| drop(stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").map(|()| request(stream))));
    assert!(matches!(error_of(&place("http", ssh, "/x")), SourceError::BadAnswer(_)));
    assert!(matches!(error_of(&place("https", ssh, "/x")), SourceError::BadAnswer(_)));
    assert!(matches!(error_of(&place("ftp", ssh, "/x")), SourceError::BadAnswer(_)));
}

#[test]
fn names_cannot_smuggle_commands() {
    let greeting = server(|stream| {
        let _ = stream.write_all(b"220 hello\r\n");
        let mut line = [0; 1024];
        while let Ok(read) = stream.read(&mut line) {
            let said = String::from_utf8_lossy(&line[..read]).into_owned();
            assert!(!said.contains("DELE"), "{said}");
            let answer: &[u8] = if said.starts_with("PWD") { b"257 \"/\"\r\n" } else { b"200 yes\r\n" };
            if read == 0 || stream.write_all(answer).is_err() {
                return;
            }
        }
    });
    assert!(place("ftp", greeting, "/set/").read("x\r\nDELE y", 0..1).is_err());
}

#[test]
fn answers_of_any_bytes_neither_panic_nor_take_memory() {
    use proptest::test_runner::{Config, TestRunner};
    let mut runner =
        TestRunner::new(Config { cases: 10_000, failure_persistence: None, ..Config::default() });
    let heads = [
        "HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-9/10\r\nContent-Length: 10\r\n\r\n0123456789",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
    ];
    let change = proptest::collection::vec((0..200_usize, proptest::num::u8::ANY), 0..6);
    runner
        .run(&change, |changes| {
            for text in heads {
                let mut bytes = text.as_bytes().to_vec();
                for (at, byte) in &changes {
                    let place = at % bytes.len();
                    bytes[place] = *byte;
                }
                super::http::read_answer(&mut bytes.as_slice(), 1 << 20);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                super::http::read_page(&text);
                super::s3::read_listing(&text);
                super::ftp::read_entry(&text);
                super::sftp::read_packet(&bytes);
            }
            Ok(())
        })
        .unwrap();
}
