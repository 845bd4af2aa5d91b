//! A layer of `tracing` that makes stages of spans.

use laptime_record::{StageId, enter, exit, stage_id};
use tracing::span::{Attributes, Id};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// Records the spans of one target as stages named after them, so that a training whose loop belongs to a library
/// can be recorded from outside.
///
/// A target takes everything below it: `my_model` takes the spans of `my_model::encoder` too.
///
/// ```
/// use laptime::{Options, Recorder, Status, TracingLayer};
/// use tracing_subscriber::prelude::*;
///
/// # let folder = std::env::temp_dir().join("laptime-doc-tracing");
/// # let options = Options { root: Some(folder.clone()), ..Options::default() };
/// # #[cfg(any())]
/// let options = Options::default();
/// tracing_subscriber::registry().with(TracingLayer::for_target("my_model")).init();
/// let recorder = Recorder::start(&options);
/// tracing::info_span!(target: "my_model", "forward").in_scope(|| { /* the library's work */ });
/// recorder.finish(Status::Finished, None);
/// # std::fs::remove_dir_all(folder).ok();
/// ```
#[derive(Clone, Debug)]
pub struct TracingLayer {
    target: String,
}

impl TracingLayer {
    /// Takes the spans of this target and below it.
    pub fn for_target(target: impl Into<String>) -> Self {
        Self { target: target.into() }
    }

    fn takes(&self, metadata: &Metadata<'_>) -> bool {
        let below = metadata.target().strip_prefix(self.target.as_str());
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    }
}

/// The stage that a span is, kept with it.
struct SpanStage(StageId);

impl<S: Subscriber + for<'lookup> LookupSpan<'lookup>> Layer<S> for TracingLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let metadata = attributes.metadata();
        if let Some(span) = context.span(id).filter(|_| self.takes(metadata)) {
            span.extensions_mut().replace(SpanStage(stage_id(metadata.name())));
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if let Some(stage) = stage_of(id, &context) {
            enter(stage);
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if let Some(stage) = stage_of(id, &context) {
            exit(stage);
        }
    }
}

fn stage_of<S: Subscriber + for<'lookup> LookupSpan<'lookup>>(
    id: &Id,
    context: &Context<'_, S>,
) -> Option<StageId> {
    context.span(id)?.extensions().get::<SpanStage>().map(|stage| stage.0)
}
