//! Layers: what hooks measured of a model's modules.

use laptime_core::{LayerFacts, Record, Trouble};

use crate::active::active;
use crate::explicit::open_fit;
use crate::trouble::note_trouble;

/// Puts a module of this thread's fit on record, as it stands after the sampled steps so far.
pub fn record_layer(facts: LayerFacts) {
    if let (Some(fit), Some(recorder)) = (open_fit(), active()) {
        recorder.note(Record::Layer { fit, facts: Box::new(facts) });
    }
}

/// Puts on record why there are no times of layers.
pub fn layers_off(because: &str) {
    note_trouble(Trouble::LayerTimesOff { because: because.to_owned() });
}
