//! Files of records one after the other, each behind a header that has its length: TFRecord and tar.
//!
//! Where that is cheap the headers are walked from the first to the last, which counts exactly. Else stretches are
//! walked that begin at random places, where the first header is recognised by its checksum.

mod headers;
mod sampled;
mod tar;
mod tfrecord;
mod walk;

use super::columnar::{Contents, Measured};
use super::effort::Effort;
use super::format::Format;
use super::problem::FileProblem;
use super::stored::Stored;
use super::watch::Watch;

use headers::Headers;
use tar::Tar;
use tfrecord::TfRecord;
use walk::{Walked, walk};

/// A record or a part of one, as its header describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Member {
    /// Where the next header is.
    next: u64,
    /// Bytes of the data.
    data_bytes: u64,
    /// What it has in common with other parts of its sample; `None` for what is no part of a sample.
    sample: Option<u64>,
}

/// How records are laid out.
trait Framing: Default {
    /// What the format is called.
    const NAME: &'static str;

    /// Where a header can begin: at multiples of this.
    const ALIGNMENT: u64;

    /// Bytes of a header that are recognised.
    const HEADER_BYTES: usize;

    /// Whether this looks like a header, by its checksum; `left` is what the file has behind it.
    fn is_header(header: &[u8], left: u64) -> bool;

    /// Reads the header at a place; `None` where the archive says that it ends.
    fn member(&mut self, headers: &mut Headers<'_>, at: u64) -> Result<Option<Member>, FileProblem>;
}

/// What is in a file of records.
pub(super) fn measure_records(
    stored: &dyn Stored,
    format: Format,
    effort: Effort,
    watch: &Watch,
) -> Result<Measured, FileProblem> {
    match format {
        Format::TfRecord => measure::<TfRecord>(stored, effort, watch),
        _ => measure::<Tar>(stored, effort, watch),
    }
}

fn measure<F: Framing>(stored: &dyn Stored, effort: Effort, watch: &Watch) -> Result<Measured, FileProblem> {
    let walked = walk::<F>(stored, effort, watch)?;
    match walked {
        Walked::All(tally, missing) => {
            Ok(Measured { contents: contents(tally.samples, tally.data_bytes, 0.0), missing })
        }
        Walked::Some(begun) => sampled::estimate::<F>(stored, &begun, effort, watch).map(Measured::from),
    }
}

fn contents(rows: u64, decoded_bytes: u64, relative_error: f64) -> Contents {
    Contents {
        rows,
        decoded_bytes,
        // Data is packed as it likes to be.
        decoded_exactly: false,
        relative_error,
        ..Contents::default()
    }
}

#[cfg(test)]
mod tests;
