//! A Python made of scripted memory: what is walked, and what a torn or hostile memory does.

use super::*;
use crate::code_object::read_marks;
use crate::memory::tests::ScriptedMemory;

const RUNTIME_AT: u64 = 0x10_000;
const CODE_TYPE_AT: u64 = 0x20_000;
const VERSION_AT: u64 = 0x30_000;
const INTERPRETER_AT: u64 = 0x40_000;
const THREAD_AT: u64 = 0x50_000;
const C_STACK_AT: u64 = 0x60_000;
const FRAMES_AT: u64 = 0x70_000;
const CODES_AT: u64 = 0x80_000;
const TEXT_AT: u64 = 0x90_000;

/// A Python 3.11 with one thread, whose stack is `names`, from the outermost.
fn python_3_11(names: &[&str]) -> ScriptedMemory {
    let pieces = [
        RUNTIME_AT,
        CODE_TYPE_AT,
        VERSION_AT,
        INTERPRETER_AT,
        THREAD_AT,
        C_STACK_AT,
        FRAMES_AT,
        CODES_AT,
        TEXT_AT,
    ];
    let mut memory = ScriptedMemory(pieces.map(|at| (at, vec![0; 4096])).into());
    memory.put_word(VERSION_AT, 0x030b_07f0);
    memory.put_word(RUNTIME_AT + 40, INTERPRETER_AT);
    memory.put_word(INTERPRETER_AT + 16, THREAD_AT);
    memory.put_word(THREAD_AT + 160, 4711);
    memory.put_word(THREAD_AT + 56, C_STACK_AT);
    for (at, name) in (0_u64..).zip(names) {
        let (frame, code, text) = (FRAMES_AT + at * 100, CODES_AT + at * 200, TEXT_AT + at * 200);
        memory.put_word(C_STACK_AT + 8, frame);
        memory.put_word(frame + 32, code);
        memory.put_word(frame + 48, if at == 0 { 0 } else { frame - 100 });
        memory.put_word(code + 8, CODE_TYPE_AT);
        memory.put_word(code + 72, 10 + at);
        memory.put_word(code + 112, text);
        memory.put_word(code + 128, text);
        memory.put_word(text + 16, name.len() as u64);
        // Letters of one byte, compact, plain.
        memory.put_word(text + 32, 1 << 2 | 1 << 5 | 1 << 6);
        let letters = memory.0.get_mut(&TEXT_AT).unwrap();
        let from = usize::try_from(text - TEXT_AT).unwrap() + 48;
        letters[from..from + name.len()].copy_from_slice(name.as_bytes());
    }
    memory
}

fn find(memory: &ScriptedMemory) -> Result<Python, Refusal> {
    Python::at(RUNTIME_AT, CODE_TYPE_AT, VERSION_AT, memory)
}

fn names_in(memory: &ScriptedMemory) -> io::Result<Vec<String>> {
    let python = find(memory).map_err(|refusal| io::Error::other(format!("{refusal:?}")))?;
    let threads = python.threads(memory)?;
    let thread = threads.first().ok_or(io::ErrorKind::NotFound)?;
    let stack = python.stack(thread, memory)?;
    stack.into_iter().map(|code| Ok(python.code(code, memory)?.name)).collect()
}

#[test]
fn a_stack_is_read_from_the_innermost_function() {
    let memory = python_3_11(&["<module>", "train", "forward"]);
    assert_eq!(names_in(&memory).unwrap(), ["forward", "train", "<module>"]);
    let python = find(&memory).unwrap();
    assert_eq!(python.name(), "Python 3.11");
    assert_eq!(python.threads(&memory).unwrap()[0].tid, 4711);
    assert_eq!(python.code(CODES_AT + 400, &memory).unwrap().line, 12);
}

#[test]
fn what_is_no_code_object_is_no_function() {
    let mut memory = python_3_11(&["<module>"]);
    memory.put_word(CODES_AT + 8, 1);
    assert!(names_in(&memory).is_err());
}

#[test]
fn code_that_took_the_place_of_other_code_has_another_mark() {
    let mut memory = python_3_11(&["<module>", "train"]);
    let marks = |memory: &ScriptedMemory| read_marks(memory, &[CODES_AT, CODES_AT + 200]).unwrap();
    let before = marks(&memory);
    assert_eq!(before, marks(&memory));
    memory.put_word(CODES_AT + 200 + 128, TEXT_AT);
    let after = marks(&memory);
    assert!(before[0] == after[0] && before[1] != after[1]);
    assert!(read_marks(&memory, &[CODES_AT, 0x50]).is_err());
}

#[test]
fn versions_that_are_not_known_are_refused_by_name() {
    for (version, name) in
        [(0x030a_0df0, "3.10"), (0x030e_00f0, "3.14"), (0x030d_00f0, "3.13, free-threaded")]
    {
        let mut memory = python_3_11(&["<module>"]);
        memory.put_word(VERSION_AT, version);
        assert!(matches!(find(&memory), Err(Refusal::Unknown(version)) if version == name), "{name}");
    }
}

#[test]
fn a_python_that_has_not_started_is_none_yet() {
    let mut memory = python_3_11(&["<module>"]);
    memory.put_word(RUNTIME_AT + 40, 0);
    assert!(matches!(find(&memory), Err(Refusal::NotPython)));
}

#[test]
fn mutated_memory_gives_an_error_or_a_bounded_stack_and_never_hangs() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..10_000 {
        let mut memory = python_3_11(&["<module>", "train", "forward"]);
        let begins: Vec<u64> = memory.0.keys().copied().collect();
        for _ in 0..random.usize(1..4) {
            // Words that lead somewhere in that memory are the nastiest.
            let (at, to) = (random.choice(&begins).unwrap(), random.choice(&begins).unwrap());
            memory.put_word(at + 8 * random.u64(0..60), to + 4 * random.u64(0..150));
        }
        if let Ok(names) = names_in(&memory) {
            assert!(names.len() <= MOST_FRAMES);
        }
    }
}
