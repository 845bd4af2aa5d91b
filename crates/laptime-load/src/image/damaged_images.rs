//! What the decoders make of good, odd and damaged images.

use jpeg_encoder::ColorType;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::decoder::Picture;
use super::scratch::Decoding;
use super::test_images::{STYLES, encoded, jpeg, pixels, png};
use super::{
    Crop, Decoder, ImageError, ImageTransform, Output, SampleKey, Scratch, image_size, turbo_is_installed,
};
use crate::allocation::largest_during;

fn decoders() -> Vec<Decoder> {
    let turbo = turbo_is_installed().then_some(Decoder::Turbo);
    [Decoder::BuiltIn].into_iter().chain(turbo).collect()
}

fn decoded(encoded: &[u8], rows: usize, decoder: Decoder) -> Result<Vec<u8>, ImageError> {
    let mut decoding = Decoding::default();
    Picture::read(encoded)?.decode(encoded, rows, decoder, &mut decoding).map(<[u8]>::to_vec)
}

fn largest_difference(left: &[u8], right: &[u8]) -> u8 {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(left, right)| left.abs_diff(*right)).max().unwrap()
}

#[test]
fn rows_above_a_cut_are_those_of_the_whole_image() {
    for style in STYLES {
        for (size, decoder) in
            decoders().iter().flat_map(|&decoder| [((75, 50), decoder), ((200, 33), decoder)])
        {
            let encoded = jpeg(size, style);
            let whole = decoded(&encoded, size.0, decoder).unwrap();
            assert_eq!(whole.len(), size.0 * size.1 * 3);
            for rows in 1..=size.0 {
                let cut = decoded(&encoded, rows, decoder).unwrap();
                let bytes = rows * size.1 * 3;
                assert_eq!(cut[..bytes], whole[..bytes], "{rows} rows, {style:?}, {decoder:?}");
            }
        }
    }
}

#[test]
fn few_rows_are_decoded_where_few_are_needed() {
    let encoded = jpeg((200, 40), STYLES[0]);
    for decoder in decoders() {
        assert_eq!(decoded(&encoded, 10, decoder).unwrap().len(), 32 * 40 * 3);
    }
}

#[test]
fn all_decoders_see_the_same_image() {
    let size = (61, 83);
    for style in STYLES {
        let encoded = jpeg(size, style);
        let built_in = decoded(&encoded, size.0, Decoder::BuiltIn).unwrap();
        for decoder in decoders() {
            let difference = largest_difference(&built_in, &decoded(&encoded, size.0, decoder).unwrap());
            assert!(difference <= 12, "{difference} steps, {style:?}, {decoder:?}");
        }
    }
}

#[test]
fn grey_and_cmyk_become_colours() {
    let size = (24, 40);
    let grey: Vec<u8> = pixels(size, 1).chunks_exact(3).map(|pixel| pixel[2] / 8 * 2 + 60).collect();
    let spread: Vec<u8> = grey.iter().flat_map(|&grey| [grey; 3]).collect();
    let cmyk: Vec<u8> = grey.iter().flat_map(|&grey| [255 - grey, 255 - grey, 255 - grey, 0]).collect();
    for decoder in decoders() {
        let from_grey = decoded(&encoded(&grey, size, ColorType::Luma, STYLES[1]), size.0, decoder).unwrap();
        assert!(largest_difference(&from_grey, &spread) < 20);
        let from_cmyk = decoded(&encoded(&cmyk, size, ColorType::Cmyk, STYLES[1]), size.0, decoder).unwrap();
        assert_eq!(from_cmyk.len(), spread.len());
    }
}

#[test]
fn a_png_of_any_colours_is_read_exactly() {
    let size = (19, 23);
    let colour = pixels(size, 1);
    let grey: Vec<u8> = colour.chunks_exact(3).map(|pixel| pixel[1]).collect();
    let with_alpha = |bytes: &[u8], channels: usize| -> Vec<u8> {
        bytes.chunks_exact(channels).flat_map(|pixel| [pixel, &[77]].concat()).collect()
    };
    let spread: Vec<u8> = grey.iter().flat_map(|&grey| [grey; 3]).collect();
    for (bytes, colours, expected) in [
        (grey.clone(), 0, &spread),
        (colour.clone(), 2, &colour),
        (with_alpha(&grey, 1), 4, &spread),
        (with_alpha(&colour, 3), 6, &colour),
    ] {
        assert_eq!(&decoded(&png(&bytes, size, colours), 1, Decoder::Auto).unwrap(), expected);
    }
}

#[test]
fn an_encoded_image_gives_what_its_decoded_pixels_give() {
    let crop = Crop::RandomResized { scale: (0.08, 1.0), ratio: (0.75, 4.0 / 3.0) };
    let image = (150, 120);
    let encoded = jpeg(image, STYLES[0]);
    let mut scratch = Scratch::new();
    for decoder in decoders() {
        let transform = ImageTransform { crop, flip: true, decoder, ..ImageTransform::new((64, 64)) };
        let pixels = decoded(&encoded, image.0, decoder).unwrap();
        for index in 0..100 {
            let key = SampleKey { seed: 1, epoch: 0, index };
            let (mut from_bytes, mut from_pixels) =
                (vec![0; transform.output_len()], vec![0; transform.output_len()]);
            transform.decode_into(&encoded, key, &mut scratch, &mut from_bytes).unwrap();
            transform.decoded_into(&pixels, image, key, &mut scratch, &mut from_pixels).unwrap();
            assert_eq!(from_bytes, from_pixels);
        }
    }
}

fn transform(decoder: Decoder) -> ImageTransform {
    ImageTransform {
        decoder,
        output: Output::U8,
        crop: Crop::Center { resize: None },
        ..ImageTransform::new((16, 16))
    }
}

fn reads(bytes: &[u8], decoder: Decoder, scratch: &mut Scratch) -> Result<(), ImageError> {
    let transform = transform(decoder);
    let mut out = [0; 16 * 16 * 3];
    transform.decode_into(bytes, SampleKey { seed: 0, epoch: 0, index: 0 }, scratch, &mut out)
}

fn small_images() -> Vec<Vec<u8>> {
    let size = (24, 31);
    let mut images: Vec<_> = STYLES.into_iter().map(|style| jpeg(size, style)).collect();
    let grey: Vec<u8> = pixels(size, 2).chunks_exact(3).map(|pixel| pixel[0]).collect();
    images.push(encoded(&grey, size, ColorType::Luma, STYLES[0]));
    images.push(png(&pixels(size, 2), size, 2));
    images
}

#[test]
fn an_image_that_is_cut_off_anywhere_is_refused() {
    let mut scratch = Scratch::new();
    for image in small_images() {
        for decoder in decoders() {
            reads(&image, decoder, &mut scratch).unwrap();
            for length in 0..image.len() {
                let error = reads(&image[..length], decoder, &mut scratch).unwrap_err();
                assert!(
                    matches!(error, ImageError::Truncated | ImageError::UnknownFormat),
                    "{length}: {error}"
                );
            }
        }
    }
}

/// Changes a few bytes of an image, or moves a part of it.
fn damage(rng: &mut ChaCha8Rng, bytes: &mut Vec<u8>) {
    for _ in 0..=rng.next_u32() % 4 {
        let place = rng.next_u64() as usize % bytes.len().max(1);
        match rng.next_u32() % 6 {
            0 | 1 if !bytes.is_empty() => bytes[place] ^= 1 << (rng.next_u32() % 8),
            2 if !bytes.is_empty() => bytes[place] = rng.next_u32() as u8,
            3 => bytes.insert(place, [0xff, 0x00, 0xd9, 0xda][rng.next_u32() as usize % 4]),
            4 => drop(bytes.drain(place..(place + rng.next_u32() as usize % 20).min(bytes.len()))),
            _ => {
                let copy = bytes[place..(place + rng.next_u32() as usize % 20).min(bytes.len())].to_vec();
                bytes.splice(place..place, copy);
            }
        }
    }
}

#[test]
fn no_damaged_image_panics_or_takes_much_memory() {
    // What the largest size that so few bytes can hold may take, decoded: 512 pixels a byte for a JPEG.
    const A_BYTE: usize = 3 * 512 * 4;
    let images = small_images();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut readable = 0;
    let cases = 20_000;
    for case in 0..cases {
        let mut bytes = images[case % images.len()].clone();
        damage(&mut rng, &mut bytes);
        for decoder in decoders() {
            let largest = largest_during(|| match reads(&bytes, decoder, &mut Scratch::new()) {
                Ok(()) => readable += 1,
                Err(error) => {
                    assert!(!error.to_string().contains(char::is_control));
                    assert!(error.hint().is_some());
                    let panicked = error.to_string().contains("does not get on");
                    assert!(!panicked, "case {case} makes a decoder panic");
                }
            });
            assert!(largest <= A_BYTE * bytes.len(), "case {case} took {largest} bytes at once");
        }
    }
    let share = readable as f64 / (cases * decoders().len()) as f64;
    assert!((0.05..0.95).contains(&share), "{share} readable: the damage is too mild or wild");
}

#[test]
fn a_damaged_image_has_no_pixels_of_the_image_before() {
    let images = small_images();
    let before = [png(&vec![200; 40 * 40 * 3], (40, 40), 2), jpeg((40, 40), STYLES[1])];
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut used = Scratch::new();
    for case in 0..20_000 {
        let mut bytes = images[case % images.len()].clone();
        // Not in the headers, so that most can be read.
        let place = bytes.len() / 2 + rng.next_u32() as usize % (bytes.len() / 2 - 20);
        let damage = [[0xff, 0xe0], [0xff, 0xda], [0xff, 0xc4], [rng.next_u32() as u8, 0x5a]][case % 4];
        bytes[place..place + 2].copy_from_slice(&damage);
        for decoder in decoders() {
            let transform = ImageTransform { output: Output::U8, decoder, ..ImageTransform::new((16, 16)) };
            let read = |scratch: &mut Scratch| {
                let mut out = vec![0; 16 * 16 * 3];
                let key = SampleKey { seed: 0, epoch: 0, index: 0 };
                transform.decode_into(&bytes, key, scratch, &mut out).map(|()| out)
            };
            let fresh = read(&mut Scratch::new());
            reads(&before[case % 2], decoder, &mut used).unwrap();
            assert_eq!(read(&mut used), fresh, "case {case}, {decoder:?}");
        }
    }
}

#[test]
fn an_image_without_tables_is_not_decoded_with_those_of_the_image_before() {
    // As a frame of Motion JPEG, whose tables are the standard's.
    let mut image = jpeg((40, 40), STYLES[1]);
    while let Some(at) = image.windows(2).position(|marker| marker == [0xff, 0xc4]) {
        let length = usize::from(u16::from_be_bytes([image[at + 2], image[at + 3]]));
        image.drain(at..at + 2 + length);
    }
    for decoder in decoders() {
        let mut used = Decoding::default();
        // Progressive images have tables of their own.
        let before = jpeg((40, 40), STYLES[5]);
        Picture::read(&before).unwrap().decode(&before, 40, decoder, &mut used).unwrap();
        let found = Picture::read(&image).unwrap().decode(&image, 40, decoder, &mut used).map(<[u8]>::to_vec);
        assert_eq!(found, decoded(&image, 40, decoder), "{decoder:?}");
    }
}

#[test]
fn a_header_that_declares_a_huge_image_is_refused() {
    let mut image = jpeg((24, 31), STYLES[0]);
    let frame = image.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    image[frame + 5..frame + 9].copy_from_slice(&[0x20, 0, 0x20, 0]);
    assert!(matches!(image_size(&image), Err(ImageError::Implausible { height: 8192, width: 8192, .. })));
    image[frame + 5..frame + 9].fill(0xff);
    assert!(matches!(image_size(&image), Err(ImageError::TooLarge { height: 65_535, .. })));
    image[frame + 5..frame + 9].fill(0);
    assert!(matches!(image_size(&image), Err(ImageError::Unsupported { .. })));
}

#[test]
fn what_is_no_image_is_refused_with_a_reason() {
    for bytes in [&b""[..], b"GIF89a", b"\xff", b"RIFF....WEBP", &[0; 100]] {
        assert_eq!(image_size(bytes), Err(ImageError::UnknownFormat));
    }
}

#[test]
fn bytes_after_and_between_the_segments_do_no_harm() {
    let mut image = jpeg((24, 31), STYLES[0]);
    image.extend(b"thumbnails and other things that cameras append");
    let frame = image.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    image.splice(frame..frame, [0xff, 0xff]);
    assert_eq!(image_size(&image), Ok((24, 31)));
    for decoder in decoders() {
        reads(&image, decoder, &mut Scratch::new()).unwrap();
    }
}
