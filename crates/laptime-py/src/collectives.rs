//! What PyTorch's process groups report of their collectives: issued, done, waited for.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use laptime_core::{CollectiveKind, GroupFacts};
use laptime_record::{
    self as record, Before, CollectiveId, GroupNumber, StageId, collective_begin, collective_end, guarded,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::pending;
use crate::torch::are_plain;
use crate::training::with_training;

/// How the trouble of these hooks is called.
const HOOK: &str = "torch.ProcessGroup";

thread_local! {
    static ISSUED: Cell<Option<Issued>> = const { Cell::new(None) };
}

/// The collective that a thread is issuing.
#[derive(Clone, Copy)]
struct Issued {
    collective: CollectiveId,
    kind: CollectiveKind,
    on_device: bool,
}

/// The hooks of one process group, which PyTorch calls before and after it issues a collective.
#[pyclass(module = "laptime._native", frozen)]
pub(crate) struct GroupHooks {
    /// Gives name, backend, ranks, purpose and this process' rank within the group, which are not known before the
    /// first collective.
    describe: Py<PyAny>,
    /// Gives the bytes of tensors that somebody watches, and whether a device has them.
    measure: Py<PyAny>,
    /// Kinds by PyTorch's numbers; `None` for what is no exchange.
    kinds: Vec<Option<CollectiveKind>>,
    known: OnceLock<Known>,
    /// Kinds whose `Work` has no future, by their number: it says nothing when it is done.
    silent: [AtomicBool; CollectiveKind::ALL.len()],
    is_off: AtomicBool,
}

/// What is known of a group from its first collective on.
struct Known {
    group: GroupNumber,
    own_rank: i64,
    /// Whether its collectives are done when the host says so, wherever their tensors are.
    on_host: bool,
}

#[pymethods]
impl GroupHooks {
    #[new]
    fn new(describe: Py<PyAny>, measure: Py<PyAny>, operations: Vec<String>) -> Self {
        Self {
            describe,
            measure,
            kinds: operations.iter().map(|name| kind_of(name)).collect(),
            known: OnceLock::new(),
            silent: Default::default(),
            is_off: AtomicBool::new(false),
        }
    }

    /// A collective is about to be issued.
    fn before(&self, args: &Bound<'_, PyAny>) {
        self.harmlessly(|| self.begin(args));
    }

    /// It is issued.
    fn after(&self, args: &Bound<'_, PyAny>) {
        self.harmlessly(|| self.issued(args));
    }
}

impl GroupHooks {
    /// A hook that fails is off from then on, and the run says so.
    fn harmlessly(&self, body: impl FnOnce() -> PyResult<()>) {
        if self.is_off.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = guarded(Ok(()), body) {
            self.is_off.store(true, Ordering::Relaxed);
            guarded((), || record::hook_off(HOOK, &error.to_string()));
        }
    }

    fn begin(&self, args: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Some(failed) = ISSUED.take() {
            collective_end(failed.collective);
        }
        let Some(kind) = self.kind(args)? else { return Ok(()) };
        let known = self.known(args.py())?;
        let (bytes, on_device) = self.measure(args, known)?;
        let bytes = if gives(kind, args, known.own_rank)? { bytes } else { 0 };
        let begun = collective_begin(known.group, kind, bytes);
        ISSUED.set(begun.map(|collective| Issued { collective, kind, on_device }));
        Ok(())
    }

    fn issued(&self, args: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = args.py();
        let Some(Issued { collective, kind, on_device }) = ISSUED.take() else { return Ok(()) };
        let work = args.getattr(intern!(py, "work"))?;
        if work.is_none() || on_device {
            // When a device is done is not known here: what it does has the time that the host took to issue it.
            collective_end(collective);
            return Ok(());
        }
        pending::finish_abandoned();
        // Whoever issues one that is not asynchronous waits for it.
        let is_async = args.getattr(intern!(py, "async_op"))?.is_truthy()?;
        let silent = &self.silent[kind as usize];
        let has_future = is_async && !silent.load(Ordering::Relaxed);
        if pending::keep(work, collective, has_future) != has_future {
            silent.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn kind(&self, args: &Bound<'_, PyAny>) -> PyResult<Option<CollectiveKind>> {
        let number: usize = args.getattr(intern!(args.py(), "name"))?.extract()?;
        Ok(self.kinds.get(number).copied().flatten())
    }

    fn known(&self, py: Python<'_>) -> PyResult<&Known> {
        if let Some(known) = self.known.get() {
            return Ok(known);
        }
        let (name, backend, ranks, purpose, own_rank): (_, String, _, _, _) =
            self.describe.bind(py).call0()?.extract()?;
        let on_host = runs_on_host(&backend);
        let group = record::add_group(GroupFacts { name, backend, ranks, purpose });
        // The number of a group that is none: there are more than can be recorded.
        let group = group.unwrap_or(GroupNumber(u16::MAX));
        Ok(self.known.get_or_init(|| Known { group, own_rank, on_host }))
    }

    /// How many bytes are given, and whether a device gives or gets them on its own time.
    fn measure(&self, args: &Bound<'_, PyAny>, known: &Known) -> PyResult<(u64, bool)> {
        let py = args.py();
        let given = args.getattr(intern!(py, "input_tensors"))?.cast_into::<PyList>()?;
        if known.on_host && are_plain(&given) {
            return Ok((bytes_of(&given)?, false));
        }
        let taken = args.getattr(intern!(py, "output_tensors"))?;
        let (bytes, on_device): (u64, bool) = self.measure.bind(py).call1((given, taken))?.extract()?;
        Ok((bytes, on_device && !known.on_host))
    }
}

fn bytes_of(tensors: &Bound<'_, PyList>) -> PyResult<u64> {
    let name = intern!(tensors.py(), "nbytes");
    tensors.iter().map(|tensor| tensor.getattr(name)?.extract::<u64>()).sum()
}

/// Whether each backend of a group runs on the host, in PyTorch's words such as `gloo` or `cpu:gloo,cuda:nccl`.
fn runs_on_host(backend: &str) -> bool {
    backend.split(',').all(|one| matches!(one.rsplit(':').next(), Some("gloo" | "mpi")))
}

/// What an operation of PyTorch does; `None` for what is no exchange.
fn kind_of(operation: &str) -> Option<CollectiveKind> {
    use CollectiveKind::{
        AllGather, AllReduce, AllToAll, Barrier, Broadcast, Gather, Other, Receive, Reduce, ReduceScatter,
        Scatter, Send,
    };
    Some(match operation {
        "ALLREDUCE" | "ALLREDUCE_COALESCED" => AllReduce,
        "ALLGATHER" | "ALLGATHER_BASE" | "ALLGATHER_COALESCED" | "ALLGATHER_INTO_TENSOR_COALESCED" => {
            AllGather
        }
        "REDUCE_SCATTER" | "REDUCE_SCATTER_BASE" | "REDUCE_SCATTER_TENSOR_COALESCED" => ReduceScatter,
        "ALLTOALL" | "ALLTOALL_BASE" => AllToAll,
        "BARRIER" => Barrier,
        "BROADCAST" => Broadcast,
        "REDUCE" => Reduce,
        "GATHER" => Gather,
        "SCATTER" => Scatter,
        "SEND" => Send,
        "RECV" => Receive,
        "" | "SPLIT" | "NEW_WINDOW" => return None,
        _ => Other,
    })
}

/// Whether this rank gives anything: of these only the root does.
fn gives(kind: CollectiveKind, args: &Bound<'_, PyAny>, own_rank: i64) -> PyResult<bool> {
    if !matches!(kind, CollectiveKind::Broadcast | CollectiveKind::Scatter) {
        return Ok(true);
    }
    Ok(args.getattr(intern!(args.py(), "root"))?.extract::<i64>()? == own_rank)
}

/// The script waits for other ranks; gives what `end_rank_wait` needs.
#[pyfunction]
pub(crate) fn begin_rank_wait() -> u16 {
    with_training(0, |training| training.begin_device_work(StageId::COMMUNICATION).0.0)
}

/// It has waited for this `Work`, or for something that has none.
#[pyfunction]
#[pyo3(signature = (before, work=None))]
pub(crate) fn end_rank_wait(before: u16, work: Option<&Bound<'_, PyAny>>) {
    if let Some(work) = work {
        guarded((), || pending::finish(work.as_ptr().addr()));
    }
    with_training((), |training| {
        training.end_device_work(StageId::COMMUNICATION, Before(StageId(before)));
    });
}

/// Lets threads of PyTorch that have something to report come to an end of it: the interpreter is about to end, and
/// would end the process if they came later.
#[pyfunction]
pub(crate) fn finish_collectives(py: Python<'_>) {
    guarded((), || pending::finish_all(py));
}

/// Says that not all exchange between ranks or devices is seen, and why.
#[pyfunction]
pub(crate) fn collectives_not_seen(because: &str) {
    guarded((), || record::collectives_not_seen(because));
}
