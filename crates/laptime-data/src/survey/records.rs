//! Files of records one after the other, each behind a header that has its length: TFRecord and tar.
//!
//! Where that is cheap the headers are walked from the first to the last, which counts exactly. Else stretches are
//! walked that begin at random places, where the first header is recognised by its checksum.

mod headers;
mod pictures;
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
use pictures::Pictures;
use tar::Tar;
use tfrecord::TfRecord;
use walk::{Tally, Walked, walk};

/// A record or a part of one, as its header describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Member {
    /// Where the next header is.
    next: u64,
    /// Where its data begins, and the bytes of it.
    data: u64,
    data_bytes: u64,
    /// Whether it is an image, by its name.
    is_image: bool,
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
    let (met, missing) = match walk::<F>(stored, effort, watch)? {
        Walked::All(tally, missing) => (Met::counted(tally), missing),
        Walked::Some(begun) => (sampled::estimate::<F>(stored, &begun, effort, watch)?, None),
    };
    Ok(Measured { contents: met.contents(stored, effort)?, missing })
}

/// What was met in a file, on a walk or in samples.
struct Met {
    samples: u64,
    data_bytes: u64,
    /// The standard error of both as a share of them.
    relative_error: f64,
    pictures: Pictures,
    /// Bytes of data among which the images are.
    seen_bytes: u64,
}

impl Met {
    fn counted(tally: Tally) -> Self {
        let (samples, data_bytes, pictures) = (tally.samples, tally.data_bytes, tally.pictures);
        Self { samples, data_bytes, relative_error: 0.0, pictures, seen_bytes: data_bytes }
    }

    fn contents(self, stored: &dyn Stored, effort: Effort) -> Result<Contents, FileProblem> {
        let counted = Contents {
            rows: self.samples,
            decoded_bytes: self.data_bytes,
            // Data is packed as it likes to be.
            decoded_exactly: false,
            relative_error: self.relative_error,
            decoded_error: self.relative_error,
            ..Contents::default()
        };
        let Some(images) = self.pictures.density(stored, self.seen_bytes, effort.side)? else {
            return Ok(counted);
        };
        let image_bytes = self.data_bytes as f64 * images.share;
        let others = self.data_bytes as f64 - image_bytes;
        Ok(Contents {
            decoded_bytes: (others + image_bytes * images.decoded) as u64,
            numbers: (image_bytes * images.values) as u64,
            decoded_error: self.relative_error.hypot(images.relative_error),
            ..counted
        })
    }
}

#[cfg(test)]
mod tests;
