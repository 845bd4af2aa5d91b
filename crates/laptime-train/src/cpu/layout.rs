//! Where each weight tensor lies among the parameters of a network, which are one flat slice.

use std::ops::Range;

use super::float::Float;
use crate::WeightShape;

/// Tensors begin at a multiple of so many numbers, so that a vector of them lies within one cache line. What is
/// left between them is zero, and so are its gradients.
const ALIGNED: usize = 16;

/// Where every tensor lies, in forward order, and how it is turned from PyTorch's layout.
pub(super) struct Layout {
    shapes: std::vec::IntoIter<WeightShape>,
    places: Vec<Place>,
    end: usize,
}

/// Where one tensor lies.
struct Place {
    /// Sizes in PyTorch's layout.
    dims: Vec<usize>,
    range: Range<usize>,
    /// The place in PyTorch's tensor of a number at a place of ours.
    source: Box<dyn Fn(usize) -> usize>,
}

impl Layout {
    /// A layout to be filled with tensors of these shapes, in order.
    pub(super) fn new(shapes: Vec<WeightShape>) -> Self {
        Self { shapes: shapes.into_iter(), places: Vec::new(), end: 0 }
    }

    /// Gives the next tensor its place, as it is.
    pub(super) fn next(&mut self) -> Range<usize> {
        self.next_ordered(|at| at)
    }

    /// Gives the next matrix its place as `[inputs, outputs]`, where PyTorch keeps `[outputs, inputs]`.
    pub(super) fn next_turned(&mut self) -> Range<usize> {
        let dims = self.shapes.as_slice().first().map_or_else(Vec::new, |shape| shape.dims.clone());
        let (outputs, inputs) = (dims.first().copied().unwrap_or(1), dims.get(1).copied().unwrap_or(1));
        self.next_ordered(move |at| at % outputs * inputs + at / outputs)
    }

    /// Gives the next tensor its place in an order of its own, given by the place in PyTorch's tensor of each
    /// number here.
    pub(super) fn next_ordered(&mut self, source: impl Fn(usize) -> usize + 'static) -> Range<usize> {
        // A network asks for as many tensors as its spec has shapes; were it one more, it would be empty.
        let Some(shape) = self.shapes.next() else { return self.end..self.end };
        let start = self.end.next_multiple_of(ALIGNED);
        let range = start..start + shape.count();
        self.end = range.end;
        self.places.push(Place { dims: shape.dims, range: range.clone(), source: Box::new(source) });
        range
    }

    /// Numbers in all tensors together, and what lies between them.
    pub(super) fn count(&self) -> usize {
        self.end
    }

    /// Sizes of each tensor in PyTorch's layout.
    pub(super) fn dims(&self) -> impl Iterator<Item = &[usize]> {
        self.places.iter().map(|place| place.dims.as_slice())
    }

    /// All weights as one flat slice, unless they are another model's.
    pub(super) fn flatten<F: Float>(&self, tensors: &[(&[usize], Vec<F>)]) -> Option<Vec<F>> {
        let fits = |((dims, values), place): (&(&[usize], Vec<F>), &Place)| {
            *dims == place.dims && values.len() == place.range.len()
        };
        if tensors.len() != self.places.len() || !tensors.iter().zip(&self.places).all(fits) {
            return None;
        }
        let mut flat = Vec::with_capacity(self.end);
        for ((_, values), place) in tensors.iter().zip(&self.places) {
            flat.resize(place.range.start, F::ZERO);
            flat.extend((0..place.range.len()).map(|at| values[(place.source)(at)]));
        }
        Some(flat)
    }

    /// The numbers of each tensor in PyTorch's layout, from a flat slice.
    pub(super) fn tensors<F: Float>(&self, flat: &[F]) -> impl Iterator<Item = Vec<F>> {
        self.places.iter().map(|place| {
            let mut values = vec![F::ZERO; place.range.len()];
            for (at, value) in flat[place.range.clone()].iter().enumerate() {
                values[(place.source)(at)] = *value;
            }
            values
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Start;

    #[test]
    fn turned_tensors_come_back_as_they_were_and_begin_at_cache_lines() {
        let shape = |dims: &[usize]| WeightShape { dims: dims.to_vec(), start: Start::Zero };
        let mut layout = Layout::new(vec![shape(&[2, 3]), shape(&[2])]);
        assert_eq!((layout.next_turned(), layout.next()), (0..6, 16..18));
        let tensors = [(&[2, 3][..], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), (&[2][..], vec![7.0, 8.0])];
        let flat = layout.flatten(&tensors).unwrap();
        assert_eq!(flat[..6], [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(flat[16..], [7.0, 8.0]);
        let back: Vec<Vec<f64>> = layout.tensors(&flat).collect();
        assert_eq!(back, tensors.clone().map(|(_, values)| values));
        assert!(layout.flatten(&tensors[..1]).is_none());
    }
}
