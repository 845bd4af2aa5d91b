//! Where the versions of CPython keep what a stack is made of, as offsets in bytes.
//!
//! 3.11 and 3.12 are known here; their layouts did not change within a version. 3.13 describes itself at the
//! begin of its runtime state.

use crate::memory::{Memory, word_at};

/// Offsets of one build of Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Runtime state: the first interpreter.
    pub(crate) interpreters: u64,
    /// Interpreter state: the next one, and its first thread.
    pub(crate) next_interpreter: u64,
    pub(crate) threads: u64,
    /// Thread state: the next one, the kernel's id, where its newest frame is found.
    pub(crate) next_thread: usize,
    pub(crate) native_id: usize,
    pub(crate) frame: usize,
    /// Up to 3.12 the thread knows a structure on the C stack, and that knows the frame at this offset.
    pub(crate) indirect_frame: Option<u64>,
    /// Frame: its code, the frame that called it, and who owns its memory.
    pub(crate) code: usize,
    pub(crate) previous: usize,
    pub(crate) owner: usize,
    /// Code: its file, qualified name and first line.
    pub(crate) file: usize,
    pub(crate) name: usize,
    pub(crate) first_line: usize,
    /// Text: where the letters begin in plain text, and in other compact text.
    pub(crate) plain_letters: u64,
    pub(crate) other_letters: u64,
}

/// Who owns the memory of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Its thread: a plain call.
    Thread,
    /// A generator or coroutine.
    Generator,
    /// C code that called the interpreter: the frame is no function's.
    C,
    /// No running call: it has ended.
    Nobody,
}

impl Owner {
    /// As the byte in a frame says.
    pub(crate) fn of(byte: Option<&u8>) -> Self {
        match byte {
            Some(0) => Self::Thread,
            Some(1) => Self::Generator,
            Some(3) => Self::C,
            _ => Self::Nobody,
        }
    }
}

/// Bytes of a frame and of a thread state that hold all that is asked of them.
pub(crate) const FRAME_BYTES: usize = 80;
pub(crate) const THREAD_BYTES: usize = 288;

const PYTHON_3_11: Layout = Layout {
    interpreters: 40,
    next_interpreter: 0,
    threads: 16,
    next_thread: 8,
    native_id: 160,
    frame: 56,
    indirect_frame: Some(8),
    code: 32,
    previous: 48,
    owner: 69,
    file: 112,
    name: 128,
    first_line: 72,
    plain_letters: 48,
    other_letters: 72,
};

const PYTHON_3_12: Layout = Layout {
    threads: 72,
    native_id: 144,
    indirect_frame: Some(0),
    code: 0,
    previous: 8,
    owner: 70,
    first_line: 68,
    plain_letters: 40,
    other_letters: 56,
    ..PYTHON_3_11
};

const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");
const DESCRIPTION_WORDS: usize = 73;

/// Why a Python's memory cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unknown(pub(crate) String);

/// The layout of a Python with this version number, whose runtime state is at that address.
pub(crate) fn layout_of(version: u64, runtime: u64, memory: &impl Memory) -> Result<Layout, Unknown> {
    match (version >> 24 & 0xff, version >> 16 & 0xff) {
        (3, 11) => Ok(PYTHON_3_11),
        (3, 12) => Ok(PYTHON_3_12),
        (3, 13) => described(runtime, memory).ok_or_else(|| Unknown("3.13, free-threaded".into())),
        (major, minor) => Err(Unknown(format!("{major}.{minor}"))),
    }
}

/// The layout that a runtime state describes itself.
fn described(runtime: u64, memory: &impl Memory) -> Option<Layout> {
    let mut bytes = [0; DESCRIPTION_WORDS * 8];
    memory.read(runtime, &mut bytes).ok()?;
    let word = |at: usize| word_at(&bytes, at * 8);
    // Within a structure that is read as one piece.
    let inside = |at: usize, most: usize| usize::try_from(word(at)?).ok().filter(|at| *at + 8 <= most);
    let free_threaded = word(2)? != 0;
    (word(0)? == COOKIE && !free_threaded).then_some(())?;
    Some(Layout {
        interpreters: word(5)?,
        next_interpreter: word(8)?,
        threads: word(9)?,
        next_thread: inside(21, THREAD_BYTES)?,
        frame: inside(23, THREAD_BYTES)?,
        native_id: inside(25, THREAD_BYTES)?,
        indirect_frame: None,
        previous: inside(29, FRAME_BYTES)?,
        code: inside(30, FRAME_BYTES)?,
        owner: inside(33, FRAME_BYTES + 7)?,
        file: inside(35, CODE_BYTES)?,
        name: inside(37, CODE_BYTES)?,
        first_line: inside(39, CODE_BYTES)?,
        plain_letters: word(70)?,
        // What other text has besides: its length and letters in UTF-8.
        other_letters: word(70)?.checked_add(16)?,
    })
}

/// Bytes of a code object that hold all that is asked of it.
pub(crate) const CODE_BYTES: usize = 136;
