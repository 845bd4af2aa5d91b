//! Which tool moves a dataset best, and the command that does it.

use std::env;
use std::path::Path;

use serde::Serialize;

use crate::remote::Place;

/// A tool that copies from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Tool {
    /// Files of any number, and parts of large ones at the same time.
    Rclone,
    /// A file, or several.
    Curl,
    /// From Amazon's and others' object stores.
    Aws,
    /// Folders over FTP, SFTP and HTTP.
    Lftp,
    /// Files over SSH, on one stream.
    Rsync,
}

impl Tool {
    const ALL: [Self; 5] = [Self::Rclone, Self::Curl, Self::Aws, Self::Lftp, Self::Rsync];

    /// The command's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rclone => "rclone",
            Self::Curl => "curl",
            Self::Aws => "aws",
            Self::Lftp => "lftp",
            Self::Rsync => "rsync",
        }
    }
}

/// The tools that are in PATH.
#[must_use]
pub fn installed_tools() -> Vec<Tool> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = env::split_paths(&path).collect();
    let there = |tool: &Tool| folders.iter().any(|folder| folder.join(tool.name()).is_file());
    Tool::ALL.into_iter().filter(there).collect()
}

/// A copy that a tool makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Move {
    /// Who makes it.
    pub tool: Tool,
    /// The words of the command, ready to be run; no secret is among them.
    pub words: Vec<String>,
    /// The folder or file that it makes.
    pub target: String,
}

impl Move {
    /// The command as it is typed.
    #[must_use]
    pub fn line(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        words.join(" ")
    }
}

/// The command that copies a place into the current folder with so many streams; `None` where no tool is installed
/// that could. `one_object` of a place that is a file.
#[must_use]
pub fn moving(place: &Place, one_object: bool, streams: u32, tools: &[Tool]) -> Option<Move> {
    let url = place.url();
    let target = target_of(&url);
    let usable = |tool: &&Tool| words(**tool, place, one_object, streams, &target).is_some();
    let tool = *preference(place, one_object, streams).iter().find(|tool| tools.contains(tool) && usable(tool))?;
    let words = words(tool, place, one_object, streams, &target)?;
    Some(Move { tool, words, target })
}

/// The tools for a place, the best first: what uses as many streams as help.
fn preference(place: &Place, one_object: bool, streams: u32) -> &'static [Tool] {
    match place.scheme() {
        "http" | "https" if one_object && streams == 1 => &[Tool::Curl, Tool::Rclone, Tool::Lftp],
        "s3" => &[Tool::Rclone, Tool::Aws],
        "sftp" if streams == 1 => &[Tool::Rsync, Tool::Rclone, Tool::Lftp],
        "ftp" | "ftps" | "ftpes" => &[Tool::Lftp, Tool::Rclone, Tool::Curl],
        _ => &[Tool::Rclone, Tool::Lftp, Tool::Curl, Tool::Rsync],
    }
}

fn words(tool: Tool, place: &Place, one_object: bool, streams: u32, target: &str) -> Option<Vec<String>> {
    let url = place.url();
    let text = match tool {
        Tool::Curl => return one_object.then(|| split(&["curl", "--fail", "--location", "--netrc-optional", "--output", target, &url])),
        Tool::Rclone => return rclone(place, one_object, streams, target),
        Tool::Aws => {
            let address = place.address()?;
            let (s3, many) = (format!("s3:/{}", address.path.trim_end_matches('/')), !one_object);
            let s3 = s3.replacen("s3:/", &format!("s3://{}", address.host), 1);
            let mut words = split(&["aws", "s3", "cp", &s3, target]);
            words.extend(many.then(|| "--recursive".to_owned()));
            return Some(words);
        }
        Tool::Lftp if one_object => format!("pget -n {streams} {} -o {}", lftp(&url), lftp(target)),
        Tool::Lftp => format!("open {}; mirror --parallel={streams} . {}", lftp(&url), lftp(target)),
        Tool::Rsync => {
            let address = place.address().filter(|_| place.scheme() == "sftp")?;
            let user = address.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
            let slash = if one_object { "" } else { "/" };
            let path = address.plain_path();
            let from = format!("{user}{}:{}{slash}", address.bracketed(), path.trim_end_matches('/'));
            let mut words = split(&["rsync", "--archive", "--partial"]);
            if address.port != 22 {
                words.extend(split(&["--rsh", &format!("ssh -p {}", address.port)]));
            }
            words.extend([from, target.to_owned()]);
            return Some(words);
        }
    };
    Some(split(&["lftp", "-e", &format!("{text}; exit")]))
}

/// rclone with a remote made on the spot, so that nothing has to be configured.
fn rclone(place: &Place, one_object: bool, streams: u32, target: &str) -> Option<Vec<String>> {
    let address = place.address()?;
    let path = address.plain_path();
    let (folder, _) = path.rsplit_once('/').unwrap_or(("", &path));
    let from = match place.scheme() {
        "http" | "https" if one_object => return rclone_url(place, streams, target),
        "http" | "https" => format!(":http,url=\"{}\":", place.url().trim_end_matches('/').to_owned() + "/"),
        "s3" => format!(":s3,env_auth{}:{}{path}", place.endpoint().map(|url| format!(",endpoint=\"{url}\"")).unwrap_or_default(), address.host),
        "sftp" => {
            let user = address.user.as_ref().map(|user| format!(",user={user}")).unwrap_or_default();
            let port = if address.port == 22 { String::new() } else { format!(",port={}", address.port) };
            format!(":sftp,host={}{port}{user},known_hosts_file=~/.ssh/known_hosts:{path}", address.host)
        }
        _ => return None,
    };
    let verb = if one_object { "copyto" } else { "copy" };
    let _ = folder;
    let count = streams.to_string();
    let mut words = split(&["rclone", verb, &from, target]);
    let option = if one_object { "--multi-thread-streams" } else { "--transfers" };
    words.extend(split(&[option, &count]));
    if one_object {
        words.extend(split(&["--multi-thread-cutoff", "1M"]));
    }
    Some(words)
}

/// A single file of a web server.
fn rclone_url(place: &Place, streams: u32, target: &str) -> Option<Vec<String>> {
    let address = place.address()?;
    if address.has_query() {
        return None;
    }
    let (folder, file) = address.path.rsplit_once('/')?;
    let root = place.url();
    let root = root.strip_suffix(file)?.to_owned();
    let _ = folder;
    let from = format!(":http,url=\"{root}\":{}", address.name());
    let streams = streams.to_string();
    Some(split(&["rclone", "copyto", &from, target, "--multi-thread-streams", &streams, "--multi-thread-cutoff", "1M"]))
}

fn target_of(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default();
    let plain: String = last.chars().filter(|letter| letter.is_alphanumeric() || "-_.".contains(*letter)).collect();
    let name = plain.trim_start_matches(['.', '-']);
    let name = if name.is_empty() { "data" } else { name };
    Path::new(".").join(name).display().to_string()
}

fn split(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A word within a command of lftp's own language.
fn lftp(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@,%+~".contains(letter);
    if !word.is_empty() && word.chars().all(plain) && !word.starts_with('~') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
