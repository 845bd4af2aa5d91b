//! How any batch of any epoch is made: a function of its number alone, so that threads and resuming change nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use laptime_record::{StageGuard, stage};

use super::batch::{BatchArray, LoadedBatch};
use super::column_layout::{ColumnPlan, Way};
use super::epoch_order::{EpochKey, EpochOrder, Shuffle};
use super::error::LoaderError;
use super::gather::{FixedColumn, Position};
use super::memory::{AlignedMemory, Pool};
use super::options::{LoaderOptions, Subset};
use super::sequence::{SequenceColumn, Stretch};
use super::shard::Shard;
use crate::image::{ImageError, SampleKey, Scratch};
use crate::pack::{Element, Pack};

/// Bytes of a block of a window shuffle.
const BLOCK_BYTES: u64 = 1 << 20;

/// The number of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) seed: u64,
    pub(super) epoch: u64,
    pub(super) batch: u64,
}

/// How any batch is made.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) pack: Arc<Pack>,
    pub(super) columns: Vec<ColumnPlan>,
    pub(super) shard: Shard,
    shuffle: Shuffle,
    block_rows: u64,
    subset: Subset,
    verify: bool,
    /// The window that was announced to the system last, plus one.
    announced: AtomicU64,
}

/// What a thread keeps from batch to batch.
#[derive(Default)]
pub(super) struct Workspace {
    /// Whether a thread beside the training has it: what that does has a ledger of its own. In the loop it is the wait
    /// for data, whatever it is made of.
    is_ahead: bool,
    order: Option<(EpochKey, EpochOrder)>,
    samples: Vec<u64>,
    positions: Vec<Position>,
    stretches: Vec<Stretch>,
    bytes: Vec<u8>,
    scratch: Scratch,
}

impl Workspace {
    /// Of a thread that loads ahead.
    pub(super) fn ahead() -> Self {
        Self { is_ahead: true, ..Self::default() }
    }
}

impl Recipe {
    pub(super) fn new(pack: Arc<Pack>, columns: Vec<ColumnPlan>, options: &LoaderOptions) -> Self {
        let length = options.samples(pack.rows());
        let shard = Shard {
            length,
            batch_size: options.batch_size as u64,
            rank: options.rank,
            world: options.world,
            drop_last: options.drop_last,
            contiguous: matches!(options.shuffle, Shuffle::Window { .. }),
        };
        let block_rows = block_rows(&pack);
        let (shuffle, subset, verify) = (options.shuffle, options.subset.clone(), options.verify);
        Self { pack, columns, shard, shuffle, block_rows, subset, verify, announced: AtomicU64::new(0) }
    }

    /// Whether there are samples that nobody has read and checked yet.
    pub(super) fn is_unseen(&self) -> bool {
        self.verify && !self.pack.is_all_checked()
    }

    /// The batch after another; the first of the next epoch after the last.
    pub(super) const fn after(&self, ticket: Ticket) -> Ticket {
        if ticket.batch + 1 < self.shard.batches() {
            Ticket { batch: ticket.batch + 1, ..ticket }
        } else {
            Ticket { batch: 0, epoch: ticket.epoch.wrapping_add(1), ..ticket }
        }
    }

    /// Makes a batch.
    pub(super) fn make(
        &self,
        ticket: Ticket,
        pool: &Arc<Pool>,
        workspace: &mut Workspace,
    ) -> Result<LoadedBatch, LoaderError> {
        self.choose(ticket, workspace);
        self.locate(workspace)?;
        let mut making = Making { recipe: self, ticket, pool, workspace };
        let mut arrays = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            making.column(column, &mut arrays)?;
        }
        Ok(LoadedBatch { arrays })
    }

    /// Finds which samples a batch has.
    fn choose(&self, ticket: Ticket, workspace: &mut Workspace) {
        let key = EpochKey { seed: ticket.seed, epoch: ticket.epoch };
        let length = self.shard.length;
        let order = match &mut workspace.order {
            Some((of, order)) if *of == key => order,
            order => &mut order.insert((key, EpochOrder::new(self.shuffle, length, self.block_rows, key))).1,
        };
        let (start, count) = self.shard.places(ticket.batch);
        self.announce(order, start % length, ticket.epoch);
        let samples = &mut workspace.samples;
        samples.resize(count, 0);
        let mut filled = 0;
        while filled < count {
            // Behind the end the order begins again.
            let place = (start + filled as u64) % length;
            let until = count.min(filled + (length - place).min(count as u64) as usize);
            order.fill(place, &mut samples[filled..until]);
            filled = until;
        }
        match &self.subset {
            Subset::All => {}
            Subset::Range(begin, _) => samples.iter_mut().for_each(|sample| *sample += begin),
            Subset::Samples(chosen) => {
                samples.iter_mut().for_each(|sample| *sample = chosen[*sample as usize]);
            }
        }
    }

    /// At the first batch of a window, asks the system to read the window's blocks and those of the next.
    fn announce(&self, order: &EpochOrder, place: u64, epoch: u64) {
        let Some(window) = order.window_at(place) else { return };
        let number = (epoch << 32 | window).wrapping_add(1);
        if matches!(self.subset, Subset::Samples(_))
            || self.announced.swap(number, Ordering::Relaxed) == number
        {
            return;
        }
        let offset = if let Subset::Range(begin, _) = self.subset { begin } else { 0 };
        for block in order.blocks_of(window).into_iter().chain(order.blocks_of(window + 1)) {
            let first = offset + block * self.block_rows;
            let last = first.saturating_add(self.block_rows - 1).min(self.pack.rows() - 1);
            for batch in self.pack.locate(first).0..=self.pack.locate(last).0 {
                self.pack.read_ahead(batch);
            }
        }
    }

    /// Finds where the samples lie, and that nothing there is damaged.
    fn locate(&self, workspace: &mut Workspace) -> Result<(), LoaderError> {
        let Workspace { samples, positions, is_ahead, .. } = workspace;
        positions.clear();
        positions.extend(samples.iter().map(|sample| {
            let (batch, row) = self.pack.locate(*sample);
            Position { batch: batch as u32, row: row as u32 }
        }));
        if self.is_unseen() {
            let _check = is_ahead.then(|| stage!("check"));
            for position in positions {
                self.pack.ensure_checked(position.batch as usize)?;
            }
        }
        Ok(())
    }
}

/// Samples of a block: those of whole record batches that have about 1 MiB together.
fn block_rows(pack: &Pack) -> u64 {
    let bytes = pack.bytes() / (pack.record_batches() as u64).max(1);
    pack.batch_rows().saturating_mul((BLOCK_BYTES / bytes.max(1)).max(1))
}

fn bad_image(pack: &Pack, plan: &ColumnPlan, sample: u64, source: ImageError) -> LoaderError {
    LoaderError::Image { path: pack.path().to_owned(), sample, column: plan.name.clone(), source }
}

/// What making a column is on record as.
fn stage_of(way: &Way) -> StageGuard {
    match way {
        Way::Rows(_) => stage!("gather"),
        Way::Encoded { .. } => stage!("decode"),
        Way::Decoded { .. } => stage!("transform"),
        Way::Padded { .. } => stage!("pad"),
    }
}

/// A batch while it is made.
struct Making<'a> {
    recipe: &'a Recipe,
    ticket: Ticket,
    pool: &'a Arc<Pool>,
    workspace: &'a mut Workspace,
}

impl Making<'_> {
    fn take(&self, bytes: Option<usize>) -> Result<AlignedMemory, LoaderError> {
        let bytes = bytes.unwrap_or(usize::MAX);
        self.pool.take(bytes).ok_or(LoaderError::NoMemory { bytes })
    }

    fn column(&mut self, plan: &ColumnPlan, arrays: &mut Vec<BatchArray>) -> Result<(), LoaderError> {
        let rows = self.workspace.positions.len();
        let _stage = self.workspace.is_ahead.then(|| stage_of(&plan.way));
        if let Way::Padded { column, pad } = &plan.way {
            return self.padded(*column, pad, arrays);
        }
        let element = plan.element;
        let mut shape = Vec::with_capacity(plan.shape.len() + 1);
        shape.push(rows);
        shape.extend(&plan.shape);
        let bytes = shape.iter().try_fold(element.bytes(), |bytes, side| bytes.checked_mul(*side));
        let mut memory = self.take(bytes)?;
        let out = memory.as_mut_slice();
        match &plan.way {
            Way::Rows(column) => column.gather(&self.recipe.pack, &self.workspace.positions, out)?,
            Way::Encoded { column, .. } => self.encoded(*column, plan, out)?,
            Way::Decoded { column, .. } => self.decoded(column, plan, out)?,
            Way::Padded { .. } => {}
        }
        arrays.push(BatchArray::new(element, shape, memory));
        Ok(())
    }

    fn key(&self, sample: u64) -> SampleKey {
        SampleKey { seed: self.ticket.seed, epoch: self.ticket.epoch, index: sample }
    }

    fn encoded(
        &mut self,
        column: SequenceColumn,
        plan: &ColumnPlan,
        out: &mut [u8],
    ) -> Result<(), LoaderError> {
        let Way::Encoded { transform, .. } = &plan.way else { return Ok(()) };
        let pack = &self.recipe.pack;
        for (row, out) in out.chunks_exact_mut(transform.output_len()).enumerate() {
            let (sample, position) = (self.workspace.samples[row], self.workspace.positions[row]);
            let key = self.key(sample);
            let stretch = column.find(pack, position)?;
            let Workspace { bytes, scratch, .. } = &mut *self.workspace;
            let encoded = column.bytes(pack, stretch, bytes)?;
            let decoded = transform.decode_into(encoded, key, scratch, out);
            decoded.map_err(|source| bad_image(pack, plan, sample, source))?;
        }
        Ok(())
    }

    fn decoded(
        &mut self,
        column: &FixedColumn,
        plan: &ColumnPlan,
        out: &mut [u8],
    ) -> Result<(), LoaderError> {
        let Way::Decoded { transform, image, .. } = &plan.way else { return Ok(()) };
        let pack = &self.recipe.pack;
        for (row, out) in out.chunks_exact_mut(transform.output_len()).enumerate() {
            let (sample, position) = (self.workspace.samples[row], self.workspace.positions[row]);
            let key = self.key(sample);
            let Workspace { bytes, scratch, .. } = &mut *self.workspace;
            let pixels = match column.row(pack, position) {
                Some(pixels) => pixels,
                None => {
                    bytes.resize(column.row_bytes, 0);
                    column.read(pack, position, bytes)?;
                    bytes
                }
            };
            let decoded = transform.decoded_into(pixels, *image, key, scratch, out);
            decoded.map_err(|source| bad_image(pack, plan, sample, source))?;
        }
        Ok(())
    }

    fn padded(
        &mut self,
        column: SequenceColumn,
        pad: &[u8],
        arrays: &mut Vec<BatchArray>,
    ) -> Result<(), LoaderError> {
        let pack = &self.recipe.pack;
        let rows = self.workspace.positions.len();
        let mut lengths = self.take(rows.checked_mul(8))?;
        self.workspace.stretches.clear();
        let mut longest = 0;
        for (position, out) in self.workspace.positions.iter().zip(lengths.as_mut_slice().chunks_exact_mut(8))
        {
            let stretch = column.find(pack, *position)?;
            out.copy_from_slice(&((stretch.bytes / pad.len()) as i64).to_le_bytes());
            longest = longest.max(stretch.bytes);
            self.workspace.stretches.push(stretch);
        }
        let mut values = self.take(longest.checked_mul(rows))?;
        if longest > 0 {
            let rows = values.as_mut_slice().chunks_exact_mut(longest);
            for (stretch, out) in self.workspace.stretches.iter().zip(rows) {
                column.pad(pack, *stretch, pad, out)?;
            }
        }
        arrays.push(BatchArray::new(column.element, vec![rows, longest / pad.len()], values));
        arrays.push(BatchArray::new(Element::I64, vec![rows], lengths));
        Ok(())
    }
}
