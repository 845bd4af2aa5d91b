//! Checkpoints: weights and the optimizer's state as safetensors files, in PyTorch's order and layout.
//!
//! `model.safetensors` has the tensors `0`, `1`, … in the order in which PyTorch lists the parameters of the same
//! model. `optimizer.safetensors` has a tensor of the same shape for each of them and for each thing that the
//! optimizer remembers, such as `first_moment.0`, and the number of steps taken in its metadata.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::float::Float;
use super::layout::Layout;
use super::optimizer::Optimizer;
use crate::{Dtype, TrainError};

const MODEL: &str = "model.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";

/// Writes both files; one that is there already is replaced when the new one is complete.
pub(super) fn write<F: Float>(
    folder: &Path,
    layout: &Layout,
    parameters: &[F],
    optimizer: &Optimizer<F>,
) -> Result<(), TrainError> {
    let failed =
        |error: io::Error| TrainError::Checkpoint { folder: folder.to_owned(), reason: error.to_string() };
    fs::create_dir_all(folder).map_err(failed)?;
    let numbered = (0..).map(|at: usize| at.to_string());
    let weights = numbered.zip(layout.dims().zip(layout.tensors(parameters)));
    replace(&folder.join(MODEL), &encode(weights, Map::new())).map_err(failed)?;
    let moments = optimizer.moments().flat_map(|(name, moment)| {
        let numbered = (0..).map(move |at: usize| format!("{name}.{at}"));
        numbered.zip(layout.dims().zip(layout.tensors(moment)))
    });
    let steps = Map::from_iter([("steps".to_owned(), json!(optimizer.steps().to_string()))]);
    replace(&folder.join(OPTIMIZER), &encode(moments, steps)).map_err(failed)
}

/// What a checkpoint holds: parameters in a layout, steps taken, and the optimizer's moments.
type State<F> = (Vec<F>, u64, Vec<Vec<F>>);

/// Reads what was written for the same model and optimizer.
pub(super) fn read<F: Float>(
    folder: &Path,
    layout: &Layout,
    optimizer: &Optimizer<F>,
) -> Result<State<F>, TrainError> {
    let unreadable = |name: &str, reason: &str| TrainError::CheckpointUnreadable {
        path: folder.join(name),
        reason: reason.to_owned(),
    };
    let open = |name: &str| {
        let bytes = fs::read(folder.join(name)).map_err(|error| unreadable(name, &error.to_string()))?;
        Tensors::decode(bytes).ok_or_else(|| unreadable(name, "it is no safetensors file"))
    };
    let flat = |file: &Tensors, name: &str, tensor: &dyn Fn(usize) -> String| {
        let tensors: Option<Vec<_>> = layout
            .dims()
            .enumerate()
            .map(|(at, dims)| Some((dims, file.numbers::<F>(&tensor(at), dims)?)))
            .collect();
        let misfit = || unreadable(name, "its tensors are not those of this model and optimizer");
        tensors.and_then(|tensors| layout.flatten(&tensors)).ok_or_else(misfit)
    };
    let (weights, state) = (open(MODEL)?, open(OPTIMIZER)?);
    let parameters = flat(&weights, MODEL, &|at| at.to_string())?;
    let moments = optimizer.moments().map(|(name, _)| flat(&state, OPTIMIZER, &|at| format!("{name}.{at}")));
    let steps = state.header["__metadata__"]["steps"].as_str().and_then(|steps| steps.parse().ok());
    let steps = steps.ok_or_else(|| unreadable(OPTIMIZER, "it does not give the number of steps"))?;
    Ok((parameters, steps, moments.collect::<Result<_, _>>()?))
}

/// A safetensors file that was read.
struct Tensors {
    header: Value,
    bytes: Vec<u8>,
    /// Where the numbers begin.
    start: usize,
}

impl Tensors {
    fn decode(bytes: Vec<u8>) -> Option<Self> {
        let length = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
        let start = usize::try_from(length).ok()?.checked_add(8)?;
        let header = serde_json::from_slice(bytes.get(8..start)?).ok()?;
        Some(Self { header, bytes, start })
    }

    /// The numbers of a tensor, if it is there with this shape and type.
    fn numbers<F: Float>(&self, name: &str, dims: &[usize]) -> Option<Vec<F>> {
        let place = &self.header[name];
        if place["shape"] != json!(dims) || place["dtype"] != kept_as::<F>() {
            return None;
        }
        let offset =
            |at: usize| self.start.checked_add(usize::try_from(place["data_offsets"][at].as_u64()?).ok()?);
        let bytes = self.bytes.get(offset(0)?..offset(1)?)?;
        Some(bytes.chunks_exact(F::BYTES).map(F::read).collect())
    }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let partial = path.with_extension("partial");
    let mut file = fs::File::create(&partial)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&partial, path)
}

/// A safetensors file: the length of a header, the header in JSON, the numbers.
fn encode<'a, F: Float>(
    tensors: impl Iterator<Item = (String, (&'a [usize], Vec<F>))>,
    metadata: Map<String, Value>,
) -> Vec<u8> {
    let (mut header, mut data) = (Map::new(), Vec::new());
    if !metadata.is_empty() {
        header.insert("__metadata__".to_owned(), Value::Object(metadata));
    }
    for (name, (dims, values)) in tensors {
        let start = data.len();
        values.into_iter().for_each(|value| value.write(&mut data));
        let place = json!({ "dtype": kept_as::<F>(), "shape": dims, "data_offsets": [start, data.len()] });
        header.insert(name, place);
    }
    let mut text = Value::Object(header).to_string();
    // Numbers begin at a multiple of eight bytes.
    while !text.len().is_multiple_of(8) {
        text.push(' ');
    }
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.into_bytes());
    bytes.extend(data);
    bytes
}

/// The name of the type in the format; weights are kept in the 32 bits they have beside 16-bit passes.
fn kept_as<F: Float>() -> &'static str {
    if F::DTYPE == Dtype::F64 { "F64" } else { "F32" }
}
