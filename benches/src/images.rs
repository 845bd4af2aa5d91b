//! Images a second: decoding alone, the transform alone, and both, with each decoder on one thread and on two.
//!
//! All are measured by turns in the same minute; what counts is what the transform adds to decoding.

use std::thread;
use std::time::Instant;

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use laptime_load::image::{
    Crop, Decoder, ImageTransform, Layout, Normalize, Output, SampleKey, Scratch, turbo_is_installed,
};

const SIDE: usize = 224;
const IMAGES: usize = 500;
/// Images of a batch: each thread writes into a ring of that many, which is larger than its caches.
const BATCH: usize = 64;
const ROUNDS: usize = 7;
/// The bars, images a second on two quiet cores: both with libturbojpeg, and from decoded pixels.
const BARS: &str = "bars on 2 threads: libturbojpeg, both 7,640; transform 28,500";

/// What is measured.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    transform: ImageTransform,
    from_pixels: bool,
}

struct Image {
    encoded: Vec<u8>,
    pixels: Vec<u8>,
}

pub(crate) fn run(side: usize) -> anyhow::Result<()> {
    let images = make_images(side)?;
    let bytes: usize = images.iter().map(|image| image.encoded.len()).sum();
    println!(
        "{IMAGES} JPEGs of {side} × {side}, quality 90, {:.1} KB each; images/s",
        bytes as f64 / IMAGES as f64 / 1e3
    );
    println!(
        "transform: random resized crop to {SIDE}, flip, normalise, float32 CHW; best and median of {ROUNDS} rounds"
    );
    println!("  {:<36} {:>17} {:>17} {:>12}", "", "1 thread", "2 threads", "CPU us/image");
    let cases = cases(side);
    let mut rates = vec![[const { Vec::new() }; 2]; cases.len()];
    let mut costs = vec![f64::INFINITY; cases.len()];
    for _ in 0..ROUNDS {
        for ((case, rates), cost) in cases.iter().zip(&mut rates).zip(&mut costs) {
            for (threads, rates) in [1, 2].into_iter().zip(rates) {
                let (seconds, cpu_seconds) = seconds(case, &images, side, threads)?;
                rates.push(IMAGES as f64 / seconds);
                *cost = cost.min(cpu_seconds * 1e6 / IMAGES as f64);
            }
        }
    }
    for ((case, rates), cost) in cases.iter().zip(rates).zip(costs) {
        let [one, two] = rates.map(best_and_median);
        println!("  {:<36} {one:>17} {two:>17} {cost:>12.1}", case.name);
    }
    println!("{BARS}");
    Ok(())
}

/// CPU time of this process, which other programs change less than the clock's.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn best_and_median(mut rates: Vec<f64>) -> String {
    rates.sort_by(f64::total_cmp);
    format!("{:.0} {:.0}", rates[rates.len() - 1], rates[rates.len() / 2])
}

fn cases(side: usize) -> Vec<Case> {
    let whole = ImageTransform {
        crop: Crop::Center { resize: None },
        layout: Layout::Hwc,
        output: Output::U8,
        ..ImageTransform::new((side, side))
    };
    let crop = Crop::RandomResized { scale: (0.08, 1.0), ratio: (3.0 / 4.0, 4.0 / 3.0) };
    let full = ImageTransform {
        crop,
        flip: true,
        normalize: Some(Normalize::IMAGENET),
        ..ImageTransform::new((SIDE, SIDE))
    };
    let floats = ImageTransform { layout: Layout::Hwc, ..full };
    let bytes = ImageTransform { output: Output::U8, normalize: None, ..floats };
    let case = |name, transform, from_pixels| Case { name, transform, from_pixels };
    let with = |transform: ImageTransform, decoder| ImageTransform { decoder, ..transform };
    let mut cases = vec![
        case("built in: decode", with(whole, Decoder::BuiltIn), false),
        case("built in: decode and transform", with(full, Decoder::BuiltIn), false),
    ];
    if turbo_is_installed() {
        cases.push(case("libturbojpeg: decode", with(whole, Decoder::Turbo), false));
        cases.push(case("libturbojpeg: decode and transform", with(full, Decoder::Turbo), false));
    }
    cases.push(case("transform of decoded pixels", full, true));
    cases.push(case("the same, float32 HWC", floats, true));
    cases.push(case("the same, uint8 HWC", bytes, true));
    cases.push(case("the same, uint8 CHW", ImageTransform { layout: Layout::Chw, ..bytes }, true));
    cases
}

/// Every image once, by so many threads: seconds by the clock, and of CPU time.
fn seconds(case: &Case, images: &[Image], side: usize, threads: usize) -> anyhow::Result<(f64, f64)> {
    let mut rings: Vec<Ring> = (0..threads).map(|_| Ring::new(case.transform.output_len())).collect();
    let (began, cpu_before) = (Instant::now(), cpu_seconds());
    thread::scope(|scope| {
        let started: Vec<_> = rings
            .iter_mut()
            .zip(images.chunks(images.len().div_ceil(threads)))
            .map(|(ring, images)| scope.spawn(move || case.transform_all(images, side, ring)))
            .collect();
        started
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| anyhow::anyhow!("a thread panicked"))?)
    })?;
    Ok((began.elapsed().as_secs_f64(), cpu_seconds() - cpu_before))
}

impl Case {
    fn transform_all(&self, images: &[Image], side: usize, ring: &mut Ring) -> anyhow::Result<()> {
        let mut scratch = Scratch::new();
        for (index, image) in images.iter().enumerate() {
            let key = SampleKey { seed: 1, epoch: 0, index: index as u64 };
            let out = ring.slot(index);
            if self.from_pixels {
                self.transform.decoded_into(&image.pixels, (side, side), key, &mut scratch, out)?;
            } else {
                self.transform.decode_into(&image.encoded, key, &mut scratch, out)?;
            }
        }
        Ok(())
    }
}

/// A batch of outputs, 64-byte aligned as the loader's, touched before the clock starts.
struct Ring {
    bytes: Vec<u8>,
    start: usize,
    image_bytes: usize,
}

impl Ring {
    fn new(image_bytes: usize) -> Self {
        let bytes = vec![1; BATCH * image_bytes + 64];
        let start = bytes.as_ptr().align_offset(64);
        Self { bytes, start, image_bytes }
    }

    fn slot(&mut self, index: usize) -> &mut [u8] {
        &mut self.bytes[self.start + index % BATCH * self.image_bytes..][..self.image_bytes]
    }
}

/// Pictures with smooth surfaces, edges and grain, about as large as photographs when encoded.
fn make_images(side: usize) -> anyhow::Result<Vec<Image>> {
    (0..IMAGES).map(|seed| make_image(side, seed as u64)).collect()
}

fn make_image(side: usize, seed: u64) -> anyhow::Result<Image> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u32 << 24) as f32
    };
    let waves: Vec<[f32; 5]> = (0..8).map(|_| [0; 5].map(|_| random())).collect();
    let mut pixels = Vec::with_capacity(side * side * 3);
    for y in 0..side {
        for x in 0..side {
            let (x, y) = (x as f32 / side as f32, y as f32 / side as f32);
            let mut colour = [128.0_f32; 3];
            for (place, [across, down, phase, sharp, tint]) in waves.iter().enumerate() {
                let wave = (across * 30.0 * x + down * 30.0 * y + phase * 6.0).sin();
                let wave = if *sharp > 0.7 { wave.signum() } else { wave };
                colour[place % 3] += wave * 20.0 * tint;
                colour.iter_mut().for_each(|colour| *colour += wave * 12.0);
            }
            let grain = (random() - 0.5) * 10.0;
            pixels.extend(colour.map(|colour| (colour + grain) as u8));
        }
    }
    let mut encoded = Vec::new();
    let mut encoder = Encoder::new(&mut encoded, 90);
    encoder.set_sampling_factor(SamplingFactor::F_2_2);
    encoder.encode(&pixels, u16::try_from(side)?, u16::try_from(side)?, ColorType::Rgb)?;
    Ok(Image { encoded, pixels })
}
