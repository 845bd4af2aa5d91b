//! The rules, one file each.

mod checkpoint;
mod compile;
mod convolutions;
mod copies;
mod eager;
mod evaluation;
mod keras_compile;
#[cfg(test)]
mod made;
mod optimizer;
mod precision;
mod small_model;
mod synchronize;
mod tf_data;

use super::rule::Rule;

/// All of them.
pub(super) const RULES: &[&Rule] = &[
    &evaluation::RULE,
    &checkpoint::RULE,
    &synchronize::RULE,
    &copies::RULE,
    &precision::TF32,
    &precision::AUTOCAST,
    &convolutions::CHANNELS_LAST,
    &convolutions::BENCHMARK,
    &compile::RULE,
    &optimizer::FUSED,
    &optimizer::ZERO_GRAD,
    &small_model::RULE,
    &eager::TF_FUNCTION,
    &eager::RUN_EAGERLY,
    &keras_compile::STEPS_PER_EXECUTION,
    &keras_compile::JIT_COMPILE,
    &tf_data::CACHE,
    &tf_data::PARALLEL_MAP,
    &tf_data::PREFETCH,
];
