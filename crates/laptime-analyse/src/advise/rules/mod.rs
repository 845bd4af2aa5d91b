//! The rules, one file each.

mod accumulation;
mod batch;
mod callbacks;
mod checkpoint;
mod collate;
mod compile;
mod convolutions;
mod copies;
mod drift;
mod eager;
mod evaluation;
mod fewer_workers;
mod garbage_collection;
mod gradients;
mod keras_compile;
mod loading_part;
mod memory;
mod optimizer;
mod pack;
mod padding;
mod persistent;
mod precision;
mod prefetch;
#[cfg(test)]
mod scripted;
mod small_model;
mod synchronize;
mod tf_data;
mod threads;
mod transform;
mod workers;

pub(crate) use batch::fixed_cost;
pub(crate) use persistent::workers_start_s;

use super::rule::Rule;

/// All of them.
pub(super) const RULES: &[&Rule] = &[
    &workers::RULE,
    &fewer_workers::RULE,
    &prefetch::RULE,
    &persistent::RULE,
    &transform::RULE,
    &collate::RULE,
    &pack::RULE,
    &memory::RULE,
    &copies::RULE,
    &threads::RULE,
    &garbage_collection::RULE,
    &synchronize::RULE,
    &evaluation::RULE,
    &checkpoint::RULE,
    &callbacks::RULE,
    &drift::RULE,
    &padding::RULE,
    &batch::RULE,
    &accumulation::RULE,
    &precision::TF32,
    &precision::AUTOCAST,
    &convolutions::CHANNELS_LAST,
    &convolutions::BENCHMARK,
    &compile::RULE,
    &optimizer::FUSED,
    &optimizer::ZERO_GRAD,
    &gradients::RULE,
    &small_model::RULE,
    &eager::TF_FUNCTION,
    &eager::RUN_EAGERLY,
    &keras_compile::STEPS_PER_EXECUTION,
    &keras_compile::JIT,
    &tf_data::CACHE,
    &tf_data::PARALLEL_MAP,
    &tf_data::PREFETCH,
];
