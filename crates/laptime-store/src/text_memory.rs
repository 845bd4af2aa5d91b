//! Text in shared memory, word by word.

use std::sync::atomic::{AtomicU64, Ordering};

/// Names and paths as words, so that they can be shared like everything else.
#[repr(C)]
pub(crate) struct TextMemory<const WORDS: usize> {
    /// Bytes of the text plus one, written last; 0 while there is none.
    length: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl<const WORDS: usize> TextMemory<WORDS> {
    pub(crate) fn write(&self, text: &str) {
        let mut end = text.len().min(WORDS * 8);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        for (word, chunk) in self.words.iter().zip(text.as_bytes()[..end].chunks(8)) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
        self.length.store(end as u64 + 1, Ordering::Release);
    }

    pub(crate) fn read(&self) -> Option<String> {
        let length = usize::try_from(self.length.load(Ordering::Acquire).checked_sub(1)?).ok()?;
        let bytes: Vec<u8> = self
            .words
            .iter()
            .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes())
            .take(length)
            .collect();
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}
