//! A source that remembers some of the objects that pass by while it is listed, to measure with.

use std::ops::{ControlFlow, Range};
use std::sync::{Mutex, PoisonError};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::source::{Object, Source, SourceError};

/// Objects that are remembered; those of any number of others, each with the same chance.
const MOST_KEPT: usize = 4096;

/// A source whose listing is remembered in part.
pub struct Passing<'a> {
    source: &'a dyn Source,
    kept: Mutex<Kept>,
}

struct Kept {
    objects: Vec<Object>,
    seen: u64,
    rng: ChaCha8Rng,
}

impl<'a> Passing<'a> {
    /// The source itself, as far as anybody can tell.
    #[must_use]
    pub fn new(source: &'a dyn Source) -> Self {
        let kept = Kept { objects: Vec::new(), seen: 0, rng: ChaCha8Rng::seed_from_u64(1) };
        Self { source, kept: Mutex::new(kept) }
    }

    /// A fair sample of what was listed, in random order.
    #[must_use]
    pub fn into_objects(self) -> Vec<Object> {
        let mut kept = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        for last in (1..kept.objects.len()).rev() {
            let other = (kept.rng.next_u64() % (last as u64 + 1)) as usize;
            kept.objects.swap(last, other);
        }
        kept.objects
    }

    fn keep(&self, object: &Object) {
        if object.bytes.is_none_or(|bytes| bytes == 0) {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.seen += 1;
        if kept.objects.len() < MOST_KEPT {
            kept.objects.push(object.clone());
            return;
        }
        let place = kept.rng.next_u64() % kept.seen;
        if let Some(old) = kept.objects.get_mut(place as usize) {
            *old = object.clone();
        }
    }
}

impl Source for Passing<'_> {
    fn place(&self) -> String {
        self.source.place()
    }

    fn list(&self, found: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<(), SourceError> {
        self.source.list(&mut |object| {
            self.keep(&object);
            found(object)
        })
    }

    fn read(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        self.source.read(name, range)
    }

    fn streams(&self) -> usize {
        self.source.streams()
    }
}
