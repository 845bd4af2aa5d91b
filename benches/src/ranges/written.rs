//! Files of every format whose samples are known because they were written.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::rows::written::{Family, write as write_text};

/// Bytes of a file before it is packed.
pub(super) const FILE_BYTES: u64 = 64 << 20;

/// One kind of file.
#[derive(Clone, Debug)]
pub(super) enum Case {
    Text(Family),
    /// Text packed by a program of the system.
    Packed(Family, &'static str),
    Records(Lengths),
    Shard(Lengths),
    /// Arrays in files of their own.
    Arrays,
    /// Written by pyarrow in this Python.
    PyArrow(&'static str, String),
}

/// How long records are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lengths {
    Short,
    Long,
    /// Mostly short, some very long.
    Skewed,
    /// Fourfold from the first to the last.
    Growing,
}

impl Lengths {
    const ALL: [Self; 4] = [Self::Short, Self::Long, Self::Skewed, Self::Growing];

    fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Long => "long",
            Self::Skewed => "skewed",
            Self::Growing => "growing",
        }
    }

    fn draw(self, rng: &mut ChaCha8Rng, progress: f64) -> usize {
        let share = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        match self {
            Self::Short => 100 + (share * 200.0) as usize,
            Self::Long => 60_000 + (share * 100_000.0) as usize,
            Self::Skewed => (800.0 * (1.0 - share).powf(-1.0 / 1.7)).min(2e6) as usize,
            Self::Growing => (1_000.0 * (1.0 + 3.0 * progress)) as usize,
        }
    }
}

/// All kinds; those of Parquet and Feather need a Python that has pyarrow.
pub(super) fn cases(python: Option<&str>) -> Vec<Case> {
    let packed = |ending| {
        [Family::Numbers, Family::Lognormal, Family::JsonLines, Family::Growing]
            .map(|family| Case::Packed(family, ending))
    };
    let pyarrow =
        |python: &str| ["parquet", "feather", "arrow"].map(|ending| Case::PyArrow(ending, python.to_owned()));
    let mut cases: Vec<Case> = Family::ALL.map(Case::Text).into();
    cases.extend(["gz", "zst"].into_iter().flat_map(packed));
    cases.extend(Lengths::ALL.map(Case::Records));
    cases.extend(Lengths::ALL.map(Case::Shard));
    cases.push(Case::Arrays);
    cases.extend(python.into_iter().flat_map(pyarrow));
    cases
}

impl Case {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Text(family) => family.name().to_owned(),
            Self::Packed(family, ending) => format!("{}, .{ending}", family.name()),
            Self::Records(lengths) => format!("TFRecord, {}", lengths.name()),
            Self::Shard(lengths) => format!("tar, {}", lengths.name()),
            Self::Arrays => "x.npy beside y.npy".to_owned(),
            Self::PyArrow(ending, _) => format!(".{ending} of pyarrow"),
        }
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Packed(..))
    }

    /// Writes a file into the folder; gives its samples, or `None` where the program to write it is missing.
    pub(super) fn write(&self, folder: &Path, seed: u64) -> anyhow::Result<Option<u64>> {
        Ok(match self {
            Self::Text(family) => Some(write_text(&text_in(folder, *family), *family, seed, FILE_BYTES)?),
            Self::Packed(family, ending) => {
                let path = text_in(folder, *family);
                let rows = write_text(&path, *family, seed, FILE_BYTES)?;
                let program = if *ending == "gz" { "gzip" } else { "zstd" };
                pack(program, &path)?.then_some(rows)
            }
            Self::Records(lengths) => Some(write_records(&folder.join("x.tfrecord"), *lengths, seed)?),
            Self::Shard(lengths) => Some(write_shard(&folder.join("x.tar"), *lengths, seed)?),
            Self::Arrays => Some(write_arrays(folder)?),
            Self::PyArrow(ending, python) => write_by_pyarrow(folder, ending, python)?,
        })
    }
}

fn text_in(folder: &Path, family: Family) -> std::path::PathBuf {
    folder.join(format!("text.{}", family.ending()))
}

/// Whether the program packed the file, which is then gone; `false` where there is no such program.
fn pack(program: &str, path: &Path) -> anyhow::Result<bool> {
    let status = Command::new(program).arg("-q").arg(path).stdin(Stdio::null()).status();
    match status {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
        Ok(status) => {
            anyhow::ensure!(status.success(), "{program} failed");
            // gzip removes what it has packed, zstd does not.
            let _ = fs::remove_file(path);
            Ok(true)
        }
    }
}

fn write_records(path: &Path, lengths: Lengths, seed: u64) -> io::Result<u64> {
    let masked =
        |bytes: &[u8]| crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes();
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut written, mut records) = (0, 0);
    while written < FILE_BYTES {
        let data = vec![7_u8; lengths.draw(&mut rng, written as f64 / FILE_BYTES as f64)];
        let length = (data.len() as u64).to_le_bytes();
        for part in [&length[..], &masked(&length), &data, &masked(&data)] {
            out.write_all(part)?;
            written += part.len() as u64;
        }
        records += 1;
    }
    out.flush()?;
    Ok(records)
}

/// Samples of an image and a label.
fn write_shard(path: &Path, lengths: Lengths, seed: u64) -> io::Result<u64> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut written, mut samples) = (0, 0_u64);
    while written < FILE_BYTES {
        let bytes = lengths.draw(&mut rng, written as f64 / FILE_BYTES as f64);
        for (ending, bytes) in [("jpg", bytes), ("cls", 1)] {
            let mut member = header(&format!("train/{samples:08}.{ending}"), bytes);
            member.resize(member.len() + bytes.next_multiple_of(512), 7);
            out.write_all(&member)?;
            written += member.len() as u64;
        }
        samples += 1;
    }
    out.write_all(&[0; 1024])?;
    out.flush()?;
    Ok(samples)
}

fn header(name: &str, bytes: usize) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..135].copy_from_slice(format!("{bytes:011o}").as_bytes());
    header[148..156].fill(b' ');
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header
}

fn write_arrays(folder: &Path) -> io::Result<u64> {
    let rows = FILE_BYTES / 4 / 28;
    for (name, shape, bytes) in
        [("x", format!("({rows}, 28)"), rows * 28 * 4), ("y", format!("({rows},)"), rows * 8)]
    {
        let code = if name == "x" { "<f4" } else { "<i8" };
        let header = format!("{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut file = File::create(folder.join(format!("{name}.npy")))?;
        file.write_all(b"\x93NUMPY\x01\0")?;
        file.write_all(&(header.len() as u16).to_le_bytes())?;
        file.write_all(header.as_bytes())?;
        file.set_len(10 + header.len() as u64 + bytes)?;
    }
    Ok(rows)
}

fn write_by_pyarrow(folder: &Path, ending: &str, python: &str) -> anyhow::Result<Option<u64>> {
    const ROWS: u64 = 3_000_000;
    const SCRIPT: &str = "
import sys, numpy, pyarrow, pyarrow.feather, pyarrow.ipc, pyarrow.parquet
path, rows = sys.argv[1], int(sys.argv[2])
numbers = numpy.random.default_rng(0).normal(size=(rows, 2))
table = pyarrow.table({'id': numpy.arange(rows), 'x': numbers[:, 0], 'y': numbers[:, 1]})
if path.endswith('parquet'):
    pyarrow.parquet.write_table(table, path, row_group_size=100_000)
elif path.endswith('feather'):
    pyarrow.feather.write_feather(table, path)
else:
    with pyarrow.ipc.new_stream(path, table.schema) as out:
        out.write_table(table, max_chunksize=50_000)
";
    let path = folder.join(format!("x.{ending}"));
    let status = Command::new(python).args(["-c", SCRIPT]).arg(&path).arg(ROWS.to_string()).status()?;
    anyhow::ensure!(status.success(), "{python} could not write {}", path.display());
    Ok(Some(ROWS))
}
