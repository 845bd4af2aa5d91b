//! Reads FlatBuffers, in which Arrow describes itself: tables, vectors and scalars, every offset checked.

/// A table in a buffer: its place, and where its fields are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    buffer: &'a [u8],
    place: usize,
}

/// A vector of a buffer: its place and how many elements it says it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector<'a> {
    buffer: &'a [u8],
    first: usize,
    pub(super) length: usize,
}

fn number<const N: usize>(buffer: &[u8], place: usize) -> Option<[u8; N]> {
    buffer.get(place..place.checked_add(N)?)?.try_into().ok()
}

fn offset(buffer: &[u8], place: usize) -> Option<usize> {
    let distance = u32::from_le_bytes(number(buffer, place)?);
    place.checked_add(usize::try_from(distance).ok()?)
}

impl<'a> Table<'a> {
    /// The table a buffer is about.
    pub(super) fn root(buffer: &'a [u8]) -> Option<Self> {
        Some(Self { buffer, place: offset(buffer, 0)? })
    }

    /// Where a field is, `None` if it is absent or the buffer is damaged.
    fn field(&self, index: usize) -> Option<usize> {
        let back = i64::from(i32::from_le_bytes(number(self.buffer, self.place)?));
        let vtable = usize::try_from(i64::try_from(self.place).ok()?.checked_sub(back)?).ok()?;
        let size = usize::from(u16::from_le_bytes(number(self.buffer, vtable)?));
        let entry = 4 + 2 * index;
        if entry + 2 > size {
            return None;
        }
        match u16::from_le_bytes(number(self.buffer, vtable.checked_add(entry)?)?) {
            0 => None,
            distance => self.place.checked_add(usize::from(distance)),
        }
    }

    pub(super) fn u8(&self, index: usize) -> u8 {
        self.field(index).and_then(|place| self.buffer.get(place)).copied().unwrap_or(0)
    }

    pub(super) fn i64(&self, index: usize) -> i64 {
        self.field(index).and_then(|place| number(self.buffer, place)).map_or(0, i64::from_le_bytes)
    }

    pub(super) fn table(&self, index: usize) -> Option<Self> {
        Some(Self { buffer: self.buffer, place: offset(self.buffer, self.field(index)?)? })
    }

    pub(super) fn vector(&self, index: usize) -> Option<Vector<'a>> {
        let place = offset(self.buffer, self.field(index)?)?;
        let length = usize::try_from(u32::from_le_bytes(number(self.buffer, place)?)).ok()?;
        Some(Vector { buffer: self.buffer, first: place.checked_add(4)?, length })
    }
}

impl<'a> Vector<'a> {
    /// The table that an element points to.
    pub(super) fn table(&self, index: usize) -> Option<Table<'a>> {
        let place = self.first.checked_add(index.checked_mul(4)?)?;
        Some(Table { buffer: self.buffer, place: offset(self.buffer, place)? })
    }

    /// Two numbers of 64 bits, which is what Arrow's nodes and buffers are.
    pub(super) fn pair(&self, index: usize) -> Option<(i64, i64)> {
        let place = self.first.checked_add(index.checked_mul(16)?)?;
        let second = place.checked_add(8)?;
        Some((
            i64::from_le_bytes(number(self.buffer, place)?),
            i64::from_le_bytes(number(self.buffer, second)?),
        ))
    }
}
