//! Which tool moves a dataset best, and the command that does it.

mod aws;
mod curl;
mod lftp;
mod rclone;
mod rsync;

use std::env;

use serde::Serialize;

use crate::remote::Place;

/// A tool that copies from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Tool {
    /// Many files at the same time, from almost anywhere.
    Rclone,
    /// A file on one stream.
    Curl,
    /// From object stores.
    Aws,
    /// Folders, and parts of a file at the same time.
    Lftp,
    /// Files over SSH, on one stream.
    Rsync,
}

/// What is to be copied.
#[derive(Clone, Copy, Debug)]
pub struct Copy<'a> {
    /// From where.
    pub place: &'a Place,
    /// Whether the place is a single object.
    pub one_object: bool,
    /// Streams that are worth having.
    pub streams: u32,
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

    /// The words of the command; `None` of what the tool cannot do.
    fn words(self, copy: &Copy<'_>, target: &str) -> Option<Vec<String>> {
        match self {
            Self::Rclone => rclone::words(copy, target),
            Self::Curl => curl::words(copy, target),
            Self::Aws => aws::words(copy, target),
            Self::Lftp => lftp::words(copy, target),
            Self::Rsync => rsync::words(copy, target),
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

/// The command that copies into the current folder; `None` where no tool is installed that could.
#[must_use]
pub fn moving(copy: &Copy<'_>, tools: &[Tool]) -> Option<Move> {
    // A signed URL in a command would be a secret in the history of the shell.
    if copy.place.address().is_some_and(|address| address.has_query()) {
        return None;
    }
    let target = target_of(&copy.place.address()?.plain_url());
    let installed = preference(copy).iter().filter(|tool| tools.contains(tool));
    let mut usable = installed.filter_map(|tool| Some((*tool, tool.words(copy, &target)?)));
    let (tool, words) = usable.next()?;
    Some(Move { tool, words, target })
}

/// The tools for a place, the best first: those that use as many streams as help.
fn preference(copy: &Copy<'_>) -> &'static [Tool] {
    match copy.place.scheme() {
        _ if copy.one_object && copy.streams == 1 => {
            &[Tool::Curl, Tool::Rsync, Tool::Rclone, Tool::Lftp, Tool::Aws]
        }
        "sftp" if copy.streams == 1 => &[Tool::Rsync, Tool::Rclone, Tool::Lftp],
        "sftp" | "s3" => &[Tool::Rclone, Tool::Aws, Tool::Lftp, Tool::Rsync],
        _ if copy.one_object => &[Tool::Lftp, Tool::Rclone, Tool::Curl],
        "ftp" | "ftps" | "ftpes" => &[Tool::Lftp, Tool::Rclone],
        _ => &[Tool::Rclone, Tool::Lftp],
    }
}

/// The last part of the URL that can be the name of a file, below the current folder.
fn target_of(url: &str) -> String {
    let path = url.split_once("://").map_or(url, |(_, path)| path).trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default();
    let plain = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    let plain: String = last.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect();
    let name = plain.trim_start_matches(['.', '-']);
    format!("./{}", if name.is_empty() { "data" } else { name })
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@,%+".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(url: &str, one_object: bool, streams: u32, tools: &[Tool]) -> String {
        let place = Place::parse(url, None).unwrap();
        moving(&Copy { place: &place, one_object, streams }, tools)
            .map_or("none".into(), |found| found.line())
    }

    #[test]
    fn every_protocol_has_a_command_with_the_streams_that_help() {
        let all = Tool::ALL;
        let lines = [
            line("https://host/train.csv", true, 1, &all),
            line("https://host/train.csv", true, 4, &all),
            line("https://host/set/", false, 6, &all),
            line("s3://bucket/train", false, 8, &all),
            line("s3://bucket/train", false, 8, &[Tool::Aws]),
            line("sftp://me@host:2222/data", false, 1, &all),
            line("sftp://me@host/data", false, 4, &all),
            line("ftp://host/data/x.bin", true, 2, &all),
            line("ftp://host/data", false, 2, &all),
        ];
        let expected = [
            "curl --fail --location --netrc-optional --output ./train.csv https://host/train.csv",
            "lftp -e 'pget -n 4 \"https://host/train.csv\" -o \"./train.csv\"; exit'",
            "rclone copy ':http,url=\"https://host/set/\":' ./set --transfers 6",
            "rclone copy :s3,env_auth=true:bucket/train ./train --transfers 8",
            "aws s3 cp s3://bucket/train ./train --recursive",
            "rsync --archive --partial --rsh 'ssh -p 2222' me@host:/data/ ./data",
            "rclone copy :sftp,host=host,user=me,known_hosts_file=/~/.ssh/known_hosts:/data ./data --transfers 4",
            "lftp -e 'pget -n 2 \"ftp://host/data/x.bin\" -o \"./x.bin\"; exit'",
            "lftp -e 'open \"ftp://host/data\"; mirror --parallel=2 . \"./data\"; exit'",
        ];
        for (line, expected) in lines.iter().zip(expected) {
            assert_eq!(line.replace(&known_hosts_of_this_user(), "/~"), expected);
        }
    }

    fn known_hosts_of_this_user() -> String {
        env::home_dir().unwrap().display().to_string()
    }

    #[test]
    fn no_secret_is_in_a_command_and_no_name_leads_elsewhere() {
        assert_eq!(line("https://host/x?sig=abc", true, 1, &Tool::ALL), "none");
        assert!(!line("https://me:s3cret@host/x", true, 1, &Tool::ALL).contains("s3cret"));
        assert_eq!(target_of("https://host/"), "./host");
        assert_eq!(target_of("https://host/..%2f..%2fetc"), "./_2f.._2fetc");
        assert_eq!(quoted("a b'c"), "'a b'\\''c'");
    }

    #[test]
    fn a_tool_that_is_not_installed_is_not_named() {
        assert_eq!(line("https://host/x", true, 1, &[]), "none");
        assert!(line("https://host/x", true, 4, &[Tool::Curl]).starts_with("curl "));
    }
}
