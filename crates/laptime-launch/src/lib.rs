//! Starting and watching a command: what `laptime run` and `laptime sweep` share.
//!
//! A command runs in the [`Foreground`], with laptime's own streams, or [`Apart`], in a session of its own. A
//! [`Supervisor`] keeps a log of what it and everything it starts use. [`Settings`] are the same for the
//! command and the Python package.

mod apart;
mod bystander;
mod child;
mod child_usage;
mod cpu_waits;
mod descriptors;
mod dialogue;
mod ending;
mod environment;
mod foreground;
mod heat;
mod hooks;
mod job;
mod local_time;
mod machine;
mod other_ranks;
mod priority;
mod processes;
pub mod program;
mod pythons;
#[cfg(test)]
mod scripted_system;
mod session;
mod settings;
mod signals;
mod supervisor;
mod timer;
mod tree;
mod watcher;

pub use apart::{Apart, Watched};
pub use child::{Ended, replace_this_process};
pub use child_usage::ChildUsage;
pub use dialogue::{Dialogue, Heard};
pub use ending::end_like;
pub use foreground::{Foreground, Ran};
pub use hooks::Attach;
pub use job::Job;
pub use local_time::{clock_time, next_at, now_s};
pub use machine::{Machine, RealMachine, own_cpu_s};
pub use other_ranks::wait_for_their_end;
pub use priority::give_way;
pub use settings::{Given, Settings, data_folder, is_inside_a_run, runs_folder, switched};
pub use signals::{Blocked, keep_broken_pipes_silent, name as signal_name};
pub use supervisor::Supervisor;
pub use watcher::Watcher;
