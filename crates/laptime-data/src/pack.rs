//! Sources of packs: files, folders and Python datasets as blocks of rows, read in parallel and written in order.

mod conduct;
mod csv;
mod decimal;
mod error;
mod images;
mod npy;
mod npz;
mod opening;
mod python;
mod source;
mod tar;
mod watch;
mod zip;

pub use conduct::write_pack;
pub use csv::{TableOptions, TargetType};
pub use error::SourceError;
pub use opening::{OpenOptions, Opened, open_source};
pub use python::PythonCommand;
pub use source::{BlockReader, PackSource};
pub use watch::PackWatch;
