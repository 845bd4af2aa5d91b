//! Stream: the bytes of one event file, epoch by epoch.

use std::collections::BTreeSet;

use laptime_analyse::EpochSummary;

use super::event::{Value, scalar_event, version_event};
use super::points::step;
use super::record::record;
use super::scalars::{description, moment, scalars};

/// What has been written to a file so far.
#[derive(Clone, Debug, Default)]
pub(super) struct EventStream {
    begun: bool,
    described: BTreeSet<String>,
}

impl EventStream {
    /// The records of an epoch, the file's first record before them where nothing was written yet.
    ///
    /// All numbers of an epoch are one record, so a file that ends anywhere has whole epochs only.
    pub(super) fn records_of(&mut self, epoch: &EpochSummary) -> Vec<u8> {
        let Some(unix_s) = moment(epoch) else { return Vec::new() };
        let scalars = scalars(epoch);
        let values = scalars.iter().map(|scalar| Value {
            tag: &scalar.tag,
            number: scalar.value as f32,
            description: self.described.insert(scalar.tag.clone()).then(|| description(&scalar.tag)),
        });
        let numbers = scalar_event(unix_s, step(epoch), values);
        let first = if std::mem::replace(&mut self.begun, true) { None } else { Some(version_event(unix_s)) };
        first.into_iter().chain([numbers]).flat_map(|event| record(&event)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::whole_records;
    use super::*;
    use crate::text::sample;

    #[test]
    fn a_file_begins_with_its_version_and_has_a_record_for_every_whole_epoch() {
        let mut epochs = sample::finished().epochs;
        let count = epochs.len();
        for (number, epoch) in epochs.iter_mut().enumerate() {
            epoch.ended_unix_s = Some(1_000.0 + number as f64);
        }
        epochs[count - 1].complete = false;
        let mut stream = EventStream::default();
        let bytes: Vec<u8> = epochs.iter().flat_map(|epoch| stream.records_of(epoch)).collect();
        let records = whole_records(&bytes);
        assert_eq!(records.len(), 1 + (count - 1));
        assert_eq!(records[0], version_event(1_000.0));
        let holds =
            |record: &[u8], text: &str| record.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(holds(records[1], "laptime/epoch_time_s") && holds(records[1], "scalars"));
        assert!(holds(records[2], "laptime/epoch_time_s") && !holds(records[2], "scalars"), "written once");
    }

    #[test]
    fn an_epoch_whose_end_has_no_clock_time_has_no_point() {
        let mut epoch = sample::finished().epochs[0].clone();
        epoch.ended_unix_s = None;
        assert_eq!(EventStream::default().records_of(&epoch), [0_u8; 0]);
    }
}
