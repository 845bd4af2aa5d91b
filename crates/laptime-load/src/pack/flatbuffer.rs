//! The FlatBuffers encoding, as much of it as Arrow's messages need: written front to back, never read.

/// A value of a table's field.
pub(super) enum Value {
    Byte(u8),
    Short(i16),
    Int(i32),
    Long(i64),
    /// Written elsewhere and pointed to.
    Apart(Part),
}

/// What is written outside a table.
pub(super) enum Part {
    /// Fields by their slot.
    Table(Vec<(u16, Value)>),
    Text(String),
    Parts(Vec<Part>),
    /// Structs of 64-bit numbers, `words` each.
    Structs {
        words: usize,
        numbers: Vec<i64>,
    },
}

impl Value {
    const fn bytes(&self) -> usize {
        match self {
            Self::Byte(_) => 1,
            Self::Short(_) => 2,
            Self::Int(_) | Self::Apart(_) => 4,
            Self::Long(_) => 8,
        }
    }
}

/// The encoded buffer, its length a multiple of 8.
pub(super) fn encode(root: Vec<(u16, Value)>) -> Vec<u8> {
    let mut buffer = vec![0; 4];
    let place = put_table(&mut buffer, root);
    point(&mut buffer, 0, place);
    align(&mut buffer, 8, 0);
    buffer
}

/// Pads until what comes `ahead` bytes later lies on a multiple of `to`.
fn align(buffer: &mut Vec<u8>, to: usize, ahead: usize) {
    let end = (buffer.len() + ahead).next_multiple_of(to) - ahead;
    buffer.resize(end, 0);
}

fn point(buffer: &mut [u8], from: usize, to: usize) {
    let distance = (to - from) as u32;
    buffer[from..from + 4].copy_from_slice(&distance.to_le_bytes());
}

fn put(buffer: &mut Vec<u8>, part: Part) -> usize {
    match part {
        Part::Table(fields) => put_table(buffer, fields),
        Part::Text(text) => {
            align(buffer, 4, 0);
            let place = buffer.len();
            buffer.extend((text.len() as u32).to_le_bytes());
            buffer.extend(text.as_bytes());
            buffer.push(0);
            place
        }
        Part::Parts(parts) => {
            align(buffer, 4, 0);
            let place = buffer.len();
            buffer.extend((parts.len() as u32).to_le_bytes());
            buffer.resize(place + 4 + 4 * parts.len(), 0);
            for (index, part) in parts.into_iter().enumerate() {
                let to = put(buffer, part);
                point(buffer, place + 4 + 4 * index, to);
            }
            place
        }
        Part::Structs { words, numbers } => {
            align(buffer, 8, 4);
            let place = buffer.len();
            buffer.extend(((numbers.len() / words) as u32).to_le_bytes());
            buffer.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            place
        }
    }
}

/// A table of field places, then the fields, then what they point to.
fn put_table(buffer: &mut Vec<u8>, fields: Vec<(u16, Value)>) -> usize {
    let slots = fields.iter().map(|(slot, _)| usize::from(*slot) + 1).max().unwrap_or(0);
    let mut places = vec![0_u16; slots];
    let mut end = 4;
    for (slot, value) in &fields {
        let place = usize::next_multiple_of(end, value.bytes());
        places[usize::from(*slot)] = place as u16;
        end = place + value.bytes();
    }
    let head = 4 + 2 * slots;
    align(buffer, 8, head);
    buffer.extend((head as u16).to_le_bytes());
    buffer.extend((end as u16).to_le_bytes());
    buffer.extend(places.iter().flat_map(|place| place.to_le_bytes()));
    let table = buffer.len();
    buffer.extend((head as i32).to_le_bytes());
    buffer.resize(table + end, 0);
    for (slot, value) in fields {
        let at = table + usize::from(places[usize::from(slot)]);
        match value {
            Value::Byte(number) => buffer[at] = number,
            Value::Short(number) => buffer[at..at + 2].copy_from_slice(&number.to_le_bytes()),
            Value::Int(number) => buffer[at..at + 4].copy_from_slice(&number.to_le_bytes()),
            Value::Long(number) => buffer[at..at + 8].copy_from_slice(&number.to_le_bytes()),
            Value::Apart(part) => {
                let to = put(buffer, part);
                point(buffer, at, to);
            }
        }
    }
    table
}
