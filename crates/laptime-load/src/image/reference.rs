//! The transform once more, slowly and by its definition, and what must be equal to it.

use proptest::prelude::*;

use super::lanes::Lanes;
use super::placement::{Axis, Placement};
use super::test_images::pixels;
use super::{Crop, ImageError, ImageTransform, Layout, Normalize, Output, SampleKey, Scratch};

fn key(index: u64) -> SampleKey {
    SampleKey { seed: 9, epoch: 2, index }
}

/// How much a source pixel counts for an output pixel: the height of a triangle around the latter's middle.
fn weight(axis: &Axis, output: usize, pixel: usize) -> f64 {
    let scale = axis.length as f64 / axis.resized as f64;
    let distance = (pixel as f64 + 0.5) - ((output + axis.skipped) as f64 + 0.5) * scale;
    (1.0 - distance.abs() / scale.max(1.0)).max(0.0)
}

/// A channel of an output pixel, from 0 to 255, as a mean over all pixels of the part.
fn expected(
    source: &[u8],
    image: (usize, usize),
    placement: &Placement,
    (y, x, channel): (usize, usize, usize),
) -> f64 {
    let (rows, columns) = (&placement.rows, &placement.columns);
    let x = if placement.flipped { columns.output - 1 - x } else { x };
    let (mut sum, mut total) = (0.0, 0.0);
    for row in 0..rows.length {
        for column in 0..columns.length {
            let weight = weight(rows, y, row) * weight(columns, x, column);
            let (row, column) = (rows.start + row as i64, columns.start + column as i64);
            let inside = (0..image.0 as i64).contains(&row) && (0..image.1 as i64).contains(&column);
            let at = || (row as usize * image.1 + column as usize) * 3 + channel;
            sum += weight * if inside { f64::from(source[at()]) } else { 0.0 };
            total += weight;
        }
    }
    sum / total
}

/// The output in order of rows, columns and channels, as numbers.
fn numbers(transform: &ImageTransform, out: &[u8]) -> Vec<f64> {
    let numbers: Vec<f64> = match transform.output {
        Output::U8 => out.iter().map(|byte| f64::from(*byte)).collect(),
        Output::F32 => {
            out.as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect()
        }
    };
    if transform.layout == Layout::Hwc {
        return numbers;
    }
    let plane = transform.size.0 * transform.size.1;
    (0..numbers.len()).map(|place| numbers[place % 3 * plane + place / 3]).collect()
}

fn transformed(
    transform: &ImageTransform,
    image: (usize, usize),
    index: u64,
    lanes: Lanes,
) -> Result<Vec<u8>, ImageError> {
    let mut scratch = Scratch::new();
    scratch.resampling.lanes = lanes;
    // Aligned as the loader's buffers are, or not, by the index.
    let mut out = vec![0_u64; transform.output_len() / 8 + 10];
    let out = bytes_of(&mut out, index, transform.output_len());
    transform.decoded_into(&pixels(image, 3), image, key(index), &mut scratch, out)?;
    Ok(out.to_vec())
}

#[expect(unsafe_code, reason = "a buffer of a known alignment")]
fn bytes_of(words: &mut [u64], index: u64, length: usize) -> &mut [u8] {
    // SAFETY: any bytes are valid for either type.
    let (_, bytes, _) = unsafe { words.align_to_mut::<u8>() };
    let start = bytes.as_ptr().align_offset(32) + if index.is_multiple_of(2) { 0 } else { 4 };
    &mut bytes[start..start + length]
}

fn crops() -> impl Strategy<Value = Crop> {
    prop_oneof![
        Just(Crop::None),
        Just(Crop::RandomResized { scale: (0.08, 1.0), ratio: (0.75, 4.0 / 3.0) }),
        (0_usize..6).prop_map(|padding| Crop::Random { padding }),
        Just(Crop::Center { resize: None }),
        (40_usize..60).prop_map(|shorter| Crop::Center { resize: Some(shorter) }),
    ]
}

fn transforms() -> impl Strategy<Value = ImageTransform> {
    let layout = prop_oneof![Just(Layout::Chw), Just(Layout::Hwc)];
    let output = prop_oneof![
        Just((Output::U8, None)),
        Just((Output::F32, None)),
        Just((Output::F32, Some(Normalize::IMAGENET)))
    ];
    // Every other output is made of whole registers.
    let side = || prop_oneof![1_usize..40, (1_usize..6).prop_map(|groups| 8 * groups)];
    ((side(), side()), crops(), any::<bool>(), layout, output).prop_map(
        |(size, crop, flip, layout, (output, normalize))| ImageTransform {
            crop,
            flip,
            layout,
            output,
            normalize,
            ..ImageTransform::new(size)
        },
    )
}

/// The largest difference to the definition, in steps of 256.
fn largest_difference(transform: &ImageTransform, image: (usize, usize), index: u64, out: &[u8]) -> f64 {
    let placement = transform.place(image, key(index)).unwrap();
    let source = pixels(image, 3);
    let (_, width) = transform.size;
    let numbers = numbers(transform, out);
    let differences = numbers.into_iter().enumerate().map(|(place, number)| {
        let channel = place % 3;
        let steps = match (transform.output, transform.normalize) {
            (Output::U8, _) => number,
            (Output::F32, None) => 255.0 * number,
            (Output::F32, Some(Normalize { mean, std })) => {
                255.0 * (number * f64::from(std[channel]) + f64::from(mean[channel]))
            }
        };
        let expected = expected(&source, image, &placement, (place / 3 / width, place / 3 % width, channel));
        (steps - expected).abs()
    });
    differences.fold(0.0, f64::max)
}

proptest! {
    #[test]
    fn the_output_is_what_the_definition_says(transform in transforms(), image in (1_usize..50, 1_usize..50), index: u64) {
        match transformed(&transform, image, index, Lanes::default()) {
            Ok(out) => {
                let most = if transform.output == Output::U8 { 0.5 } else { 0.0 };
                let difference = largest_difference(&transform, image, index, &out);
                prop_assert!(difference <= most + 1e-3, "{difference} steps");
            }
            Err(error) => {
                let small = matches!(error, ImageError::TooSmall { .. }) && matches!(transform.crop, Crop::Random { .. });
                prop_assert!(small, "{error}");
            }
        }
    }

    #[test]
    fn processors_with_and_without_avx2_give_the_same_bits(transform in transforms(), image in (1_usize..90, 1_usize..90), index: u64) {
        let plain = transformed(&transform, image, index, Lanes::Plain);
        prop_assert_eq!(plain, transformed(&transform, image, index, Lanes::default()));
    }
}

#[test]
fn images_of_usual_sizes_are_what_the_definition_says() {
    let crop = Crop::RandomResized { scale: (0.08, 1.0), ratio: (0.75, 4.0 / 3.0) };
    for (image, index) in [((48, 64), 0), ((64, 48), 1), ((120, 90), 2), ((32, 32), 3)] {
        let transform = ImageTransform { crop, flip: true, ..ImageTransform::new((64, 64)) };
        let out = transformed(&transform, image, index, Lanes::default()).unwrap();
        assert!(largest_difference(&transform, image, index, &out) < 1e-3);
    }
}

#[test]
fn about_half_of_the_images_are_flipped_whatever_their_crop() {
    let transform = ImageTransform { flip: true, ..ImageTransform::new((8, 8)) };
    let cropped = ImageTransform { crop: Crop::Random { padding: 0 }, ..transform };
    let flipped = |transform: &ImageTransform, index| transform.place((20, 20), key(index)).unwrap().flipped;
    let count = (0..1000).filter(|&index| flipped(&transform, index)).count();
    assert!((430..570).contains(&count), "{count}");
    assert!((0..1000).all(|index| flipped(&transform, index) == flipped(&cropped, index)));
    assert!(!(0..100).any(|index| flipped(&ImageTransform { flip: false, ..transform }, index)));
}

#[test]
fn a_used_scratch_changes_nothing() {
    let crop = Crop::RandomResized { scale: (0.08, 1.0), ratio: (0.75, 4.0 / 3.0) };
    let transform = ImageTransform { crop, flip: true, ..ImageTransform::new((24, 31)) };
    let mut used = Scratch::new();
    for index in 0..200 {
        let image = (5 + (index as usize * 7) % 80, 3 + (index as usize * 11) % 90);
        let mut out = vec![0; transform.output_len()];
        let mut fresh = out.clone();
        transform.decoded_into(&pixels(image, 3), image, key(index), &mut used, &mut out).unwrap();
        transform
            .decoded_into(&pixels(image, 3), image, key(index), &mut Scratch::new(), &mut fresh)
            .unwrap();
        assert_eq!(out, fresh);
    }
}

#[test]
fn a_transform_that_cannot_be_is_refused() {
    let good = ImageTransform::new((8, 8));
    let normalize = |std| Some(Normalize { mean: [0.5; 3], std: [std; 3] });
    let bad = [
        ImageTransform::new((0, 8)),
        ImageTransform::new((8, 20_000)),
        ImageTransform { normalize: normalize(0.0), ..good },
        ImageTransform { normalize: normalize(f32::NAN), ..good },
        ImageTransform { normalize: normalize(1.0), output: Output::U8, ..good },
        ImageTransform { crop: Crop::RandomResized { scale: (0.0, 1.0), ratio: (1.0, 1.0) }, ..good },
        ImageTransform { crop: Crop::RandomResized { scale: (0.5, 1.0), ratio: (2.0, 1.0) }, ..good },
        ImageTransform { crop: Crop::RandomResized { scale: (0.5, f64::NAN), ratio: (1.0, 1.0) }, ..good },
        ImageTransform { crop: Crop::Center { resize: Some(7) }, ..good },
        ImageTransform { crop: Crop::Random { padding: usize::MAX }, ..good },
    ];
    assert_eq!(good.check(), Ok(()));
    for transform in bad {
        assert!(matches!(transform.check(), Err(ImageError::BadTransform { .. })), "{transform:?}");
    }
}

#[test]
fn buffers_of_the_wrong_length_are_refused() {
    let transform = ImageTransform::new((4, 4));
    let mut scratch = Scratch::new();
    let mut out = vec![0; transform.output_len()];
    for (pixels, image, length) in
        [(12, (2, 2), 1), (11, (2, 2), 192), (0, (0, 5), 192), (3, (usize::MAX, 2), 192)]
    {
        let result =
            transform.decoded_into(&vec![0; pixels], image, key(0), &mut scratch, &mut out[..length]);
        assert!(matches!(result, Err(ImageError::WrongBuffer { .. })));
    }
}
