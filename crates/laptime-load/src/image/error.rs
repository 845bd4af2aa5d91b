//! Why one image cannot be had; the caller knows which file and sample it was.

/// An image cannot be decoded or transformed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The bytes start as no known kind of image does.
    #[error("neither a JPEG nor a PNG image")]
    UnknownFormat,
    /// The image ends before its end marker.
    #[error("the image is cut off: its end marker is missing")]
    Truncated,
    /// The image is not one that a decoder can make sense of.
    #[error("the image is damaged: {reason}")]
    Damaged {
        /// What the decoder said, on one line.
        reason: String,
    },
    /// The image is of a rare kind.
    #[error("{feature} is not supported")]
    Unsupported {
        /// What the image would need.
        feature: &'static str,
    },
    /// The header declares more pixels than are ever decoded.
    #[error("the image declares {width} × {height} pixels, more than the limit of {limit}")]
    TooLarge {
        /// Declared height.
        height: usize,
        /// Declared width.
        width: usize,
        /// Most pixels that are decoded.
        limit: usize,
    },
    /// The header declares more pixels than so few bytes can hold.
    #[error("the image declares {width} × {height} pixels, which {bytes} bytes cannot hold")]
    Implausible {
        /// Declared height.
        height: usize,
        /// Declared width.
        width: usize,
        /// Bytes of the encoded image.
        bytes: usize,
    },
    /// A random crop does not fit into the image.
    #[error(
        "the image has {width} × {height} pixels, less than the crop of {needed_width} × {needed_height}"
    )]
    TooSmall {
        /// Height of the image.
        height: usize,
        /// Width of the image.
        width: usize,
        /// Height that the crop needs, its padding taken off.
        needed_height: usize,
        /// Width that the crop needs, its padding taken off.
        needed_width: usize,
    },
    /// The transform itself makes no sense.
    #[error("bad image transform: {problem}")]
    BadTransform {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A buffer does not have the size or alignment that the transform needs.
    #[error("the {buffer} has {found} bytes where {needed} are needed")]
    WrongBuffer {
        /// Which buffer.
        buffer: &'static str,
        /// Its bytes.
        found: usize,
        /// The bytes it must have.
        needed: usize,
    },
    /// libturbojpeg was asked for and is not installed.
    #[error("libturbojpeg cannot be opened")]
    NoTurbo,
    /// There is no memory for the decoded image.
    #[error("not enough memory for an image of {bytes} bytes")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
    },
}

impl ImageError {
    /// The next thing to do about it, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::UnknownFormat | Self::Unsupported { .. } => "convert the image to a plain JPEG or PNG",
            Self::Truncated | Self::Damaged { .. } | Self::Implausible { .. } => {
                "copy or download the image again, or leave it out"
            }
            Self::TooLarge { .. } => "scale the image down before it is packed",
            Self::TooSmall { .. } => "choose a smaller crop, more padding, or a crop that resizes",
            Self::NoTurbo => "install it (Debian: apt install libturbojpeg0), or take the decoder built in",
            Self::OutOfMemory { .. } => "use fewer threads, or scale the images down",
            Self::BadTransform { .. } | Self::WrongBuffer { .. } => return None,
        })
    }

    /// A decoder's words, shortened to a line that is safe to show.
    pub(super) fn damaged(reason: &str) -> Self {
        const MAX_CHARS: usize = 120;
        let line = reason.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
        Self::Damaged { reason: line.take(MAX_CHARS).collect::<String>().trim().to_owned() }
    }
}
