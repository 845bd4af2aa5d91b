//! The engine `cpu`: the reference models on kernels of our own, with no framework in between.
//!
//! A batch is divided into shards whose number depends only on the model and the batch. Each has a network with
//! buffers of its own, and their gradients are summed in order: so any number of threads gives the same bits.

mod assembly;
mod attention;
mod buffer;
mod checkpoint;
mod clip;
mod cnn;
mod convolution;
mod criterion;
mod cross_entropy;
mod dense;
mod dropout;
mod errors;
mod exp;
mod feed_forward;
mod few_outputs;
#[cfg(test)]
mod finite_differences;
mod float;
mod gru;
mod isa;
mod lanes;
mod layout;
mod lstm;
mod mlp;
mod model;
mod network;
mod norm;
mod optimizer;
mod peak;
mod product;
mod projection;
mod recurrence;
mod recurrent;
mod rnn;
mod shard;
mod sums;
mod transformer;

use self::float::Bf16;
use self::isa::Isa;
use self::model::CpuModel;
use self::peak::peak_flops_per_s;
use crate::threads::use_threads;
use crate::{Dtype, Engine, Model, ModelSpec, Recipe, TrainError, Weights};

/// Kernels of our own for the CPU, with a number of threads that is fixed for the calling thread.
#[derive(Clone, Copy, Debug)]
pub struct CpuEngine {
    threads: u32,
    isa: Isa,
}

impl CpuEngine {
    /// An engine for this thread; everything it computes from here on uses `threads` threads.
    pub fn new(threads: u32) -> Result<Self, TrainError> {
        use_threads(threads)?;
        Ok(Self { threads, isa: Isa::best() })
    }
}

impl Engine for CpuEngine {
    fn name(&self) -> String {
        format!("laptime cpu {}", self.isa)
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn peak_flops_per_s(&self, dtype: Dtype) -> Option<f64> {
        let one = match dtype {
            Dtype::F64 => peak_flops_per_s::<f64>(self.isa),
            // Numbers of 16 bits are computed with in 32.
            Dtype::F32 | Dtype::Bf16 => peak_flops_per_s::<f32>(self.isa),
        };
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Some(one * cpus.min(self.threads as usize) as f64)
    }

    fn model(
        &self,
        spec: &ModelSpec,
        start: &Weights,
        recipe: &Recipe,
    ) -> Result<Box<dyn Model>, TrainError> {
        Ok(match recipe.dtype {
            Dtype::F32 => Box::new(CpuModel::<f32>::new(spec, start, recipe, self.isa, self.threads)?),
            Dtype::F64 => Box::new(CpuModel::<f64>::new(spec, start, recipe, self.isa, self.threads)?),
            Dtype::Bf16 => Box::new(CpuModel::<Bf16>::new(spec, start, recipe, self.isa, self.threads)?),
        })
    }
}
