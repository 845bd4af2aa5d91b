"""Layers: the time of each module of a model on some of its steps; attached only where `--layers` asks for it.

A step is sampled by hooks on the model's modules that are there only while its forward call runs, so that a
checkpoint never holds one. The backward pass is timed by hooks on the nodes of autograd's graph at which one module's
work meets another's: they add nothing to the graph, and go with it. A compiled model is left alone: hooks would make
it compile again.

Times are a module's own, without those of the modules it calls.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .. import _guard, _native, _training
from .._passes import owned
from .._sampling import TOO_SHORT, Schedule, Steps
from .._sampling import now as _now
from . import modules
from .flops import flops_of
from .sizes import untracked

_is_tracing = torch._C._is_tracing
_in_backward = torch._C._current_graph_task_id

# What torch itself takes longer for a call of a module that has hooks, nanoseconds.
_HOOKED_CALL = 3_000
# Modules of a model that are timed: more would take too long to hook.
_MOST_MODULES = 5_000
# Modules that a script calls itself in one fit: a loss is one, too.
_MOST_MODELS = 64
# Samples whose device has not come to them yet.
_MOST_PENDING = 8

COMPILED = "the model is compiled, and hooks on its modules would make it compile again"
SCRIPTED = "the model is TorchScript, which calls no modules that could be timed"


class Layer:
    """One module and what the sampled steps add up to: nanoseconds of the host, milliseconds of the device."""

    __slots__ = (
        "after",
        "backward",
        "before",
        "calls",
        "count_flops",
        "device_backward",
        "device_forward",
        "flops",
        "forward",
        "mark",
        "module",
        "name",
    )

    def __init__(self, name: str, module: Any, model: Model) -> None:
        self.name = name
        self.module = weakref.ref(module)
        # Made once: objects that are made on every sample would let the garbage collector run more often.
        self.before = _hook(model, Sample.before, self)
        self.after = _hook(model, Sample.after, self)
        self.mark = _hook(model, Sample.mark, self)
        self.count_flops = flops_of(module)
        self.flops = 0
        self.calls = 0
        self.forward = 0
        self.backward = 0
        self.device_forward = 0.0
        self.device_backward = 0.0


class Model:
    """A model that is trained: its modules, and how often it was called and sampled."""

    __slots__ = (
        "calls",
        "device_steps",
        "layers",
        "mark_outside",
        "prefix",
        "reason",
        "root",
        "sample",
        "sees_backward",
        "steps",
    )

    def __init__(self, root: Any, prefix: str) -> None:
        self.root = weakref.ref(root)
        self.prefix = prefix
        self.calls = Steps()
        # Samples that are added up.
        self.steps = 0
        self.device_steps = 0
        self.sees_backward = False
        # The newest one.
        self.sample: Sample | None = None
        self.mark_outside = _hook(self, Sample.mark, None)
        self.reason = _why_not(root)
        self.layers: list[Layer] = []
        if not self.reason:
            for name, module in root.named_modules():
                # A wrapper such as DistributedDataParallel has the model as its `module`.
                self.layers.append(Layer(name.removeprefix("module."), module, self))
                if len(self.layers) >= _MOST_MODULES:
                    break

    def record(self) -> None:
        """Puts the layers on record as they stand."""
        if not self.steps:
            return
        parameters = self._parameters()
        on_device = self.device_steps == self.steps
        for layer in self.layers:
            module = layer.module()
            if layer.calls and module is not None:
                name = ".".join(part for part in (self.prefix, layer.name) if part)
                _native.record_layer(
                    name,
                    type(module).__name__,
                    parameters[layer.name],
                    layer.flops if layer.count_flops is not None else None,
                    self.steps,
                    layer.calls,
                    layer.forward * 1e-9,
                    layer.backward * 1e-9 if self.sees_backward else None,
                    layer.device_forward * 1e-3 if on_device else None,
                    layer.device_backward * 1e-3 if on_device and self.sees_backward else None,
                )

    def _parameters(self) -> dict[str, int]:
        """Parameters of each module; those of one that is never called are its parent's, which uses them."""
        called = {layer.name for layer in self.layers if layer.calls}
        found = dict.fromkeys(called, 0)
        for layer in self.layers:
            module, owner = layer.module(), layer.name
            while owner not in called and owner:
                owner = owner.rpartition(".")[0]
            if module is not None and owner in called:
                with untracked():
                    found[owner] += sum(one.numel() for one in module.parameters(recurse=False))
        return found


class Frame:
    """One call of a module on a sampled step."""

    __slots__ = ("children", "end", "events", "inside", "layer", "start")

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self.start = 0
        self.end = 0
        # Time of the calls inside of it, with what their hooks take.
        self.inside = 0
        self.children: list[Frame] | None = None
        self.events: tuple[Any, Any] | None = None


class Sample:
    """One step that is sampled: its forward calls, then the marks of its backward pass."""

    def __init__(self, model: Model, clock: Clock) -> None:
        self.model = model
        self.clock = clock
        self.thread = threading.get_ident()
        self.handles: list[Any] = []
        self.open: list[Frame] = []
        self.frames: list[Frame] = []
        # Nodes of the graph at which the work of another module begins on the way back; kept while they are made.
        self.nodes: set[Any] = set()
        # Whose work the backward pass does, since when, and the device's events of all such marks.
        self.current: Layer | None = None
        self.since = 0
        self.in_backward = False
        self.marks: list[tuple[Layer | None, Any]] = []
        self.is_done = False
        self.cost = 0

    def attach(self) -> None:
        """Hooks every module."""
        for layer in self.model.layers:
            module = layer.module()
            if module is not None:
                before = module.register_forward_pre_hook(layer.before, with_kwargs=True)
                self.handles.append(before)
                self.handles.append(module.register_forward_hook(layer.after))

    def detach(self) -> None:
        """Takes the hooks off again; what is left of the sample are marks in the graph."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
        self.nodes.clear()
        self.open.clear()

    def _is_elsewhere(self) -> bool:
        """Whether a call is none of this step's: of another thread, or computed again on the way back."""
        return threading.get_ident() != self.thread or _in_backward() != -1

    def before(self, layer: Layer, module: Any, inputs: Any, named: Any = None) -> None:
        """A module is called."""
        entered = _now()
        if self._is_elsewhere():
            return
        frame = Frame(layer)
        self._mark_nodes((inputs, named), self.open[-1].layer if self.open else None)
        self.open.append(frame)
        if self.clock.is_on:
            frame.events = (self.clock.event(), None)
        frame.start = _now()
        self.cost += frame.start - entered
        # Until the call ends this is when it was entered.
        frame.end = entered

    def after(self, layer: Layer, module: Any, inputs: Any, output: Any) -> None:
        """A module has returned."""
        end = _now()
        if self._is_elsewhere():
            return
        while self.open:
            frame = self.open.pop()
            if frame.layer is layer:
                break
        else:
            return
        if frame.events is not None:
            frame.events = (frame.events[0], self.clock.event())
        if layer.count_flops is not None:
            with untracked():
                layer.flops += layer.count_flops(module, inputs, output)
        self._mark_nodes((output,), layer)
        entered, frame.end = frame.end, end
        self.frames.append(frame)
        left = _now()
        self.cost += left - end
        if self.open:
            around = self.open[-1]
            around.inside += left - entered
            if frame.events is not None:
                around.children = [*(around.children or ()), frame]

    def _mark_nodes(self, values: Any, owner: Layer | None) -> None:
        """On the way back the owner's work begins at the nodes of these tensors, unless another's does."""
        with untracked():
            for tensor in _tensors(values, 0):
                node = tensor.grad_fn
                if node is not None and node not in self.nodes:
                    self.nodes.add(node)
                    node.register_prehook(self.model.mark_outside if owner is None else owner.mark)

    def mark(self, owner: Layer | None, _: Any) -> None:
        """The backward pass comes to the work of a module."""
        entered = _now()
        if not self.in_backward:
            self.in_backward = self.model.sees_backward = True
            ended = _hook(self.model, Sample.backward_ended)
            torch.autograd.Variable._execution_engine.queue_callback(ended)
        elif self.current is not None:
            self.current.backward += entered - self.since
        self.marks.append((owner, self.clock.event()))
        self.current = owner
        self.since = _now()
        self.cost += self.since - entered

    def backward_ended(self) -> None:
        """The backward pass has ended."""
        if self.current is not None:
            self.current.backward += _now() - self.since
        self.marks.append((None, self.clock.event()))
        self.current, self.in_backward, self.is_done = None, False, True

    def add_up(self) -> None:
        """Adds the forward calls to their layers: the host's times."""
        for frame in self.frames:
            frame.layer.calls += 1
            frame.layer.forward += max(frame.end - frame.start - frame.inside, 0)
        self.model.steps += 1

    def add_device_times(self) -> bool:
        """Adds the device's times, once it has come to the last event; `False` before. It is never waited for."""
        events = [frame.events for frame in self.frames]
        events += [(mark[1], None) for mark in self.marks]
        known = [
            event for pair in events if pair is not None for event in pair if event is not None
        ]
        if not all(event.query() for event in reversed(known)):
            return False
        for frame in self.frames:
            inside = sum(_device_time(child) for child in frame.children or ())
            frame.layer.device_forward += max(_device_time(frame) - inside, 0.0)
        for (owner, start), (_, end) in zip(self.marks, self.marks[1:], strict=False):
            if owner is not None:
                owner.device_backward += max(start.elapsed_time(end), 0.0)
        self.clock.give_back(known)
        self.model.device_steps += 1
        return True


class Clock:
    """The device's clock: events that are used again; of a model on a CPU there are none."""

    __slots__ = ("free", "is_on")

    def __init__(self) -> None:
        self.is_on = False
        self.free: list[Any] = []

    def event(self) -> Any:
        """An event on the current stream, now."""
        if not self.is_on:
            return None
        event = self.free.pop() if self.free else torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def give_back(self, events: list[Any]) -> None:
        """These events have been read."""
        self.free.extend(events)


class Watch:
    """The models that are trained, the call that is sampled, and what came of those before."""

    def __init__(self) -> None:
        # By address: a metric is a module whose hash changes.
        self.models: dict[int, Model] = {}
        self.clock = Clock()
        self.sample: Sample | None = None
        # Samples whose backward pass, and whose device, may not be done yet.
        self.pending: list[Sample] = []
        self.schedule = Schedule()
        self.recorded_at = 0
        self.said_why = False
        self.thread = threading.get_ident()

    def begin(self, module: Any) -> bool:
        """A module is called, outermost; says whether this call is sampled, and then `end` must follow."""
        if not module.training or self.sample is not None or not torch.is_grad_enabled():
            return False
        # What a framework on top of torch calls is that one's.
        if owned.depth or threading.get_ident() != self.thread or _is_tracing():
            return False
        return bool(_begin(self, module))

    def end(self) -> None:
        """The call that is sampled has ended."""
        _end(self)

    def model_of(self, root: Any) -> Model | None:
        """What is known of a model; of several in a fit each but the first has its class before its names."""
        model = self.models.get(id(root))
        if model is not None and model.root() is root:
            return model
        if len(self.models) >= _MOST_MODELS:
            return None
        taken = {known.prefix for known in self.models.values()}
        prefix = type(root).__name__ if taken else ""
        while prefix in taken:
            prefix += "'"
        model = self.models[id(root)] = Model(root, prefix)
        return model

    def settle(self, *, is_last: bool = False) -> None:
        """Adds up the samples whose backward pass is done, on the device too; of too many the oldest go."""
        waiting = []
        for sample in self.pending:
            is_ready = sample.is_done or is_last
            if not is_ready or (self.clock.is_on and not sample.add_device_times()):
                waiting.append(sample)
                continue
            sample.add_up()
            self.schedule.cost += sample.cost
        self.pending = waiting[-_MOST_PENDING:]
        steps = sum(model.steps for model in self.models.values())
        # Each time twice as many: a training that is killed keeps most of them.
        if steps >= 2 * self.recorded_at and steps:
            self.record()

    def record(self) -> None:
        """Puts what was sampled so far on record."""
        self.recorded_at = sum(model.steps for model in self.models.values())
        for model in self.models.values():
            model.record()

    def end_fit(self) -> None:
        """A fit ends: what was sampled of it is its own."""
        self.settle(is_last=True)
        self.record()
        if not self.recorded_at and not self.said_why:
            self.said_why = True
            reasons = [model.reason for model in self.models.values() if model.reason]
            compiled = COMPILED if _compiles() else ""
            _native.layers_off(next(iter(reasons), compiled or TOO_SHORT))
        self.models = {}
        self.pending = []
        self.recorded_at = 0


@_guard.safely
def _begin(watch: Watch, root: Any) -> bool:
    entered = _now()
    model = watch.model_of(root)
    if model is None or model.reason or not watch.schedule.wants(model.calls):
        return False
    # What was compiled since is as good a reason as what was compiled at first.
    model.reason = _why_not(root)
    if model.reason:
        return False
    is_on_device = next((one.is_cuda for one in root.parameters()), False)
    if is_on_device and torch.cuda.is_current_stream_capturing():
        return False
    watch.clock.is_on = is_on_device
    watch.settle()
    watch.schedule.take(model.calls)
    watch.sample = model.sample = sample = Sample(model, watch.clock)
    try:
        sample.attach()
    except BaseException:
        sample.detach()
        watch.sample = None
        raise
    watch.schedule.cost += _now() - entered
    return True


@_guard.safely
def _end(watch: Watch) -> None:
    entered = _now()
    sample, watch.sample = watch.sample, None
    if sample is not None:
        whole = not sample.open
        sample.detach()
        # A call that failed is none.
        if whole and sample.frames:
            watch.pending.append(sample)
        watch.schedule.cost += _now() - entered + len(sample.frames) * _HOOKED_CALL


def _hook(model: Model, function: Callable[..., None], *first: Any) -> Callable[..., None]:
    """A hook that goes to the newest sample of a model and never fails: what it cannot do is left out."""

    def hook(*args: Any) -> None:
        try:
            if model.sample is not None:
                function(model.sample, *first, *args)
        except Exception as error:
            _guard.broken("layers", error)

    return hook


def _tensors(values: Any, depth: int) -> Iterator[Any]:
    """The tensors in the inputs or the output of a module."""
    if isinstance(values, torch.Tensor):
        yield values
    elif depth < 4:
        if isinstance(values, dict):
            values = values.values()
        elif not isinstance(values, (tuple, list)):
            return
        for value in values:
            yield from _tensors(value, depth + 1)


def _device_time(frame: Frame) -> float:
    start, end = frame.events or (None, None)
    return start.elapsed_time(end) if start is not None and end is not None else 0.0


def _compiles() -> bool:
    """Whether Dynamo has compiled anything in this process."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    frames = getattr(dynamo, "counters", {}).get("frames", {})
    return bool(frames.get("ok"))


def _why_not(root: Any) -> str:
    """Why a model's modules cannot be timed; empty where they can."""
    if isinstance(root, torch.jit.ScriptModule):
        return SCRIPTED
    optimized = getattr(sys.modules.get("torch._dynamo.eval_frame"), "OptimizedModule", ())
    for module in root.modules():
        if isinstance(module, optimized) or getattr(module, "_compiled_call_impl", None):
            return COMPILED
    return COMPILED if _compiles() else ""


def attach() -> None:
    """Times the layers of every model that is trained from now on."""
    watch = Watch()
    modules.watch = watch
    _training.before_fit_ends.append(_guard.safely(_make_end_fit(watch)))


def _make_end_fit(watch: Watch) -> Callable[[], None]:
    def end_fit() -> None:
        watch.end_fit()

    return end_fit
