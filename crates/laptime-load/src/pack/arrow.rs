//! The messages of an Arrow IPC file, so that pandas, polars and pyarrow open a part as it is.
//!
//! The numbers are those of Arrow's `Schema.fbs`, `Message.fbs` and `File.fbs`.

use super::element::Element;
use super::flatbuffer::{Part, Value, encode};
use super::schema::{Column, ColumnKind, PackSchema};

/// How a file begins.
pub(super) const OPENING: &[u8; 8] = b"ARROW1\0\0";

/// How a file ends.
const CLOSING: &[u8; 6] = b"ARROW1";

/// What precedes the length of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Arrow recommends it for every buffer, and vector instructions like it.
pub(super) const ALIGNMENT: u64 = 64;

/// Version 5 of the metadata.
const VERSION: i16 = 4;

/// Where the messages of a record batch lie, for the footer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) offset: u64,
    pub(super) head_bytes: u64,
    pub(super) body_bytes: u64,
}

/// Rows of a record batch and its buffers: of each, the offset in the body and the bytes without padding.
pub(super) struct BatchShape<'a> {
    pub(super) rows: u64,
    pub(super) buffers: &'a [(u64, u64)],
    pub(super) body_bytes: u64,
}

fn table(fields: Vec<(u16, Value)>) -> Value {
    Value::Apart(Part::Table(fields))
}

fn text(text: &str) -> Value {
    Value::Apart(Part::Text(text.to_owned()))
}

/// The number of a type in Arrow's union, and its table.
fn element_type(element: Element) -> (u8, Vec<(u16, Value)>) {
    let bits = (element.bytes() * 8) as i32;
    let integer = |signed| (2, vec![(0, Value::Int(bits)), (1, Value::Byte(signed))]);
    match element {
        Element::U8 | Element::U16 | Element::U32 | Element::U64 => integer(0),
        Element::Bool | Element::I8 | Element::I16 | Element::I32 | Element::I64 => integer(1),
        Element::F16 => (3, vec![(0, Value::Short(0))]),
        Element::F32 => (3, vec![(0, Value::Short(1))]),
        Element::F64 => (3, vec![(0, Value::Short(2))]),
    }
}

fn key_value(key: &str, value: &str) -> Part {
    Part::Table(vec![(0, text(key)), (1, text(value))])
}

struct Field {
    kind: u8,
    details: Vec<(u16, Value)>,
    children: Vec<Part>,
    metadata: Vec<Part>,
}

impl Field {
    fn of_element(element: Element) -> Self {
        let (kind, details) = element_type(element);
        let metadata = match element {
            Element::Bool => {
                vec![
                    key_value("ARROW:extension:name", "arrow.bool8"),
                    key_value("ARROW:extension:metadata", ""),
                ]
            }
            _ => Vec::new(),
        };
        Self { kind, details, children: Vec::new(), metadata }
    }

    fn of_list(kind: u8, details: Vec<(u16, Value)>, element: Element) -> Self {
        let item = Self::of_element(element).named("item");
        Self { kind, details, children: vec![item], metadata: Vec::new() }
    }

    fn of_column(column: &Column) -> Self {
        let mut field = match &column.kind {
            ColumnKind::Fixed { element, shape } if shape.is_empty() => Self::of_element(*element),
            ColumnKind::Fixed { element, .. } => {
                let elements = column.kind.elements().unwrap_or(0) as i32;
                Self::of_list(16, vec![(0, Value::Int(elements))], *element)
            }
            ColumnKind::Bytes => {
                Self { kind: 19, details: Vec::new(), children: Vec::new(), metadata: Vec::new() }
            }
            ColumnKind::Ragged { element } => Self::of_list(21, Vec::new(), *element),
        };
        if let ColumnKind::Fixed { shape, .. } = &column.kind
            && !shape.is_empty()
        {
            field.metadata.push(key_value("shape", &serde_json::json!(shape).to_string()));
        }
        if !column.feature_names.is_empty() {
            let names = serde_json::json!(column.feature_names).to_string();
            field.metadata.push(key_value("feature_names", &names));
        }
        field
    }

    fn named(self, name: &str) -> Part {
        Part::Table(vec![
            (0, text(name)),
            (1, Value::Byte(0)),
            (2, Value::Byte(self.kind)),
            (3, table(self.details)),
            (5, Value::Apart(Part::Parts(self.children))),
            (6, Value::Apart(Part::Parts(self.metadata))),
        ])
    }
}

fn schema_fields(schema: &PackSchema) -> Vec<(u16, Value)> {
    let fields = schema.columns.iter().map(|column| Field::of_column(column).named(&column.name)).collect();
    vec![(0, Value::Short(0)), (1, Value::Apart(Part::Parts(fields)))]
}

/// A message padded so that its body, at this offset of the file, is aligned.
fn framed(message: Vec<u8>, at: u64) -> Vec<u8> {
    let end = (at + 8 + message.len() as u64).next_multiple_of(ALIGNMENT);
    let length = (end - at - 8) as u32;
    let mut framed = CONTINUATION.to_vec();
    framed.extend(length.to_le_bytes());
    framed.extend(message);
    framed.resize((end - at) as usize, 0);
    framed
}

fn message(kind: u8, header: Vec<(u16, Value)>, body_bytes: u64) -> Vec<u8> {
    encode(vec![
        (0, Value::Short(VERSION)),
        (1, Value::Byte(kind)),
        (2, table(header)),
        (3, Value::Long(body_bytes as i64)),
    ])
}

/// How a file begins: its magic and its schema.
pub(super) fn opening(schema: &PackSchema) -> Vec<u8> {
    let mut bytes = OPENING.to_vec();
    bytes.extend(framed(message(1, schema_fields(schema), 0), OPENING.len() as u64));
    bytes
}

/// What precedes the buffers of a record batch that begins at this offset.
pub(super) fn batch_head(schema: &PackSchema, shape: &BatchShape<'_>, at: u64) -> Vec<u8> {
    let (mut nodes, mut buffers) = (Vec::new(), Vec::new());
    let mut stored = shape.buffers.iter();
    let mut next = || stored.next().map_or((0, 0), |(offset, bytes)| (*offset as i64, *bytes as i64));
    for column in &schema.columns {
        let element = column.kind.element().bytes() as i64;
        // No column has missing values, so the first buffer of every node, its validity, is empty.
        nodes.extend([shape.rows as i64, 0]);
        match &column.kind {
            ColumnKind::Fixed { shape, .. } => {
                let (offset, bytes) = next();
                if !shape.is_empty() {
                    nodes.extend([bytes / element, 0]);
                    buffers.extend([offset, 0]);
                }
                buffers.extend([offset, 0, offset, bytes]);
            }
            ColumnKind::Bytes => {
                let (ends, values) = (next(), next());
                buffers.extend([ends.0, 0, ends.0, ends.1, values.0, values.1]);
            }
            ColumnKind::Ragged { .. } => {
                let (ends, values) = (next(), next());
                nodes.extend([values.1 / element, 0]);
                buffers.extend([ends.0, 0, ends.0, ends.1, values.0, 0, values.0, values.1]);
            }
        }
    }
    let header = vec![
        (0, Value::Long(shape.rows as i64)),
        (1, Value::Apart(Part::Structs { words: 2, numbers: nodes })),
        (2, Value::Apart(Part::Structs { words: 2, numbers: buffers })),
    ];
    framed(message(3, header, shape.body_bytes), at)
}

/// How a file ends: the end of the stream, the footer and its length.
pub(super) fn closing(schema: &PackSchema, blocks: &[Block]) -> Vec<u8> {
    let numbers = blocks
        .iter()
        .flat_map(|block| [block.offset as i64, block.head_bytes as i64, block.body_bytes as i64])
        .collect();
    let footer = encode(vec![
        (0, Value::Short(VERSION)),
        (1, table(schema_fields(schema))),
        (2, Value::Apart(Part::Structs { words: 3, numbers: Vec::new() })),
        (3, Value::Apart(Part::Structs { words: 3, numbers })),
    ]);
    let mut bytes = CONTINUATION.to_vec();
    bytes.extend([0; 4]);
    bytes.extend(&footer);
    bytes.extend((footer.len() as u32).to_le_bytes());
    bytes.extend(CLOSING);
    bytes
}
