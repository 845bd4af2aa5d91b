//! NPY: the header has type and shape.

use laptime_load::{Dtype, parse_header};

use super::super::problem::FileProblem;
use super::super::stored::Stored;
use super::{Contents, Measured};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Longest header that is read; NumPy itself warns beyond 10,000 bytes.
const MAX_HEADER: u64 = 1 << 20;

/// What is in an NPY file.
pub(crate) fn measure_npy(stored: &(impl Stored + ?Sized)) -> Result<Measured, FileProblem> {
    let head = stored.take(0, stored.bytes().min(12))?;
    let (length, start) = header_place(&head)?;
    if length > MAX_HEADER {
        return Err(FileProblem::Damaged("its header is longer than NumPy reads"));
    }
    let array = read_array(&stored.take(start, length)?)?;
    if array.bytes().and_then(|bytes| bytes.checked_add(start + length)) > Some(stored.bytes()) {
        return Err(FileProblem::Truncated);
    }
    array.contents().map(Measured::from)
}

/// An array as a header describes it.
#[derive(Clone, Debug)]
pub(super) struct Array {
    /// Bytes of an element; `None` for objects and records.
    element_bytes: Option<u64>,
    is_number: bool,
    shape: Vec<u64>,
}

impl Array {
    fn elements(&self) -> Option<u64> {
        self.shape.iter().try_fold(1_u64, |product, side| product.checked_mul(*side))
    }

    /// Bytes of the array; `None` where its header does not say.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.elements()?.checked_mul(self.element_bytes?)
    }

    /// The first dimension counts the rows; a single number is one row.
    pub(super) fn rows(&self) -> u64 {
        self.shape.first().copied().unwrap_or(1)
    }

    pub(super) fn contents(&self) -> Result<Contents, FileProblem> {
        if self.element_bytes.is_none() {
            return Err(FileProblem::NotUnderstood("an array of Python objects or records"));
        }
        const TOO_MUCH: FileProblem = FileProblem::Damaged("its shape is beyond any memory");
        let numbers = if self.is_number { self.elements().ok_or(TOO_MUCH)? } else { 0 };
        Ok(Contents {
            rows: self.rows(),
            decoded_bytes: self.bytes().ok_or(TOO_MUCH)?,
            decoded_exactly: true,
            numbers,
            other_columns: u64::from(!self.is_number),
            ..Contents::default()
        })
    }
}

/// Length and start of the header, by the first bytes of the file.
pub(super) fn header_place(head: &[u8]) -> Result<(u64, u64), FileProblem> {
    if !head.starts_with(MAGIC) {
        return Err(FileProblem::NotThat("NPY"));
    }
    match head.get(6..) {
        Some([1, _, low, high, ..]) => Ok((u64::from(u16::from_le_bytes([*low, *high])), 10)),
        Some([2 | 3, _, a, b, c, d]) => Ok((u64::from(u32::from_le_bytes([*a, *b, *c, *d])), 12)),
        Some([_, _, _, _, ..]) => Err(FileProblem::NotUnderstood("an NPY format of another version")),
        _ => Err(FileProblem::Truncated),
    }
}

pub(super) fn read_array(header: &[u8]) -> Result<Array, FileProblem> {
    let header = parse_header(header).map_err(FileProblem::Damaged)?;
    let code = match header.dtype {
        Dtype::Code(code) => code,
        Dtype::Structured => return Err(FileProblem::NotUnderstood("an array of records")),
    };
    Ok(Array { element_bytes: element_bytes(&code), is_number: is_number(&code), shape: header.shape })
}

/// Bytes of an element by a code such as `<f4`, `|S12` or `<U5`.
fn element_bytes(code: &str) -> Option<u64> {
    let code = code.trim_start_matches(['<', '>', '|', '=']);
    let kind = code.chars().next()?;
    let digits: String = code.chars().skip(1).take_while(char::is_ascii_digit).collect();
    let size: u64 = digits.parse().ok()?;
    match kind {
        'U' => size.checked_mul(4),
        'b' | 'i' | 'u' | 'f' | 'c' | 'S' | 'a' | 'V' | 'M' | 'm' => Some(size),
        _ => None,
    }
}

fn is_number(code: &str) -> bool {
    let kind = code.trim_start_matches(['<', '>', '|', '=']).chars().next();
    kind.is_some_and(|kind| "biufc".contains(kind))
}
