//! What Burn shows while it trains: a line an epoch.

use burn::train::logger::{EvaluationProgressLogger, TrainingProgressLogger};
use burn::train::metric::{MetricDefinition, NumericEntry};
use burn::train::renderer::{
    EvaluationName, MetricState, MetricsRenderer, MetricsRendererEvaluation, MetricsRendererTraining,
};

#[derive(Default)]
pub struct ShownLosses {
    training: f64,
    validation: f64,
}

fn final_value(state: MetricState) -> Option<f64> {
    match state {
        MetricState::Numeric(_, Some(NumericEntry::Final(value))) => Some(value),
        _ => None,
    }
}

impl MetricsRendererTraining for ShownLosses {
    fn update_train(&mut self, state: MetricState) {
        self.training = final_value(state).unwrap_or(self.training);
    }
    fn update_valid(&mut self, state: MetricState) {
        self.validation = final_value(state).unwrap_or(self.validation);
    }
}

impl TrainingProgressLogger for ShownLosses {
    fn start(&mut self, _epochs: usize, _first: usize, _items: Option<usize>, _label: Option<&str>) {}
    fn update_epoch(&mut self, epoch: usize) {
        println!("epoch {epoch}: loss {:.4}, validation {:.4}", self.training, self.validation);
    }
    fn start_split(&mut self, _split: &str, _items: usize) {}
    fn update_split(&mut self, _items: usize) {}
    fn end_split(&mut self) {}
    fn end(&mut self) {}
    fn log_event_training(&mut self, _event: String) {}
}

impl EvaluationProgressLogger for ShownLosses {
    fn start_global_progress(&mut self, _tests: usize) {}
    fn start_test(&mut self, _name: &str, _items: usize) {}
    fn update_test_progress(&mut self, _items: usize) {}
    fn end_test(&mut self) {}
    fn end_global_progress(&mut self) {}
    fn log_event_evaluation(&mut self, _event: String) {}
}

impl MetricsRendererEvaluation for ShownLosses {
    fn update_test(&mut self, _name: EvaluationName, _state: MetricState) {}
}

impl MetricsRenderer for ShownLosses {
    fn manual_close(&mut self) {}
    fn register_metric(&mut self, _definition: MetricDefinition) {}
}
