//! `laptime.Loader`: the batches of a pack, handed to Python without a copy and without a Python frame.

mod array;
mod batches;
mod dlpack;
mod engine;
mod fault;
mod image;
mod options;
mod output;
mod pack_loader;
mod recording;

pub(crate) use array::LoadedArray;
pub(crate) use batches::PackBatches;
pub(crate) use fault::DamagedPackError;
pub(crate) use pack_loader::PackLoader;
