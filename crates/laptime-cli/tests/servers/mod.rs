//! Real servers on this machine, each with a folder of its own, gone when they are dropped.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server; it ends with this.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        // nginx and sshd end their own children when they are asked to.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The program, where it is installed; else the reason why a test is skipped is shown.
fn installed(program: &str) -> Option<PathBuf> {
    let folders = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];
    let found = folders.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: there is no {program} here; `make programs` installs it");
    }
    found
}

fn started(command: &mut Command, port: u16) -> Server {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if child.try_wait().unwrap().is_some() || Instant::now() > deadline {
            let mut said = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut said);
            panic!("{command:?} does not answer: {said}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Server { child, port }
}

/// A certificate of `localhost` and of the authority that signed it, as files `ca.pem`, `host.pem` and `host.key`.
pub(crate) fn certificate(folder: &Path) -> bool {
    let Some(openssl) = installed("openssl") else { return false };
    let run = |words: &str| {
        let status =
            Command::new(&openssl).args(words.split(' ')).current_dir(folder).stderr(Stdio::null()).status();
        assert!(status.unwrap().success(), "openssl {words}");
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    run(&format!("req -x509 {key} -days 2 -subj /CN=ca -keyout ca.key -out ca.pem"));
    run(&format!("req {key} -subj /CN=localhost -keyout host.key -out host.csr"));
    fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    run(
        "x509 -req -in host.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out host.pem",
    );
    true
}

/// nginx with index pages, over HTTP at its port and over HTTPS at the other.
pub(crate) fn nginx(folder: &Path, data: &Path) -> Option<(Server, u16)> {
    let program = installed("nginx")?;
    let (plain, encrypted, at) = (free_port(), free_port(), folder.display());
    let user = if is_root() { "user root;" } else { "" };
    let kept = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {at}/{kind};"));
    let text = format!(
        "daemon off; {user} pid {at}/nginx.pid; error_log {at}/nginx.log; events {{}}\n\
         http {{ access_log off; {} server {{ listen 127.0.0.1:{plain}; listen 127.0.0.1:{encrypted} ssl;\n\
         ssl_certificate {at}/host.pem; ssl_certificate_key {at}/host.key; root {}; autoindex on; }} }}\n",
        kept.concat(),
        data.display()
    );
    let configuration = folder.join("nginx.conf");
    fs::write(&configuration, text).unwrap();
    Some((started(Command::new(program).arg("-c").arg(configuration), plain), encrypted))
}

/// vsftpd, for anybody, plain and encrypted at the same port.
pub(crate) fn vsftpd(folder: &Path, data: &Path) -> Option<Server> {
    let program = installed("vsftpd").filter(|_| {
        let root = is_root();
        if !root {
            eprintln!("skipped: vsftpd starts only as root");
        }
        root
    })?;
    let (port, at) = (free_port(), folder.display());
    let empty = folder.join("empty");
    fs::create_dir_all(&empty).unwrap();
    let text = format!(
        "listen=YES\nlisten_address=127.0.0.1\nlisten_port={port}\nbackground=NO\nanonymous_enable=YES\n\
         anon_root={}\nsecure_chroot_dir={}\nssl_enable=YES\nallow_anon_ssl=YES\nseccomp_sandbox=NO\n\
         rsa_cert_file={at}/host.pem\nrsa_private_key_file={at}/host.key\n",
        data.display(),
        empty.display()
    );
    let configuration = folder.join("vsftpd.conf");
    fs::write(&configuration, text).unwrap();
    Some(started(Command::new(program).arg(configuration), port))
}

/// sshd, and a folder for PATH with an `ssh` that has the key it takes; `known` says whether it knows the host's.
pub(crate) fn sshd(folder: &Path) -> Option<(Server, PathBuf)> {
    let (program, keygen) = (installed("sshd")?, installed("ssh-keygen")?);
    let at = folder.display();
    for name in ["host_key", "user_key"] {
        let file = folder.join(name);
        let made = Command::new(&keygen).args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&file).status();
        assert!(made.unwrap().success());
    }
    let port = free_port();
    let text = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/host_key\nAuthorizedKeysFile {at}/user_key.pub\n\
         StrictModes no\nPidFile none\nUsePAM no\nPasswordAuthentication no\nMaxStartups 100\n\
         Subsystem sftp internal-sftp\n"
    );
    let configuration = folder.join("sshd_config");
    fs::write(&configuration, text).unwrap();
    if is_root() {
        fs::create_dir_all("/run/sshd").unwrap();
    }
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let ssh = bin.join("ssh");
    let options = format!("-F none -i {at}/user_key -oUserKnownHostsFile={at}/known_hosts");
    fs::write(&ssh, format!("#!/bin/sh\nexec /usr/bin/ssh {options} \"$@\"\n")).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    Some((started(Command::new(program).args(["-D", "-e", "-f"]).arg(configuration), port), bin))
}

/// What a server's key is known by.
pub(crate) fn known_host(folder: &Path, port: u16) {
    let key = fs::read_to_string(folder.join("host_key.pub")).unwrap();
    fs::write(folder.join("known_hosts"), format!("[localhost]:{port} {key}")).unwrap();
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}
