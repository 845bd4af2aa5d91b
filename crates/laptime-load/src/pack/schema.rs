//! The columns of a pack.

use super::element::Element;
use super::error::PackError;

/// What each sample has in a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// The same number of elements in every sample; a scalar has an empty shape.
    Fixed {
        /// The type of one number.
        element: Element,
        /// The shape of one sample.
        shape: Vec<usize>,
    },
    /// Bytes of varying length: an encoded image, a text.
    Bytes,
    /// A sequence of varying length.
    Ragged {
        /// The type of one number.
        element: Element,
    },
}

/// A column of a pack. There are no missing values: what may be missing needs a value of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, unlike that of any other column.
    pub name: String,
    /// What each sample has in it.
    pub kind: ColumnKind,
    /// Names of the features in order, or none at all; of a scalar, the names of its classes 0, 1, 2 and so on.
    pub feature_names: Vec<String>,
}

/// The columns of a pack; by convention a last column named `y` or `label` is the target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackSchema {
    /// The columns in order.
    pub columns: Vec<Column>,
}

impl ColumnKind {
    /// Elements of one sample, where every sample has as many; `None` for an impossible shape too.
    pub fn elements(&self) -> Option<usize> {
        match self {
            Self::Fixed { shape, .. } => shape.iter().try_fold(1_usize, |all, side| all.checked_mul(*side)),
            Self::Bytes | Self::Ragged { .. } => None,
        }
    }

    /// Bytes of one sample, where every sample has as many.
    pub fn row_bytes(&self) -> Option<usize> {
        self.elements()?.checked_mul(self.element().bytes())
    }

    /// The type of one number; of encoded bytes, a byte.
    pub const fn element(&self) -> Element {
        match self {
            Self::Fixed { element, .. } | Self::Ragged { element } => *element,
            Self::Bytes => Element::U8,
        }
    }
}

impl Column {
    /// A column without feature names.
    pub fn new(name: impl Into<String>, kind: ColumnKind) -> Self {
        Self { name: name.into(), kind, feature_names: Vec::new() }
    }

    fn problem(&self) -> Option<&'static str> {
        let (names, elements) = (self.feature_names.len(), self.kind.elements());
        match self.kind {
            _ if self.name.is_empty() => Some("its name is empty"),
            ColumnKind::Fixed { .. } if elements == Some(0) => Some("its shape has no elements"),
            // Arrow counts the elements of a fixed list in 32 bits.
            ColumnKind::Fixed { .. } if elements.is_none_or(|all| i32::try_from(all).is_err()) => {
                Some("a sample has more than 2^31 elements")
            }
            ColumnKind::Fixed { ref shape, .. }
                if !shape.is_empty() && names > 0 && Some(names) != elements =>
            {
                Some("it has another number of feature names than of features")
            }
            ColumnKind::Bytes | ColumnKind::Ragged { .. } if names > 0 => {
                Some("only columns of a fixed shape have feature names")
            }
            _ => None,
        }
    }
}

impl PackSchema {
    /// Whether a pack can have these columns.
    pub(super) fn check(&self) -> Result<(), PackError> {
        if self.columns.is_empty() {
            return Err(PackError::BadSchema { column: String::new(), problem: "there are no columns" });
        }
        for (place, column) in self.columns.iter().enumerate() {
            let twice = self.columns[..place].iter().any(|other| other.name == column.name);
            let problem = if twice { Some("two columns have this name") } else { column.problem() };
            if let Some(problem) = problem {
                return Err(PackError::BadSchema { column: column.name.clone(), problem });
            }
        }
        Ok(())
    }

    /// Bytes of one sample, where every column has a fixed shape.
    pub fn row_bytes(&self) -> Option<usize> {
        self.columns.iter().try_fold(0_usize, |sum, column| sum.checked_add(column.kind.row_bytes()?))
    }
}
