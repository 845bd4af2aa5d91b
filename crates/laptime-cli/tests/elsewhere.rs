//! `laptime data URL`: the same data behind real servers, and servers that mean no good.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]
#![expect(unsafe_code, reason = "the kernel's counts for the processes under test")]

mod laptime;
mod servers;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use laptime::{Said, json, laptime, said};
use servers::{certificate, known_host, nginx, sshd, vsftpd};

const SHORT: &str = "--probe-time 1s --probe-bytes 2MB";

/// 20,000 rows in one file and 10 in another, deeper one.
fn dataset(folder: &Path) -> std::path::PathBuf {
    let data = folder.join("data");
    fs::create_dir_all(data.join("more rows")).unwrap();
    let rows: String = (0..20_000).map(|row| format!("{row},0.5\n")).collect();
    fs::write(data.join("train.csv"), format!("x,y\n{rows}")).unwrap();
    fs::write(data.join("more rows/a b.csv"), format!("x,y\n{}", "1,2\n".repeat(10))).unwrap();
    // What may be looked at by the user that a server runs as.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    data
}

/// The program in a folder of its own, with the authority of these servers and their keys.
fn command(folder: &Path, words: &str) -> Command {
    let home = folder.join("home");
    fs::create_dir_all(&home).unwrap();
    let mut command = laptime(&home, words);
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
    command.env("HOME", &home).env("PATH", path).env("SSL_CERT_FILE", folder.join("ca.pem"));
    for variable in ["AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "NETRC", "SSL_CERT_DIR"] {
        command.env_remove(variable);
    }
    command
}

fn run(folder: &Path, words: &str) -> Said {
    said(command(folder, words).output().unwrap())
}

/// That the dataset is found whole behind a URL, with its link.
fn assert_whole(folder: &Path, url: &str) -> serde_json::Value {
    let document = json(&run(folder, &format!("data {url} --json --epochs 3 {SHORT}")));
    assert_eq!((&document["files"], &document["format"]), (&2.into(), &"csv".into()), "{url}: {document}");
    assert_eq!(document["samples"]["mean"], 20_010.0, "{url}: {document}");
    assert_eq!(document["bytes"], 188_894 + 44, "{url}");
    let network = &document["network"];
    assert!(network["rates"][0]["bytes_per_s"]["mean"].as_f64().unwrap() > 0.0, "{url}: {document}");
    assert!(document["plan"]["copy_s"]["mean"].as_f64().unwrap() > 0.0, "{url}: {document}");
    assert_eq!(document["link"]["origin"], "network");
    document
}

#[test]
fn data_behind_a_web_server_are_found_with_and_without_encryption() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let data = dataset(folder);
    if !certificate(folder) {
        return;
    }
    let Some((server, encrypted)) = nginx(folder, &data) else { return };
    let port = server.port;
    let plain = assert_whole(folder, &format!("http://localhost:{port}/"));
    assert!(plain["network"]["tls_s"].is_null());
    let secure = assert_whole(folder, &format!("https://localhost:{encrypted}/"));
    assert!(secure["network"]["tls_s"].as_f64().unwrap() > 0.0);
    let file = json(&run(folder, &format!("data http://localhost:{port}/train.csv --json --no-disk")));
    assert_eq!((&file["files"], &file["samples"]["mean"]), (&1.into(), &20_000.0.into()));
    assert!(file["network"].is_null() && file["plan"].is_null());
    let compared = run(
        folder,
        &format!(
            "data --compare http://localhost:{port}/ https://localhost:{encrypted}/ http://localhost:1/ {SHORT}"
        ),
    );
    assert_eq!(compared.code, Some(0), "{}", compared.err);
    assert!(compared.out.contains("encryption costs"), "{}", compared.out);
    assert!(compared.out.contains("http://localhost:1/: cannot be reached"), "{}", compared.out);
    let copied = run(folder, &format!("data --time http://localhost:{port}/train.csv {SHORT}"));
    assert_eq!(copied.code, Some(0), "{}", copied.err);
    assert_eq!(fs::read(folder.join("home/train.csv")).unwrap(), fs::read(data.join("train.csv")).unwrap());
    assert!(copied.out.contains("forecast "), "{}", copied.out);
    let again = run(folder, &format!("data --time http://localhost:{port}/train.csv {SHORT}"));
    assert!(again.code == Some(1) && again.err.contains("is there already"), "{}", again.err);
    // An authority that this machine does not know.
    let mut unknown = command(folder, &format!("data https://localhost:{encrypted}/"));
    let unknown = said(unknown.env("SSL_CERT_FILE", folder.join("host.csr")).output().unwrap());
    assert_eq!((unknown.code, unknown.out.as_str()), (Some(1), ""));
    assert!(unknown.err.contains("not trusted"), "{}", unknown.err);
    // A certificate of another name.
    let other = run(folder, &format!("data https://127.0.0.1:{encrypted}/"));
    assert!(other.code == Some(1) && other.err.contains("not trusted"), "{}", other.err);
}

#[test]
fn data_behind_an_ftp_server_are_found_with_and_without_encryption() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let data = dataset(folder);
    if !certificate(folder) {
        return;
    }
    let Some(server) = vsftpd(folder, &data) else { return };
    let plain = assert_whole(folder, &format!("ftp://localhost:{}/", server.port));
    assert!(plain["network"]["login_s"].as_f64().unwrap() > 0.0);
    let secure = assert_whole(folder, &format!("ftpes://localhost:{}/", server.port));
    assert!(secure["network"]["tls_s"].as_f64().unwrap() > 0.0);
    let wrong = run(folder, &format!("data ftp://me:s3cret@localhost:{}/", server.port));
    assert!(
        wrong.code == Some(1) && wrong.err.contains("refuse") | wrong.err.contains("denied"),
        "{}",
        wrong.err
    );
    assert!(!wrong.err.contains("s3cret"), "{}", wrong.err);
}

#[test]
fn data_behind_ssh_are_found_once_its_host_key_is_known() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let data = dataset(folder);
    let Some((server, _)) = sshd(folder) else { return };
    let user = std::env::var("USER").unwrap_or_else(|_| "root".to_owned());
    let url = format!("sftp://{user}@localhost:{}{}", server.port, data.display());
    let unknown = run(folder, &format!("data {url}"));
    assert!(unknown.code == Some(1) && unknown.err.contains("not trusted"), "{}", unknown.err);
    known_host(folder, server.port);
    assert_whole(folder, &url);
    let password = run(folder, &format!("data sftp://{user}:s3cret@localhost:{}/", server.port));
    assert!(password.code == Some(1) && !password.err.contains("s3cret"), "{}", password.err);
}

/// A server that answers every request with these bytes for ever, or until the other side has enough.
fn answering(head: &'static str, body: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(head.as_bytes());
                while !body.is_empty() && stream.write_all(body).is_ok() {}
            });
        }
    });
    port
}

/// The most memory that any child of this process took, by the kernel's own count.
fn peak_bytes_of_children() -> u64 {
    // SAFETY: all-zero is a valid `rusage`, which `getrusage` fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    u64::try_from(usage.ru_maxrss).unwrap() << 10
}

#[test]
fn hostile_servers_end_in_an_answer_and_take_little_memory() {
    static LINES: [u8; 1 << 16] = [b'\n'; 1 << 16];
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    fs::write(folder.join("ca.pem"), "").unwrap();
    let endless = answering("HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\n\r\n", &LINES);
    let pages = answering("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", &LINES);
    let huge = answering(
        "HTTP/1.1 206 P\r\nContent-Range: bytes 0-0/9223372036854775807\r\nContent-Length: 1\r\n\r\n",
        b"x",
    );
    let circle = answering("HTTP/1.1 302 F\r\nLocation: /x.csv\r\nContent-Length: 0\r\n\r\n", b"");
    let started = Instant::now();
    for (port, path, seen) in [
        (endless, "x.csv", "says how long"),
        (pages, "set/", "no files"),
        (huge, "x.csv", ""),
        (circle, "x.csv", "in circles"),
    ] {
        let said =
            run(folder, &format!("data http://me:s3cret@127.0.0.1:{port}/{path}?sig=s3cret {SHORT} --quiet"));
        assert!(matches!(said.code, Some(0 | 1)), "{path}: {:?} {}", said.code, said.err);
        let _ = seen;
        assert!(!(said.out.clone() + &said.err).contains("s3cret"), "{}{}", said.out, said.err);
    }
    assert!(started.elapsed() < Duration::from_secs(300));
    let peak = peak_bytes_of_children();
    assert!(peak < 256 << 20, "{peak}");
}

#[test]
fn secrets_are_in_no_output() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    fs::create_dir_all(folder.join("home/.aws")).unwrap();
    fs::write(folder.join("ca.pem"), "").unwrap();
    fs::write(folder.join("home/.netrc"), "machine 127.0.0.1 login me password s3cret\n").unwrap();
    let keys = "[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = s3cret\naws_session_token = s3cret\n";
    fs::write(folder.join("home/.aws/credentials"), keys).unwrap();
    let refused = answering("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", b"");
    let urls = [
        format!("http://127.0.0.1:{refused}/x?X-Amz-Signature=s3cret"),
        format!("http://me:s3cret@127.0.0.1:{refused}/x"),
        format!("ftp://me:s3cret@127.0.0.1:{refused}/x"),
        "http://me:s3cret@/x".to_owned(),
        "gopher://me:s3cret@host/x".to_owned(),
        "s3://bucket/x?s3cret".to_owned(),
    ];
    for url in urls {
        for words in [format!("data {url}"), format!("data --compare {url} --json")] {
            let mut command = command(folder, &words);
            command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{refused}"));
            let said = said(command.output().unwrap());
            assert!(matches!(said.code, Some(1 | 2)), "{words}: {:?}", said.code);
            let all = format!("{}{}", said.out, said.err);
            assert!(!all.contains("s3cret") && !all.contains("AKIDEXAMPLE"), "{words}: {all}");
        }
    }
}
