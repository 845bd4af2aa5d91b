//! `laptime serve`, as a person starts and ends it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laptime;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use laptime::{copied, laptime, run};

/// A server that answers, and the address it printed.
struct Server {
    child: Child,
    port: String,
    token: String,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let mut child = laptime(folder, "serve --port 0").stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.map(Result::unwrap).find(|line| line.contains("http://")).unwrap();
        let (port, token) = url.trim().rsplit_once(':').unwrap().1.split_once("/?token=").unwrap();
        Self { port: port.to_owned(), token: token.to_owned(), child }
    }

    fn page(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", self.port)).unwrap();
        let Self { port, token, .. } = self;
        let head =
            format!("GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer {token}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    }

    /// Ends it as the terminal or the system does.
    fn end(mut self, signal: &str) -> Option<i32> {
        let sent = Command::new("kill").arg(format!("-{signal}")).arg(self.child.id().to_string()).status();
        assert!(sent.unwrap().success());
        self.child.wait().unwrap().code()
    }
}

#[test]
fn it_shows_what_is_there_until_it_is_asked_to_end() {
    let folder = copied();
    let server = Server::start(folder.path());
    let page = server.page("/");
    for name in ["demo", "sizes", "failed", "killed", "pytorch", "keras", "two_ranks"] {
        assert!(page.contains(&format!("<bdi>{name}</bdi>")), "{name}");
    }
    assert_eq!(server.end("INT"), Some(130));
    let server = Server::start(folder.path());
    assert_eq!(server.end("TERM"), Some(130));
}

/// Every block says so, with a checksum that holds.
fn of_a_newer_format(mut log: Vec<u8>) -> Vec<u8> {
    let magic = b"\x89LTLOG\r\n";
    let blocks: Vec<usize> = (0..log.len()).filter(|at| log[*at..].starts_with(magic)).collect();
    for at in blocks {
        log[at + 8..at + 10].copy_from_slice(&999_u16.to_le_bytes());
        let checksum = crc32c::crc32c(&log[at..at + 52]);
        log[at + 52..at + 56].copy_from_slice(&checksum.to_le_bytes());
    }
    log
}

#[test]
fn what_cannot_be_read_is_named_with_what_to_do() {
    let folder = copied();
    let runs = folder.path().join(".laptime");
    let newer = runs.join("20261115T104746Z-f3ad63bb");
    for file in fs::read_dir(&newer).unwrap().flatten().filter(|file| file.file_name() != "run.json") {
        fs::write(file.path(), of_a_newer_format(fs::read(file.path()).unwrap())).unwrap();
    }
    fs::write(runs.join("20261115T104749Z-f0dda030/run.json"), "{\"id\":").unwrap();
    let half = runs.join("20261115T104749Z-f1363edf/rank-00000.000001.ltlog");
    let length = fs::metadata(&half).unwrap().len();
    fs::OpenOptions::new().write(true).open(&half).unwrap().set_len(length / 2).unwrap();
    let server = Server::start(folder.path());
    let list = server.page("/");
    assert!(list.contains("20261115T104749Z-f0dda030</bdi> is a run that cannot be read"), "{list}");
    assert!(list.contains("reads up to") && list.contains("update laptime"), "{list}");
    let page = server.page("/run?id=20261115T104746Z-f3ad63bb");
    assert!(page.starts_with("HTTP/1.1 404") && page.contains("hint: update laptime"), "{page}");
    let page = server.page("/run?id=20261115T104749Z-f1363edf");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("sizes"), "{page}");
    server.end("INT");
}

#[test]
fn an_empty_folder_says_what_to_type_and_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    assert!(server.page("/").contains("laptime run -- python train.py"));
    server.end("INT");
    assert!(!folder.path().join(".laptime").exists());
}

#[test]
fn a_port_in_use_and_a_file_for_a_folder_are_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let said = run(folder.path(), &format!("serve --port {}", taken.local_addr().unwrap().port()));
    assert_eq!(said.code, Some(1));
    assert!(said.err.ends_with(
        "  because: another program answers there\n  hint: laptime serve --port 0 takes a free one\n"
    ));
    fs::write(folder.path().join("file"), "").unwrap();
    let said = run(folder.path(), "serve --dir file");
    assert_eq!(said.code, Some(2));
    insta::assert_snapshot!(said.err, @r"
    error: could not serve the runs
      because: file is no folder
      hint: laptime serve --dir DIR, with the folder that has the runs
    ");
}
