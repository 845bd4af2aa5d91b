//! A git revision, laid out in a temporary folder beside what git does not keep. The repository is only read.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::failure::Failure;

/// Names of folders that are never linked: git's own, and what each Python would write over the other's.
const NEVER_LINKED: [&str; 2] = [".git", "__pycache__"];
/// How a submodule is listed in git's index.
const SUBMODULE: &[u8] = b"160000 ";

/// The working tree that somebody stands in.
pub(super) struct WorkingTree {
    top: PathBuf,
    /// Where in it; empty at its top.
    inside: PathBuf,
}

/// A revision on disk; its folder is removed when this goes.
pub(super) struct LaidOut {
    folder: PathBuf,
    inside: PathBuf,
}

impl WorkingTree {
    /// The one of the current folder.
    pub(super) fn here(asked: &str) -> Result<Self, Failure> {
        let place = git(None, ["rev-parse", "--show-toplevel", "--show-prefix"].map(OsStr::new))
            .map_err(|error| no_git(asked, &error))?;
        if !place.status.success() {
            let because = match last_line(&place.stderr) {
                line if line.contains("not a git repository") => {
                    "this folder is in no git repository".to_owned()
                }
                line => line,
            };
            return Err(Failure::usage(asked)
                .because(because)
                .hint("kept runs are compared by `laptime compare A B`"));
        }
        let mut lines = place.stdout.split(|byte| *byte == b'\n').map(path_of);
        let (top, inside) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        Ok(Self { top, inside })
    }

    /// Whether files that git keeps were changed since the last commit.
    pub(super) fn is_dirty(&self) -> bool {
        // Without optional locks, nothing is written into the index.
        let words = ["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"];
        git(Some(&self.top), words.map(OsStr::new)).is_ok_and(|said| !said.stdout.is_empty())
    }

    /// Lays a revision out, and links what git does not keep, but for the folder `runs`.
    pub(super) fn lay_out(&self, revision: &str, runs: &Path, asked: &str) -> Result<LaidOut, Failure> {
        let commit = self.commit(revision, asked)?;
        let failed = |error: &io::Error| {
            Failure::new(asked).because("the revision could not be laid out").caused_by(error)
        };
        let folder = temporary_folder().map_err(|error| failed(&error))?;
        let laid_out = LaidOut { folder, inside: self.inside.clone() };
        self.extract(&commit, &laid_out.folder).map_err(|error| failed(&error))?;
        self.link(&laid_out.folder, runs).map_err(|error| failed(&error))?;
        if !laid_out.has(&self.inside) {
            return Err(Failure::usage(asked)
                .because(format!("{revision} has no folder {}", self.inside.display()))
                .hint("run it from a folder that both have"));
        }
        Ok(laid_out)
    }

    fn commit(&self, revision: &str, asked: &str) -> Result<String, Failure> {
        let wanted = format!("{revision}^{{commit}}");
        let words = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        let said = git(Some(&self.top), words.map(OsStr::new)).map_err(|error| no_git(asked, &error))?;
        let commit = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        if said.status.success() && !commit.is_empty() {
            return Ok(commit);
        }
        Err(Failure::usage(asked)
            .because(format!("git knows no revision `{revision}`"))
            .hint("`git branch --all` lists branches; a shallow checkout needs `git fetch --unshallow`"))
    }

    fn extract(&self, commit: &str, folder: &Path) -> io::Result<()> {
        let mut archive = git_command(Some(&self.top), ["archive", "--format=tar", commit].map(OsStr::new))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let bytes = archive.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let unpacked =
            Command::new("tar").arg("-x").arg("-C").arg(folder).stdin(bytes).stdout(Stdio::null()).output();
        let archived = archive.wait_with_output()?;
        let unpacked = unpacked.map_err(|error| io::Error::new(error.kind(), format!("tar: {error}")))?;
        let refused = |said: &Output| io::Error::other(last_line(&said.stderr));
        match (archived.status.success(), unpacked.status.success()) {
            (true, true) => Ok(()),
            (false, _) => Err(refused(&archived)),
            (true, false) => Err(refused(&unpacked)),
        }
    }

    /// Links what is in the working tree and not in git, where the revision has the folder it lies in and nothing of
    /// that name.
    fn link(&self, folder: &Path, runs: &Path) -> io::Result<()> {
        for path in self.beside_git()? {
            let own = self.top.join(&path);
            let there = folder.join(&path);
            let never = path
                .components()
                .any(|part| NEVER_LINKED.iter().any(|name| part == Component::Normal(name.as_ref())));
            if never || own == runs || !has_parent(&there) {
                continue;
            }
            // Of a submodule, the archive has an empty folder.
            let _ = fs::remove_dir(&there);
            if fs::symlink_metadata(&there).is_err() {
                symlink(own, there)?;
            }
        }
        Ok(())
    }

    /// Paths that git does not keep, whole folders as one, and submodules.
    fn beside_git(&self) -> io::Result<Vec<PathBuf>> {
        let listed = |words: &[&str]| -> io::Result<Vec<u8>> {
            let said = git(Some(&self.top), words.iter().map(OsStr::new))?;
            if said.status.success() {
                Ok(said.stdout)
            } else {
                Err(io::Error::other(last_line(&said.stderr)))
            }
        };
        let others = listed(&["ls-files", "--others", "--directory", "-z"])?;
        let kept = listed(&["ls-files", "--stage", "-z"])?;
        let submodules = kept.split(|byte| *byte == 0).filter(|line| line.starts_with(SUBMODULE));
        let submodules =
            submodules.filter_map(|line| line.splitn(2, |byte| *byte == b'\t').nth(1)).map(path_of);
        let others = others.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(path_of);
        Ok(others.chain(submodules).collect())
    }

    /// A word of a command that names a file of this tree for both sides, though the revision has its own.
    pub(super) fn own_file<'a>(&self, command: &'a [String], laid_out: &LaidOut) -> Option<&'a str> {
        let is_own = |word: &&String| {
            let inside = Path::new(word.as_str()).strip_prefix(&self.top).ok();
            let inside = inside.filter(|inside| inside.components().next().is_some());
            inside.is_some_and(|inside| laid_out.has(inside))
        };
        command.iter().find(is_own).map(String::as_str)
    }
}

impl LaidOut {
    /// The folder that corresponds to the one somebody stands in.
    pub(super) fn inside(&self) -> PathBuf {
        self.folder.join(&self.inside)
    }

    /// Whether the revision itself has a path, not by a link into the working tree.
    fn has(&self, path: &Path) -> bool {
        self.folder.join(path).canonicalize().is_ok_and(|there| there.starts_with(&self.folder))
    }
}

impl Drop for LaidOut {
    fn drop(&mut self) {
        // Links are removed, not what they lead to.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Whether the folder of a path is there itself, not by a link that was made here.
fn has_parent(path: &Path) -> bool {
    path.parent().and_then(|parent| fs::symlink_metadata(parent).ok()).is_some_and(|parent| parent.is_dir())
}

fn temporary_folder() -> io::Result<PathBuf> {
    let root = std::env::temp_dir().canonicalize()?;
    let pid = std::process::id();
    for number in 0..1000 {
        let folder = root.join(format!("laptime-base-{pid}-{number}"));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
    Err(io::Error::other("no free name for a temporary folder"))
}

fn git_command<'a>(folder: Option<&Path>, words: impl IntoIterator<Item = &'a OsStr>) -> Command {
    let mut command = Command::new("git");
    command.args(words).stdin(Stdio::null()).env("LC_ALL", "C");
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    command
}

fn git<'a>(folder: Option<&Path>, words: impl IntoIterator<Item = &'a OsStr>) -> io::Result<Output> {
    git_command(folder, words).output()
}

fn no_git(asked: &str, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound => Failure::new(asked)
            .because("no such command in PATH: git")
            .hint("install git; it is what lays the revision out"),
        _ => Failure::new(asked).because("git could not be run").caused_by(error),
    }
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes.strip_suffix(b"/").unwrap_or(bytes)))
}

fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it failed without a word");
    line.trim().strip_prefix("fatal: ").unwrap_or(line.trim()).to_owned()
}
