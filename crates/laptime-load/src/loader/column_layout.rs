//! What the arrays of a batch are.

use super::error::LoaderError;
use super::gather::{FixedColumn, Position};
use super::options::LoaderOptions;
use super::sequence::{SequenceColumn, element_bytes};
use crate::image::{ImageError, ImageTransform, Layout, Output, image_size};
use crate::pack::{Column, ColumnKind, Element, Pack};

/// What an array of a batch is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnLayout {
    /// The column's name; the lengths of the sequences of `NAME` are `NAME_lengths`.
    pub name: String,
    /// The type of one number.
    pub element: Element,
    /// The shape of one sample; `None` where it is that of the longest sample of the batch.
    pub shape: Vec<Option<usize>>,
    /// Names of the features in order, or none at all.
    pub feature_names: Vec<String>,
}

/// How a column becomes one or two arrays.
#[derive(Debug)]
pub(super) struct ColumnPlan {
    pub(super) name: String,
    pub(super) way: Way,
    pub(super) element: Element,
    /// The shape of one sample; empty for sequences.
    pub(super) shape: Vec<usize>,
}

#[derive(Debug)]
pub(super) enum Way {
    /// Rows as they are.
    Rows(FixedColumn),
    /// Encoded images.
    Encoded { column: SequenceColumn, transform: ImageTransform },
    /// Decoded images of this height and width.
    Decoded { column: FixedColumn, image: (usize, usize), transform: ImageTransform },
    /// Sequences, filled up to the longest, and their lengths.
    Padded { column: SequenceColumn, pad: Vec<u8> },
}

/// The columns that the options ask for.
pub(super) fn plans(pack: &Pack, options: &LoaderOptions) -> Result<Vec<ColumnPlan>, LoaderError> {
    if let Some(transform) = &options.image {
        transform.check().map_err(|error| LoaderError::options(error.to_string()))?;
    }
    let columns = &pack.schema().columns;
    let numbers: Vec<usize> = match &options.columns {
        None => (0..columns.len()).collect(),
        Some(names) => {
            let find = |name: &String| {
                let known =
                    || columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
                let found = columns.iter().position(|column| column.name == *name);
                found.ok_or_else(|| {
                    LoaderError::options(format!("no column `{name}` in the pack; it has: {}", known()))
                })
            };
            names.iter().map(find).collect::<Result<_, _>>()?
        }
    };
    if numbers.is_empty() {
        return Err(LoaderError::options("no columns to load"));
    }
    let encoded_images = encoded_images(pack, &numbers, options)?;
    let plans: Vec<_> = numbers
        .into_iter()
        .map(|number| {
            let column = &columns[number];
            let way = Way::of(pack, number, column, options, encoded_images.contains(&number));
            let (element, shape) = way.layout(&column.kind);
            ColumnPlan { name: column.name.clone(), way, element, shape }
        })
        .collect();
    let images = |plan: &ColumnPlan| matches!(plan.way, Way::Encoded { .. } | Way::Decoded { .. });
    if options.image.is_some() && !plans.iter().any(images) {
        return Err(LoaderError::options("an image transform, but no column has images"));
    }
    Ok(plans)
}

fn is_decoded_image(kind: &ColumnKind) -> bool {
    matches!(kind, ColumnKind::Fixed { element: Element::U8, shape } if matches!(shape[..], [_, _, 3]))
}

/// The columns of bytes that a transform decodes. Texts may lie beside images: where there is a choice, the first
/// sample of each column says what it is.
fn encoded_images(
    pack: &Pack,
    numbers: &[usize],
    options: &LoaderOptions,
) -> Result<Vec<usize>, LoaderError> {
    let kind = |number: &usize| &pack.schema().columns[*number].kind;
    let bytes: Vec<usize> =
        numbers.iter().copied().filter(|number| *kind(number) == ColumnKind::Bytes).collect();
    let others = numbers.iter().any(|number| is_decoded_image(kind(number)));
    if options.image.is_none() || bytes.is_empty() || (bytes.len() == 1 && !others) {
        return Ok(bytes);
    }
    if options.verify {
        pack.ensure_checked(0)?;
    }
    let mut images = Vec::new();
    for number in &bytes {
        if begins_with_an_image(pack, *number)? {
            images.push(*number);
        }
    }
    // Without any image all of them are tried, which says what is wrong with them.
    Ok(if images.is_empty() && !others { bytes } else { images })
}

fn begins_with_an_image(pack: &Pack, number: usize) -> Result<bool, LoaderError> {
    let column = SequenceColumn { column: number, element: Element::U8 };
    let first = column.find(pack, Position { batch: 0, row: 0 })?;
    let mut buffer = Vec::new();
    let encoded = column.bytes(pack, first, &mut buffer)?;
    Ok(!matches!(image_size(encoded), Err(ImageError::UnknownFormat)))
}

impl Way {
    fn of(
        pack: &Pack,
        number: usize,
        column: &Column,
        options: &LoaderOptions,
        is_encoded_image: bool,
    ) -> Self {
        let fixed = || FixedColumn::new(pack, number, column.kind.row_bytes().unwrap_or(0));
        let sequence = |element| SequenceColumn { column: number, element };
        match (&column.kind, options.image) {
            (ColumnKind::Fixed { shape, .. }, Some(transform)) if is_decoded_image(&column.kind) => {
                Self::Decoded { column: fixed(), image: (shape[0], shape[1]), transform }
            }
            (ColumnKind::Fixed { .. }, _) => Self::Rows(fixed()),
            (ColumnKind::Bytes, Some(transform)) if is_encoded_image => {
                Self::Encoded { column: sequence(Element::U8), transform }
            }
            (ColumnKind::Bytes, _) => Self::Padded { column: sequence(Element::U8), pad: vec![0] },
            (ColumnKind::Ragged { element }, _) => {
                Self::Padded { column: sequence(*element), pad: element_bytes(*element, options.pad) }
            }
        }
    }

    /// Nanoseconds that a sample takes about, and the bytes it has; of sequences nothing is known beforehand.
    pub(super) fn cost(&self) -> (Option<u64>, u64) {
        /// A copy out of memory: a cache miss that is partly hidden, and 10 bytes a nanosecond.
        const fn copied(bytes: u64) -> u64 {
            12 + bytes / 10
        }
        match self {
            Self::Rows(column) => {
                let bytes = column.row_bytes as u64;
                (Some(copied(bytes)), bytes)
            }
            Self::Encoded { transform, .. } | Self::Decoded { transform, .. } => {
                (None, transform.output_len() as u64)
            }
            Self::Padded { .. } => (None, 0),
        }
    }

    /// The element and the shape of a sample.
    fn layout(&self, kind: &ColumnKind) -> (Element, Vec<usize>) {
        match (self, kind) {
            (Self::Encoded { transform, .. } | Self::Decoded { transform, .. }, _) => image_layout(transform),
            (Self::Rows(_), ColumnKind::Fixed { shape, .. }) => (kind.element(), shape.clone()),
            _ => (kind.element(), Vec::new()),
        }
    }
}

fn image_layout(transform: &ImageTransform) -> (Element, Vec<usize>) {
    let (height, width) = transform.size;
    let shape = match transform.layout {
        Layout::Chw => vec![3, height, width],
        Layout::Hwc => vec![height, width, 3],
    };
    match transform.output {
        Output::F32 => (Element::F32, shape),
        Output::U8 => (Element::U8, shape),
    }
}

/// The arrays that a batch of these columns has.
pub(super) fn layouts(plans: &[ColumnPlan], pack: &Pack) -> Vec<ColumnLayout> {
    let mut layouts = Vec::new();
    for plan in plans {
        let column = pack.schema().columns.iter().find(|column| column.name == plan.name);
        let feature_names = column.map_or_else(Vec::new, |column| column.feature_names.clone());
        let padded = matches!(plan.way, Way::Padded { .. });
        let shape = if padded { vec![None] } else { plan.shape.iter().copied().map(Some).collect() };
        layouts.push(ColumnLayout { name: plan.name.clone(), element: plan.element, shape, feature_names });
        if padded {
            layouts.push(ColumnLayout {
                name: format!("{}_lengths", plan.name),
                element: Element::I64,
                shape: Vec::new(),
                feature_names: Vec::new(),
            });
        }
    }
    layouts
}
