//! For tests: images with smooth and sharp parts, plain and encoded.

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

/// Rows of red, green and blue with gradients, edges and some noise, different for each seed.
pub(super) fn pixels((height, width): (usize, usize), seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(height * width * 3);
    for y in 0..height {
        for x in 0..width {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let noise = (state >> 60) as usize;
            let edge = if (x / 7 + y / 5).is_multiple_of(2) { 90 } else { 0 };
            bytes.extend(
                [(x * 3 + noise) % 256, (y * 2 + edge) % 256, (x + y + noise + edge) % 256].map(|v| v as u8),
            );
        }
    }
    bytes
}

/// How an image is encoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) sampling: SamplingFactor,
    pub(super) progressive: bool,
    /// Blocks between restart markers; 0 has none.
    pub(super) restart: u16,
}

pub(super) const STYLES: [Style; 7] = [
    Style { sampling: SamplingFactor::F_2_2, progressive: false, restart: 0 },
    Style { sampling: SamplingFactor::F_1_1, progressive: false, restart: 0 },
    Style { sampling: SamplingFactor::F_2_1, progressive: false, restart: 3 },
    Style { sampling: SamplingFactor::F_1_2, progressive: false, restart: 0 },
    Style { sampling: SamplingFactor::F_4_1, progressive: false, restart: 0 },
    Style { sampling: SamplingFactor::F_2_2, progressive: true, restart: 0 },
    Style { sampling: SamplingFactor::F_2_2, progressive: false, restart: 1 },
];

/// A JPEG of such pixels at quality 90.
pub(super) fn jpeg(size: (usize, usize), style: Style) -> Vec<u8> {
    encoded(&pixels(size, 1), size, ColorType::Rgb, style)
}

/// A JPEG of bytes with as many channels as the colour type has.
pub(super) fn encoded(
    bytes: &[u8],
    (height, width): (usize, usize),
    colours: ColorType,
    style: Style,
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, 90);
    encoder.set_sampling_factor(style.sampling);
    encoder.set_progressive(style.progressive);
    encoder.set_restart_interval(style.restart);
    encoder.encode(bytes, width as u16, height as u16, colours).unwrap();
    out
}

/// A PNG of 8 bits: grey, colour, each with or without transparency, by its number in the format.
pub(super) fn png(bytes: &[u8], (height, width): (usize, usize), colours: u8) -> Vec<u8> {
    let mut raw = Vec::new();
    for row in bytes.chunks_exact(bytes.len() / height) {
        // No filter.
        raw.push(0);
        raw.extend(row);
    }
    let mut header = [width as u32, height as u32].map(u32::to_be_bytes).concat();
    header.extend([8, colours, 0, 0, 0]);
    let chunks = [(b"IHDR", header), (b"IDAT", stored(&raw)), (b"IEND", Vec::new())];
    let mut png = super::png_header::START.to_vec();
    for (kind, data) in chunks {
        png.extend((data.len() as u32).to_be_bytes());
        let typed = [kind.as_slice(), &data].concat();
        png.extend(&typed);
        png.extend(crc32(&typed).to_be_bytes());
    }
    png
}

/// A zlib stream that stores its bytes as they are.
fn stored(raw: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let blocks = raw.chunks(65_535);
    let last = blocks.len() - 1;
    for (place, block) in blocks.enumerate() {
        stream.push(u8::from(place == last));
        let length = block.len() as u16;
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    let (low, high) = raw.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    stream.extend(((high << 16) | low).to_be_bytes());
    stream
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}
