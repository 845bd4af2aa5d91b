"""Measures a DataLoader with one setting after the other, for `laptime advise --loader`.

Runs in a process of its own, in the user's folder, and needs nothing of laptime: `laptime` hands this file
to any Python that has torch. It answers requests on standard input, a JSON line each, by JSON lines on what
was standard output; what the user's code prints goes to standard error. No model is involved: batches are
taken as fast as they come.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import json
import os
import select
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Batches are reported no more often than this, so that reporting costs nothing beside tiny batches.
REPORT_EVERY_S = 0.05
# A pass with fewer batches is over before any worker matters.
FEWEST_BATCHES = 4
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Refused(Exception):
    """What cannot be measured: which kind of trouble, why, and what to do about it."""

    def __init__(self, kind: str, reason: str, hint: str | None = None) -> None:
        super().__init__(reason)
        self.kind, self.reason, self.hint = kind, reason, hint


class Talk:
    """The lines to and from laptime, out of reach of what the user's code prints and reads."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        self._in = os.dup(0)
        self._unread = b""
        os.dup2(2, 1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    def say(self, kind: str, **values: Any) -> None:
        self._out.write(json.dumps({"kind": kind, **values}) + "\n")
        self._out.flush()

    def refuse(self, trouble: Refused) -> None:
        self.say("error", what=trouble.kind, reason=trouble.reason, hint=trouble.hint)

    def listen(self) -> dict[str, Any] | None:
        """The next request; `None` when laptime is gone."""
        while b"\n" not in self._unread:
            some = os.read(self._in, 65536)
            if not some:
                return None
            self._unread += some
        line, self._unread = self._unread.split(b"\n", 1)
        return json.loads(line)

    def is_stopped(self) -> bool:
        """Whether laptime has heard enough of the present trial."""
        if b"\n" not in self._unread and not select.select([self._in], [], [], 0)[0]:
            return False
        request = self.listen()
        if request is None:
            raise SystemExit(0)
        return request["kind"] == "stop"


def make_factory(name: str) -> Callable[..., Any]:
    """The user's function: `train.py:make_loader` or `package.module:make_loader`."""
    place, _, function = name.rpartition(":")
    try:
        module = _import_file(Path(place)) if place.endswith(".py") else _import_module(place)
    except Refused:
        raise
    except BaseException as error:
        raise Refused("import", _in_words(error)) from error
    factory = getattr(module, function, None)
    if callable(factory):
        return factory
    callables = [name for name in vars(module) if callable(vars(module)[name])]
    near = [name for name in callables if "load" in name.lower() and not name.startswith("_")]
    hint = f"functions there: {', '.join(near[:5])}" if near else None
    what = "is not a function" if hasattr(module, function) else "is not there"
    raise Refused("function", f"`{function}` {what} in {place}", hint)


def _import_file(path: Path) -> Any:
    if not path.is_file():
        raise Refused("import", f"there is no file {path}")
    sys.path.insert(0, str(path.parent.resolve()))
    sys.argv = [str(path)]
    # Workers that are spawned import it by this name; one that is taken already belongs to somebody else.
    name = path.stem if path.stem not in sys.modules else f"laptime_loader_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _import_module(name: str) -> Any:
    sys.path.insert(0, os.getcwd())
    sys.argv = [name]
    return importlib.import_module(name)


def _in_words(error: BaseException) -> str:
    """`ValueError: no such split (train.py:12)`, the place being the last line of the user's."""
    # A worker's error has the worker's traceback as its text; the last line says what happened.
    lines = [line.strip() for line in str(error).strip().splitlines()]
    text = lines[-1] if lines else ""
    name = type(error).__name__
    words = text if text.startswith(f"{name}:") or not text else f"{name}: {text}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_users(frame.filename)]
    place = f" ({os.path.basename(own[-1].filename)}:{own[-1].lineno})" if own else ""
    return (words or name) + place


def _is_users(filename: str) -> bool:
    installed = f"{os.sep}lib{os.sep}python"
    return not filename.startswith("<") and installed not in filename


class Subject:
    """The loader under test: as the user made it, and made anew with other settings."""

    def __init__(self, factory: Callable[..., Any]) -> None:
        from torch.utils.data import DataLoader, IterableDataset

        self.factory = factory
        self.keywords = _keywords(factory)
        self.loader = self._call({})
        if not isinstance(self.loader, DataLoader):
            raise Refused(
                "loader",
                f"it returned {_article(type(self.loader).__name__)}, not a DataLoader",
                "return the DataLoader itself, not its dataset or an iterator over it",
            )
        self.is_iterable = isinstance(self.loader.dataset, IterableDataset)
        self.iterates_itself = type(self.loader).__iter__ is not DataLoader.__iter__
        if self.iterates_itself and "num_workers" not in self.keywords:
            raise Refused(
                "loader",
                f"{_article(type(self.loader).__name__)} cannot be made anew with other settings",
                "let the function take num_workers= and prefetch_factor=, and pass them on",
            )
        batches = self.batches()
        if batches is not None:
            _check_count(batches)

    def batches(self) -> int | None:
        """Batches of a pass; `None` where nobody knows."""
        try:
            return len(self.loader)
        except (TypeError, NotImplementedError):
            return None

    def about(self) -> dict[str, Any]:
        import torch

        loader = self.loader
        return {
            "workers": loader.num_workers,
            "prefetch": loader.prefetch_factor,
            "pin": bool(loader.pin_memory),
            "persistent": bool(loader.persistent_workers),
            "batch": loader.batch_size,
            "batches": self.batches(),
            "iterable": self.is_iterable,
            "cuda": torch.cuda.is_available(),
            "torch": torch.__version__,
        }

    def with_setting(self, request: dict[str, Any]) -> Any:
        """A new loader with the setting of a request."""
        wanted: dict[str, Any] = {
            "num_workers": request["workers"],
            "prefetch_factor": request["prefetch"],
            "pin_memory": request["pin"],
            "persistent_workers": False,
        }
        if request.get("batch"):
            wanted["batch_size"] = request["batch"]
        if self.iterates_itself or ("batch_size" in wanted and "batch_size" in self.keywords):
            return self._call({key: value for key, value in wanted.items() if key in self.keywords})
        return self._rebuilt(wanted)

    def _call(self, values: dict[str, Any]) -> Any:
        try:
            return self.factory(**values)
        except BaseException as error:
            raise Refused("factory", _in_words(error)) from error

    def _rebuilt(self, wanted: dict[str, Any]) -> Any:
        from torch.utils.data import DataLoader

        loader = self.loader
        kept = (
            "dataset",
            "collate_fn",
            "timeout",
            "worker_init_fn",
            "generator",
            "pin_memory_device",
        )
        values = {
            name: getattr(loader, name)
            for name in (*kept, "multiprocessing_context", "in_order")
            if hasattr(loader, name)
        }
        if wanted["num_workers"] == 0:
            # Neither means anything without workers, and DataLoader refuses both.
            values.pop("multiprocessing_context", None)
            values["timeout"] = 0
        return DataLoader(**values, **self._batching(wanted.pop("batch_size", None)), **wanted)

    def _batching(self, batch: int | None) -> dict[str, Any]:
        """What decides which samples make a batch, over and over so that a short pass does not end workers."""
        from torch.utils.data import BatchSampler

        loader = self.loader
        if self.is_iterable:
            size = batch if batch and loader.batch_size else loader.batch_size
            return {"batch_size": size, "drop_last": loader.drop_last}
        if loader.batch_sampler is None:
            if batch:
                raise Refused("batch", "its loader makes no batches: batch_size is None")
            return {"batch_size": None, "sampler": Repeated(loader.sampler)}
        if batch is None:
            return {"batch_sampler": Repeated(loader.batch_sampler)}
        if type(loader.batch_sampler) is not BatchSampler:
            raise Refused(
                "batch",
                f"its batches are made by {_article(type(loader.batch_sampler).__name__)}",
                "let the function take batch_size=, or leave --batch out",
            )
        return {"batch_sampler": Repeated(BatchSampler(loader.sampler, batch, loader.drop_last))}


class Repeated:
    """A sampler, pass after pass."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler

    def __iter__(self) -> Iterator[Any]:
        while True:
            some = False
            for item in self.sampler:
                some = True
                yield item
            if not some:
                return


def _article(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


def _keywords(factory: Callable[..., Any]) -> frozenset[str]:
    """Names that the function takes by keyword."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    known = {"num_workers", "prefetch_factor", "pin_memory", "persistent_workers", "batch_size"}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return frozenset(known)
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return (
        frozenset(parameter.name for parameter in parameters if parameter.kind in by_name) & known
    )


def samples_in(batch: Any, otherwise: int) -> int:
    """Samples of a batch: the first length that something in it has."""
    if hasattr(batch, "shape"):
        return int(batch.shape[0]) if len(batch.shape) else 1
    if isinstance(batch, dict):
        return samples_in(next(iter(batch.values())), otherwise) if batch else otherwise
    if isinstance(batch, (list, tuple)) and batch:
        first = batch[0]
        return samples_in(first, otherwise) if hasattr(first, "shape") else len(batch)
    # Graphs and the like count themselves.
    return int(getattr(batch, "num_graphs", 0) or getattr(batch, "batch_size", 0) or otherwise)


class Usage:
    """CPU time and reads from disk of this process, its workers and the machine, between two instants."""

    def __init__(self, workers: list[int]) -> None:
        self.workers = workers
        self.began = self._read()

    def _read(self) -> dict[str, float]:
        processes = [_process_use(pid) for pid in self.workers]
        own = _process_use(os.getpid())
        return {
            "main_s": time.process_time(),
            "workers_s": sum(cpu for cpu, _ in processes),
            "disk_bytes": own[1] + sum(read for _, read in processes),
            "machine_s": _machine_busy_s(),
        }

    def since(self) -> dict[str, float]:
        now = self._read()
        return {name: max(now[name] - before, 0.0) for name, before in self.began.items()}


def _process_use(pid: int) -> tuple[float, float]:
    """CPU seconds and bytes read from disk; nothing of a process that is gone."""
    cpu, read = 0.0, 0.0
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        cpu = (int(fields[11]) + int(fields[12])) / TICKS_PER_S
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
        read = float(next(line for line in lines if line.startswith("read_bytes")).split()[1])
    return cpu, read


def _machine_busy_s() -> float:
    try:
        fields = [
            int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        ]
    except (OSError, ValueError):
        return 0.0
    # All but idle, waiting for disks, and guests, who are counted as users already.
    return (sum(fields[:8]) - fields[3] - fields[4]) / TICKS_PER_S


def _private_bytes(pids: list[int]) -> int | None:
    """Memory that the largest worker shares with nobody."""
    most = None
    for pid in pids:
        with contextlib.suppress(OSError, ValueError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            private = sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
            most = max(most or 0, private * 1024)
    return most


class Trial:
    """One setting, measured until laptime has heard enough or the time is over."""

    def __init__(self, subject: Subject, request: dict[str, Any], talk: Talk) -> None:
        self.subject, self.talk = subject, talk
        self.workers: int = request["workers"]
        # Batches that a pass begins with all at once: one a worker. What comes after is the steady pace.
        self.lead = max(self.workers, 1)
        self.loader = subject.with_setting(request)
        self.size = request.get("batch") or subject.loader.batch_size or 1
        self.copy = _copy_to_device if request.get("copy") else None
        self.limit = time.perf_counter() + request["seconds"]
        self.unsaid: list[tuple[float, int]] = []
        self.said = 0.0
        self.used = dict.fromkeys(
            ("steady_s", "main_s", "workers_s", "disk_bytes", "machine_s"), 0.0
        )
        self.worker_bytes: int | None = None
        self.twins: list[Any] = []

    def run(self) -> None:
        """Reports the time to the first batch, then each batch, then what was used."""
        passes = 0
        enough = False
        while not enough:
            enough = self._pass(passes == 0) or time.perf_counter() >= self.limit
            passes += 1
        self._say_batches()
        self.talk.say("end", passes=passes, worker_bytes=self.worker_bytes, **self.used)

    def _pass(self, is_first: bool) -> bool:
        """One pass over the loader; whether it was stopped before its end."""
        began = time.perf_counter()
        iterator = iter(self.loader)
        count, stopped = 0, False
        last = steady = began
        usage: Usage | None = None
        for batch in iterator:
            if self.copy is not None:
                self.copy(batch)
            now = time.perf_counter()
            count += 1
            if count == 1 and is_first:
                self.talk.say("first", seconds=now - began)
            if count <= 3 * self.workers and self.subject.is_iterable:
                self._look_for_twins(batch, count)
            if count > self.lead:
                self.unsaid.append((now - last, samples_in(batch, self.size)))
            elif count == self.lead:
                usage, steady = Usage(_pids(iterator)), now
            last = now
            if now - self.said >= REPORT_EVERY_S:
                self._say_batches()
                stopped = self.talk.is_stopped() or now >= self.limit
                if stopped:
                    break
        if not stopped:
            _check_count(count)
            if count <= self.lead:
                raise Refused("iterate", f"a pass is {_batches(count)}, no more than the workers")
        if usage is not None:
            self._account(usage, last - steady)
        return stopped

    def _account(self, usage: Usage, steady_s: float) -> None:
        used = {"steady_s": steady_s, **usage.since()}
        self.used = {name: before + used[name] for name, before in self.used.items()}
        self.worker_bytes = _private_bytes(usage.workers) or self.worker_bytes

    def _say_batches(self) -> None:
        self.said = time.perf_counter()
        if self.unsaid:
            self.talk.say("batches", batches=self.unsaid)
            self.unsaid = []

    def _look_for_twins(self, batch: Any, count: int) -> None:
        """Refuses a stream of which every worker reads the same: more workers would only repeat it.

        Batches come from the workers in turn, so the first two are the first of two workers.
        """
        if self.workers < 2 or (count - 1) % self.workers > 1:
            return
        self.twins.append(_fingerprint(batch))
        if len(self.twins) < 4 or None in self.twins[:4]:
            return
        first, second, later, _ = self.twins[:4]
        if len(self.twins) == 4 and first == second and first != later:
            raise Refused(
                "stream",
                "every worker reads the same samples of its IterableDataset: with"
                f" {self.workers} workers each comes {self.workers} times",
                "share them out in __iter__ by torch.utils.data.get_worker_info()",
            )


def _check_count(count: int) -> None:
    if count < FEWEST_BATCHES:
        raise Refused(
            "short",
            "its loader has no batches"
            if count == 0
            else f"a pass over its loader is {_batches(count)}: too few to measure",
            "use more data or smaller batches; num_workers=0 is right for so little",
        )


def _batches(count: int) -> str:
    return f"{count} batch{'' if count == 1 else 'es'}"


def _pids(iterator: Any) -> list[int]:
    return [worker.pid for worker in getattr(iterator, "_workers", ())]


def _tensors(batch: Any) -> Iterator[Any]:
    if hasattr(batch, "data_ptr"):
        yield batch
    elif isinstance(batch, dict):
        for value in batch.values():
            yield from _tensors(value)
    elif isinstance(batch, (list, tuple)):
        for value in batch:
            yield from _tensors(value)


def _fingerprint(batch: Any) -> tuple[Any, ...] | None:
    """What tells batches apart; `None` where there is nothing to tell them by."""
    tensors = tuple(
        (tuple(tensor.shape), tensor.detach().cpu().numpy().tobytes()) for tensor in _tensors(batch)
    )
    return tensors or None


def _copy_to_device(batch: Any) -> None:
    """Copies a batch to the GPU as a training does, and waits for it."""
    import torch

    for tensor in _tensors(batch):
        tensor.to("cuda", non_blocking=True)
    torch.cuda.current_stream().synchronize()


def _trouble(error: BaseException) -> Refused:
    """What went wrong while batches were taken, with what is known to help."""
    if isinstance(error, Refused):
        return error
    words = _in_words(error)
    text = str(error)
    if "pickle" in text.lower() or "Can't get attribute" in text:
        hint = (
            "spawned workers get everything by pickle: use named functions of a module, no lambda"
        )
        return Refused("pickle", words, hint)
    if "Bus error" in text or "shared memory" in text:
        return Refused("memory", words, "give the container more shared memory: --shm-size")
    return Refused("iterate", words)


def main() -> None:
    """Answers requests until there are no more."""
    talk = Talk()
    try:
        subject = Subject(make_factory(sys.argv[1]))
        talk.say("ready", **subject.about())
    except Refused as trouble:
        return talk.refuse(trouble)
    while (request := talk.listen()) is not None:
        # A stop may come when the trial has just ended by itself.
        if request["kind"] == "try":
            try:
                Trial(subject, request, talk).run()
            except Exception as error:
                talk.refuse(_trouble(error))


if __name__ == "__main__":
    main()
