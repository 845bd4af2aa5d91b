//! The header of an NPY file: a Python dictionary of three entries, of which nothing is trusted.

/// What the header says, each entry only if it is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NpyHeader {
    /// The type of the elements.
    pub dtype: Dtype,
    /// Whether the first index changes fastest.
    pub fortran_order: bool,
    /// The size in each dimension.
    pub shape: Vec<u64>,
}

/// The type of the elements as the header names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Dtype {
    /// Named by a code such as `<f4`.
    Code(String),
    /// A record of several fields.
    #[default]
    Structured,
}

/// A dimension beyond these is none that NumPy can make.
const MAX_DIMENSIONS: usize = 64;

/// Parses the dictionary.
///
/// # Errors
/// What is wrong.
pub fn parse_header(text: &[u8]) -> Result<NpyHeader, &'static str> {
    let mut parser = Parser { rest: text };
    let (mut dtype, mut fortran_order, mut shape) = (None, None, None);
    parser.expect(b'{')?;
    while !parser.take(b'}') {
        let key = parser.string()?;
        parser.expect(b':')?;
        match key {
            b"descr" => dtype = Some(parser.dtype()?),
            b"fortran_order" => fortran_order = Some(parser.boolean()?),
            b"shape" => shape = Some(parser.shape()?),
            _ => return Err("there is an entry that is not known"),
        }
        if !parser.take(b',') && parser.peek() != Some(b'}') {
            return Err("a comma is missing");
        }
        // The entries after a structured type cannot be reached, and nobody needs them to refuse it.
        if dtype == Some(Dtype::Structured) {
            return Ok(NpyHeader::default());
        }
    }
    Ok(NpyHeader {
        dtype: dtype.ok_or("`descr` is missing")?,
        fortran_order: fortran_order.ok_or("`fortran_order` is missing")?,
        shape: shape.ok_or("`shape` is missing")?,
    })
}

/// Takes tokens off the front; spaces between them do not count.
#[derive(Debug)]
struct Parser<'a> {
    rest: &'a [u8],
}

impl<'a> Parser<'a> {
    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), &'static str> {
        if self.take(byte) { Ok(()) } else { Err("it is not a dictionary as numpy.save writes it") }
    }

    fn string(&mut self) -> Result<&'a [u8], &'static str> {
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"')).ok_or("a name is missing")?;
        let rest = &self.rest[1..];
        let end = rest.iter().position(|&byte| byte == quote).ok_or("a quote is not closed")?;
        self.rest = &rest[end + 1..];
        Ok(&rest[..end])
    }

    fn dtype(&mut self) -> Result<Dtype, &'static str> {
        if self.peek() == Some(b'[') {
            // Its comma or brace is looked for after it, so the whole list is passed over.
            self.rest = b"}";
            return Ok(Dtype::Structured);
        }
        self.string().map(|code| Dtype::Code(String::from_utf8_lossy(code).into_owned()))
    }

    fn boolean(&mut self) -> Result<bool, &'static str> {
        let found = self.peek();
        let (word, value): (&[u8], bool) =
            if found == Some(b'T') { (b"True", true) } else { (b"False", false) };
        self.rest = self.rest.strip_prefix(word).ok_or("`fortran_order` is neither True nor False")?;
        Ok(value)
    }

    fn shape(&mut self) -> Result<Vec<u64>, &'static str> {
        let mut shape = Vec::new();
        self.expect(b'(')?;
        while !self.take(b')') {
            if shape.len() == MAX_DIMENSIONS {
                return Err("there are too many dimensions");
            }
            shape.push(self.number()?);
            if !self.take(b',') && self.peek() != Some(b')') {
                return Err("the shape is not a list of numbers");
            }
        }
        Ok(shape)
    }

    fn number(&mut self) -> Result<u64, &'static str> {
        self.peek();
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = self.rest.split_at(digits);
        // Python 2 wrote long integers with an `L`.
        self.rest = rest.strip_prefix(b"L").unwrap_or(rest);
        let number = std::str::from_utf8(number).unwrap_or_default();
        number.parse().map_err(|_| "a dimension is not a number that can be")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_that_numpy_writes_is_understood() {
        let header =
            parse_header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  \n").unwrap();
        assert_eq!(header.dtype, Dtype::Code("<f4".into()));
        assert_eq!((header.fortran_order, header.shape), (false, vec![3, 4]));
    }

    #[test]
    fn order_quotes_and_python_2_integers_do_not_matter() {
        let header = parse_header(b"{\"shape\":(3L,),'fortran_order':True,'descr':'|u1'}").unwrap();
        assert_eq!((header.fortran_order, header.shape), (true, vec![3]));
        assert!(parse_header(b"{'descr':'|u1','fortran_order':True,'shape':()}").unwrap().shape.is_empty());
    }

    #[test]
    fn a_structured_type_is_recognised() {
        let text = b"{'descr': [('a', '<f4'), ('b', '<i8')], 'fortran_order': False, 'shape': (3,), }";
        assert_eq!(parse_header(text).unwrap().dtype, Dtype::Structured);
    }

    #[test]
    fn what_is_missing_or_impossible_is_said() {
        let problem = |text: &[u8]| parse_header(text).unwrap_err();
        assert_eq!(problem(b"{}"), "`descr` is missing");
        assert_eq!(problem(b"{'descr': '<f4', 'fortran_order': False}"), "`shape` is missing");
        assert_eq!(problem(b"{'shape': (-1, 2)}"), "a dimension is not a number that can be");
        assert_eq!(
            problem(b"{'shape': (99999999999999999999, 2)}"),
            "a dimension is not a number that can be"
        );
        assert_eq!(problem(b"{'shape': (1 2)}"), "the shape is not a list of numbers");
        assert_eq!(problem(b"{'descr': '<f4"), "a quote is not closed");
        assert_eq!(problem(b"{'fortran_order': Falsch}"), "`fortran_order` is neither True nor False");
        assert_eq!(problem(b""), "it is not a dictionary as numpy.save writes it");
    }
}
