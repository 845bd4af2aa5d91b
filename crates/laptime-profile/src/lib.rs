//! The sampler: reads the Python stacks of a command and all it started, from outside.
//!
//! Nothing in the command is stopped, signalled or asked: its memory is read while it runs, as a debugger
//! could, and its threads never wait for the sampler or their interpreter's lock because of it. What is read
//! while it changes is read again, and left out where it does not hold still.

mod code_object;
mod elf;
mod layout;
mod mapping;
mod memory;
mod pace;
mod process_tree;
mod python;
mod sampled_process;
mod sampler;
mod sightings;
mod task;

pub use sampler::Sampler;
