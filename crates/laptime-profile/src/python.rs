//! A CPython in another process: finding it, and walking the stacks of its threads.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;

use crate::code_object::{Code, read_code};
use crate::elf::{Exported, exported};
use crate::layout::{FRAME_BYTES, Layout, Owner, THREAD_BYTES, layout_of};
use crate::mapping::{Mapping, is_python, mapped_files};
use crate::memory::{Memory, ProcessMemory, word_at};

const RUNTIME: &str = "_PyRuntime";
const CODE_TYPE: &str = "PyCode_Type";
const VERSION: &str = "Py_Version";

/// Subinterpreters, threads and frames that are followed at most: lists that change while they are read
/// could go on for ever.
const MOST_INTERPRETERS: usize = 16;
const MOST_THREADS: usize = 256;
const MOST_FRAMES: usize = 512;

/// Why a process cannot be sampled.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It is no Python, or not yet, or has ended.
    NotPython,
    /// The system says no.
    Forbidden(io::Error),
    /// A Python whose memory is laid out in a way this build does not know.
    Unknown(String),
}

/// What the files of Pythons export, by device and inode: loader workers all map the same.
pub(crate) type Libraries = HashMap<(u64, u64), Option<Exported>>;

/// A Python in a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Python {
    runtime: u64,
    code_type: u64,
    layout: Layout,
    version: (u64, u64),
}

/// A thread of a Python: the kernel's id, and where its newest frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PythonThread {
    pub(crate) tid: u32,
    frame: u64,
}

impl Python {
    /// Finds the Python of a process.
    pub(crate) fn find(pid: u32, libraries: &mut Libraries) -> Result<Self, Refusal> {
        let files = mapped_files(pid).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Refusal::Forbidden(error),
            _ => Refusal::NotPython,
        })?;
        let pythons = files.iter().filter(|file| is_python(&file.path));
        let found = pythons.filter_map(|file| Some((file, library(pid, file, libraries)?)));
        let address = |file: &Mapping, library: &Exported, name| {
            Some(library.addresses.get(name)?.wrapping_sub(library.first_loaded).wrapping_add(file.begin))
        };
        let named = found.filter_map(|(file, library)| {
            let of = |name| address(file, &library, name);
            Some((of(RUNTIME)?, of(CODE_TYPE)?, of(VERSION)))
        });
        let Some((runtime, code_type, version)) = { named }.next() else { return Err(Refusal::NotPython) };
        // Only 3.11 and newer have it.
        let version = version.ok_or_else(|| Refusal::Unknown("3.10 or older".into()))?;
        Self::at(runtime, code_type, version, &ProcessMemory { pid })
    }

    fn at(runtime: u64, code_type: u64, version: u64, memory: &impl Memory) -> Result<Self, Refusal> {
        let version = memory.word(version).map_err(refused)? & 0xffff_ffff;
        let layout = layout_of(version, runtime, memory).map_err(|unknown| Refusal::Unknown(unknown.0))?;
        let interpreter = memory.word(runtime.wrapping_add(layout.interpreters)).map_err(refused)?;
        // Before its start there is no interpreter.
        if interpreter == 0 {
            return Err(Refusal::NotPython);
        }
        Ok(Self { runtime, code_type, layout, version: (version >> 24 & 0xff, version >> 16 & 0xff) })
    }

    /// Such as `Python 3.12`.
    pub(crate) fn name(&self) -> String {
        format!("Python {}.{}", self.version.0, self.version.1)
    }

    /// Every thread that the interpreters know now.
    pub(crate) fn threads(&self, memory: &impl Memory) -> io::Result<Vec<PythonThread>> {
        let layout = &self.layout;
        let mut threads = Vec::new();
        let mut interpreter = memory.word(self.runtime.wrapping_add(layout.interpreters))?;
        for _ in 0..MOST_INTERPRETERS {
            if interpreter == 0 {
                break;
            }
            let mut thread = memory.word(interpreter.wrapping_add(layout.threads))?;
            while thread != 0 && threads.len() < MOST_THREADS {
                let mut state = [0; THREAD_BYTES];
                memory.read(thread, &mut state)?;
                threads.extend(self.thread(&state, memory));
                thread = word_at(&state, layout.next_thread).unwrap_or(0);
            }
            interpreter = memory.word(interpreter.wrapping_add(layout.next_interpreter))?;
        }
        Ok(threads)
    }

    /// `None` for a thread that runs no Python now.
    fn thread(&self, state: &[u8], memory: &impl Memory) -> Option<PythonThread> {
        let tid = u32::try_from(word_at(state, self.layout.native_id)?).ok()?;
        let place = word_at(state, self.layout.frame)?;
        let frame = match self.layout.indirect_frame {
            Some(offset) => memory.word(place.checked_add(offset)?).ok()?,
            None => place,
        };
        (tid != 0 && frame != 0).then_some(PythonThread { tid, frame })
    }

    /// Addresses of the code objects of a thread's functions, from the innermost; an error when the stack
    /// changed so much while it was read that it makes no sense.
    pub(crate) fn stack(&self, thread: &PythonThread, memory: &impl Memory) -> io::Result<Vec<u64>> {
        let layout = &self.layout;
        let mut codes = Vec::new();
        let mut frame = thread.frame;
        while frame != 0 && codes.len() < MOST_FRAMES {
            let mut bytes = [0; FRAME_BYTES];
            memory.read(frame, &mut bytes)?;
            let word = |at| word_at(&bytes, at).unwrap_or(0);
            let owner = Owner::of(bytes.get(layout.owner));
            let previous = word(layout.previous);
            // A generator that has stopped is called by nobody, so this one stopped while it was read.
            if owner == Owner::Nobody || previous == frame || (owner == Owner::Generator && previous == 0) {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if owner != Owner::C {
                codes.push(word(layout.code));
            }
            frame = previous;
        }
        Ok(codes)
    }

    /// What a code object says.
    pub(crate) fn code(&self, address: u64, memory: &impl Memory) -> io::Result<Code> {
        read_code(memory, &self.layout, self.code_type, address)
    }
}

fn refused(error: io::Error) -> Refusal {
    match error.raw_os_error() {
        // Not there (any more): it is ending, or becoming another program.
        Some(libc::ESRCH | libc::EFAULT) | None => Refusal::NotPython,
        _ => Refusal::Forbidden(error),
    }
}

/// What a mapped file exports of what is wanted; the file is seen as the process sees it.
fn library(pid: u32, file: &Mapping, known: &mut Libraries) -> Option<Exported> {
    let path = format!("/proc/{pid}/root{}", file.path);
    let path = if fs::metadata(&path).is_ok() { path } else { file.path.clone() };
    let metadata = fs::metadata(&path).ok()?;
    let read = || exported(&File::open(&path).ok()?, &[RUNTIME, CODE_TYPE, VERSION]);
    known.entry((metadata.dev(), metadata.ino())).or_insert_with(read).clone()
}

#[cfg(test)]
#[path = "python_tests.rs"]
mod tests;
