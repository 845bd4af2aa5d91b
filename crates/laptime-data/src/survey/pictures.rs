//! What a folder's images decode to, by the headers of all of them or of a fair sample.

use super::estimate::Estimate;
use super::image::{ImageHeader, read_image};
use super::problem::{FileProblem, Troubles};
use super::sized_file::SizedFile;
use super::stored::StoredFile;
use super::watch::Watch;

/// What the headers tell of all images.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pictures {
    /// Images with a sound header, where all were looked into.
    pub(crate) sound: Option<u64>,
    /// Bytes of all images when decoded.
    pub(crate) decoded_bytes: Option<Estimate>,
    /// Values of all images: width x height x channels.
    pub(crate) values: Option<Estimate>,
    /// Channels of an image, the mean.
    pub(crate) channels: Option<Estimate>,
    /// The smallest and the largest width and height that were seen.
    pub(crate) sides: Option<Sides>,
}

/// The range of widths and heights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Sides {
    /// The least width and the least height, in pixels.
    pub smallest: (u32, u32),
    /// The most width and the most height, in pixels.
    pub largest: (u32, u32),
}

/// Reads the headers of the sample, of `files` images in all.
pub(crate) fn look_at_pictures(
    sample: &[SizedFile],
    files: u64,
    watch: &Watch,
    troubles: &mut Troubles,
) -> Pictures {
    let mut headers = Vec::with_capacity(sample.len());
    let mut looked_into = 0;
    for file in sample.iter().take_while(|_| !watch.stopped()) {
        looked_into += 1;
        match StoredFile::open_for_samples(&file.path)
            .map_err(FileProblem::from)
            .and_then(|it| read_image(&it))
        {
            Ok(header) => headers.push(header),
            Err(problem) => troubles.add(&file.path, &problem),
        }
    }
    let all = looked_into == files;
    let sound = headers.len() as u64;
    // Broken images in a sample stand for as many in the rest.
    let total = if all { sound as f64 } else { files as f64 * sound as f64 / looked_into.max(1) as f64 };
    let estimate = |of: fn(&ImageHeader) -> u64| total_of(&headers, of, total, all);
    Pictures {
        sound: all.then_some(sound),
        decoded_bytes: estimate(ImageHeader::decoded_bytes),
        values: estimate(ImageHeader::values),
        channels: estimate(|header| u64::from(header.channels)).map(|sum| sum.times(1.0 / total.max(1.0))),
        sides: sides(&headers),
    }
}

/// The sum over all images from the mean over some.
fn total_of(headers: &[ImageHeader], of: fn(&ImageHeader) -> u64, total: f64, all: bool) -> Option<Estimate> {
    let seen = headers.iter().map(of).fold(0_u64, u64::saturating_add);
    if all {
        return Some(Estimate::counted(seen));
    }
    let count = headers.len() as f64;
    let mean = seen as f64 / count;
    let variance =
        headers.iter().map(|header| (of(header) as f64 - mean).powi(2)).sum::<f64>() / (count - 1.0);
    // Drawn without putting back: what was seen has no error.
    let unseen = (1.0 - count / total).max(0.0);
    let error = total * (variance / count * unseen).sqrt();
    (headers.len() > 1).then(|| Estimate::with_error(mean * total, error, seen as f64))
}

fn sides(headers: &[ImageHeader]) -> Option<Sides> {
    let ends =
        |of: fn(&ImageHeader) -> u32| Some((headers.iter().map(of).min()?, headers.iter().map(of).max()?));
    let (width, height) = (ends(|header| header.width)?, ends(|header| header.height)?);
    Some(Sides { smallest: (width.0, height.0), largest: (width.1, height.1) })
}
