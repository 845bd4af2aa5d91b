//! A loader of Burn whose passes are put on record: yours to copy.

use std::sync::Arc;

use burn::data::dataloader::{DataLoader, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::tensor::Device;
use laptime::{BatchLog, StageGuard, stage};

/// A pass for training is an epoch, its batches are steps; one for validation is an `evaluate` stage.
pub struct RecordedLoader<O> {
    loader: Arc<dyn DataLoader<O>>,
    validates: bool,
}

impl<O: 'static> RecordedLoader<O> {
    pub fn training(loader: Arc<dyn DataLoader<O>>) -> Arc<dyn DataLoader<O>> {
        Arc::new(Self { loader, validates: false })
    }

    pub fn validation(loader: Arc<dyn DataLoader<O>>) -> Arc<dyn DataLoader<O>> {
        Arc::new(Self { loader, validates: true })
    }
}

impl<O: 'static> DataLoader<O> for RecordedLoader<O> {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<O> + 'a> {
        let evaluate = self.validates.then(|| stage!("evaluate"));
        Box::new(Pass { batches: self.loader.iter(), log: BatchLog::default(), _evaluate: evaluate })
    }

    fn num_items(&self) -> usize {
        self.loader.num_items()
    }

    fn to_device(&self, device: &Device) -> Arc<dyn DataLoader<O>> {
        Arc::new(Self { loader: self.loader.to_device(device), validates: self.validates })
    }

    fn slice(&self, start: usize, end: usize) -> Arc<dyn DataLoader<O>> {
        Arc::new(Self { loader: self.loader.slice(start, end), validates: self.validates })
    }
}

struct Pass<'a, O> {
    batches: Box<dyn DataLoaderIterator<O> + 'a>,
    log: BatchLog,
    _evaluate: Option<StageGuard>,
}

impl<O> Iterator for Pass<'_, O> {
    type Item = Result<O, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let before = self.progress().items_processed;
        self.log.request();
        let batch = self.batches.next();
        match &batch {
            Some(Ok(_)) => self.log.arrived((self.progress().items_processed - before) as u32),
            _ => self.log.ran_out(),
        }
        batch
    }
}

impl<O> DataLoaderIterator<O> for Pass<'_, O> {
    fn progress(&self) -> Progress {
        self.batches.progress()
    }
}

impl<O> Drop for Pass<'_, O> {
    /// Burn leaves a pass early when it is interrupted.
    fn drop(&mut self) {
        self.log.end();
    }
}
