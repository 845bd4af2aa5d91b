//! Code objects: from an address in another process to a function's name.

use std::io;

use crate::layout::{CODE_BYTES, Layout};
use crate::memory::{Memory, word_at};

/// A function as its code object describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Code {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) line: u32,
}

/// The part of a code object that distinguishes it from any other: where it says its line, file and name. Memory of
/// code that is no longer needed, such as that of a module that was imported, soon holds other code.
pub(crate) type CodeMark = [u8; MARK_BYTES];
const MARK_OFFSET: u64 = 64;
const MARK_BYTES: usize = CODE_BYTES - 64;

/// The marks of code objects at these addresses, read at once.
pub(crate) fn read_marks(memory: &impl Memory, addresses: &[u64]) -> io::Result<Vec<CodeMark>> {
    let mut marks = vec![[0; MARK_BYTES]; addresses.len()];
    let places = addresses.iter().map(|address| address.wrapping_add(MARK_OFFSET));
    let mut pieces: Vec<(u64, &mut [u8])> =
        places.zip(marks.iter_mut().map(|mark| mark.as_mut_slice())).collect();
    let read = memory.read_each(&mut pieces);
    if read < addresses.len() { Err(no_code()) } else { Ok(marks) }
}

/// Letters that are read of a name or path at most; what is longer is cut.
const MOST_LETTERS: u64 = 1024;
const TYPE_OFFSET: usize = 8;
const TEXT_LENGTH: u64 = 16;
const TEXT_STATE: u64 = 32;

/// The code object at an address; an error when what is there is none.
pub(crate) fn read_code(
    memory: &impl Memory,
    layout: &Layout,
    code_type: u64,
    address: u64,
) -> io::Result<Code> {
    let mut bytes = [0; CODE_BYTES];
    memory.read(address, &mut bytes)?;
    let word = |at: usize| word_at(&bytes, at).ok_or_else(no_code);
    if word(TYPE_OFFSET)? != code_type {
        return Err(no_code());
    }
    let line = word(layout.first_line)? as u32;
    Ok(Code {
        name: read_text(memory, layout, word(layout.name)?)?,
        file: read_text(memory, layout, word(layout.file)?)?,
        line,
    })
}

fn no_code() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// A Python text: its state says how wide its letters are and where they begin.
fn read_text(memory: &impl Memory, layout: &Layout, address: u64) -> io::Result<String> {
    let length = memory.word(address.wrapping_add(TEXT_LENGTH))?;
    let state = memory.word(address.wrapping_add(TEXT_STATE))?;
    let (width, compact, plain) = (state >> 2 & 7, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
    if !compact || !matches!(width, 1 | 2 | 4) {
        return Err(no_code());
    }
    let letters = if plain { layout.plain_letters } else { layout.other_letters };
    let mut bytes = vec![0; (length.min(MOST_LETTERS) * width) as usize];
    memory.read(address.wrapping_add(letters), &mut bytes)?;
    let letter = |piece: &[u8]| {
        let number = piece.iter().rev().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)
    };
    Ok(bytes.chunks_exact(width as usize).map(letter).collect())
}
