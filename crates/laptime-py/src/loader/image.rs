//! A transform of images as `laptime.image` says it.

use laptime_load::image::{Crop, Decoder, ImageTransform, Layout, Normalize, Output};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The attributes of `laptime.image.Transform`.
#[derive(FromPyObject)]
struct Transform {
    size: (usize, usize),
    crop: String,
    scale: (f64, f64),
    ratio: (f64, f64),
    padding: usize,
    shorter_side: Option<usize>,
    flip: bool,
    layout: String,
    dtype: String,
    decoder: String,
}

/// The transform of a `laptime.image.Transform`, with what each channel is normalised by.
pub(super) fn transform(
    object: &Bound<'_, PyAny>,
    normalize: Option<([f32; 3], [f32; 3])>,
) -> PyResult<ImageTransform> {
    let said: Transform = object.extract().map_err(|error: PyErr| {
        let because = error.value(object.py()).to_string();
        PyValueError::new_err(format!(
            "transform is one of laptime.image, as laptime.image.center_crop(224): {because}"
        ))
    })?;
    let transform = ImageTransform {
        size: said.size,
        crop: crop(&said)?,
        flip: said.flip,
        normalize: normalize.map(|(mean, std)| Normalize { mean, std }),
        layout: one_of("layout", &said.layout, &[("chw", Layout::Chw), ("hwc", Layout::Hwc)])?,
        output: one_of("dtype", &said.dtype, &[("float32", Output::F32), ("uint8", Output::U8)])?,
        decoder: one_of(
            "decoder",
            &said.decoder,
            &[("auto", Decoder::Auto), ("built_in", Decoder::BuiltIn), ("turbo", Decoder::Turbo)],
        )?,
    };
    transform.check().map_err(|error| PyValueError::new_err(format!("transform: {error}")))?;
    Ok(transform)
}

fn crop(said: &Transform) -> PyResult<Crop> {
    let known = [
        ("random_resized", Crop::RandomResized { scale: said.scale, ratio: said.ratio }),
        ("random", Crop::Random { padding: said.padding }),
        ("center", Crop::Center { resize: said.shorter_side }),
        ("none", Crop::None),
    ];
    one_of("crop", &said.crop, &known)
}

/// What a word stands for; another word is an error that says which there are.
fn one_of<T: Copy>(what: &str, word: &str, known: &[(&str, T)]) -> PyResult<T> {
    let found = known.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        PyValueError::new_err(format!("transform: {what} is one of {}, not {word:?}", names.join(", ")))
    })
}
