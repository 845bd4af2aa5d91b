//! What a folder's images decode to, by the headers of all of them or of a fair sample.

use super::amount::{Amount, REACH};
use super::effort::Looking;
use super::image::{ImageHeader, read_image};
use super::looking::{Patience, look_into};
use super::problem::Troubles;
use super::sized_file::SizedFile;

/// What the headers say of all images.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pictures {
    /// Files that were looked into.
    pub(crate) looked_into: u64,
    /// Of them, those without a sound header.
    pub(crate) broken: u64,
    /// Files with a sound header among all; `None` where none was looked into.
    pub(crate) sound: Option<Amount>,
    /// Bytes of all images when decoded.
    pub(crate) decoded_bytes: Option<Amount>,
    /// Values of all images: width x height x channels.
    pub(crate) values: Option<Amount>,
    /// Channels of an image, the mean.
    pub(crate) channels: Option<Amount>,
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

/// Reads the headers of the sample, which is in a fair order, of `files` images in all.
pub(crate) fn look_at_pictures(
    sample: &[SizedFile],
    files: u64,
    looking: Looking<'_>,
    troubles: &mut Troubles,
) -> Pictures {
    let (place, effort) = (looking.place, looking.effort(sample.len()));
    let patience = if effort.exact || !effort.far { Patience::ENDLESS } else { effort.looking };
    // On one machine a header takes less than handing it to another thread.
    let threads = if effort.far { place.threads() } else { 1 };
    let look = |file: &SizedFile| read_image(&*place.open_for_samples(file)?);
    let seen = look_into(sample, threads, patience, looking.watch, look);
    let mut headers = Vec::with_capacity(sample.len());
    let mut looked_into = 0;
    let mut broken = Vec::new();
    for (file, seen) in sample.iter().zip(seen) {
        let Some(seen) = seen else { continue };
        looked_into += 1;
        match seen {
            Ok(header) => headers.push(header),
            Err(problem) => broken.push((&file.path, problem)),
        }
    }
    // In the order of their names, so that the same file is reported first whenever several are broken.
    broken.sort_by_key(|(path, _)| *path);
    broken.iter().for_each(|(path, problem)| troubles.add(path, problem));
    let looked = Looked { headers, looked_into, files };
    let sound = looked.sound();
    let each = |sum: Amount| Some(sum.times(1.0 / sound?.mean.max(1.0)));
    Pictures {
        looked_into,
        broken: looked_into - looked.headers.len() as u64,
        sound,
        decoded_bytes: looked.total(ImageHeader::decoded_bytes),
        values: looked.total(ImageHeader::values),
        channels: looked.total(|header| u64::from(header.channels)).and_then(each),
        sides: sides(&looked.headers),
    }
}

/// The sound headers among the files that were looked into, of so many in all.
struct Looked {
    headers: Vec<ImageHeader>,
    looked_into: u64,
    files: u64,
}

impl Looked {
    fn is_all(&self) -> bool {
        self.looked_into == self.files
    }

    /// The share of the error that sampling leaves: drawn without putting back, what was seen has none.
    fn unseen(&self) -> f64 {
        1.0 - self.looked_into as f64 / self.files.max(1) as f64
    }

    /// Files with a sound header among all, with Wilson's interval: a sample without a broken file does not mean
    /// that there is none.
    fn sound(&self) -> Option<Amount> {
        let (sound, broken) = (self.headers.len() as u64, self.looked_into - self.headers.len() as u64);
        if self.is_all() {
            return Some(Amount::counted(sound));
        }
        let (looked, files) = (self.looked_into as f64, self.files as f64);
        let (share, draws) = (sound as f64 / looked, looked / self.unseen());
        let squared = REACH * REACH / draws;
        let middle = (share + squared / 2.0) / (1.0 + squared);
        let reach =
            REACH * (share * (1.0 - share) / draws + squared / (4.0 * draws)).sqrt() / (1.0 + squared);
        let mean = share * files;
        let low = ((middle - reach) * files).clamp(sound as f64, mean);
        let high = ((middle + reach) * files).min(files - broken as f64).max(mean);
        (self.looked_into > 0).then_some(Amount::between(low, mean, high))
    }

    /// The sum over all files from the mean over some; a broken one adds nothing and stands for others like it.
    fn total(&self, of: fn(&ImageHeader) -> u64) -> Option<Amount> {
        let seen = self.headers.iter().map(of).fold(0_u64, u64::saturating_add);
        if self.is_all() {
            return Some(Amount::counted(seen));
        }
        let (looked, files) = (self.looked_into as f64, self.files as f64);
        let mean = seen as f64 / looked;
        let broken = looked - self.headers.len() as f64;
        let squares = self.headers.iter().map(|header| (of(header) as f64 - mean).powi(2)).sum::<f64>();
        let variance = (squares + broken * mean * mean) / (looked - 1.0);
        let error = files * (variance / looked * self.unseen()).sqrt();
        (self.headers.len() > 1).then(|| Amount::with_error(mean * files, error, seen as f64))
    }
}

fn sides(headers: &[ImageHeader]) -> Option<Sides> {
    let ends =
        |of: fn(&ImageHeader) -> u32| Some((headers.iter().map(of).min()?, headers.iter().map(of).max()?));
    let (width, height) = (ends(|header| header.width)?, ends(|header| header.height)?);
    Some(Sides { smallest: (width.0, height.0), largest: (width.1, height.1) })
}
