"""A Ray cluster as laptime uses it: which nodes can take work, tasks on them, and what becomes of those."""

from __future__ import annotations

import logging
import os
import socket
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from laptime import _native
from laptime.ray import tasks

# How often the nodes are looked at, seconds.
LOOK = 1.0
# How long a node may take to say what it is: its first Python is started for that.
LONGEST_LOOK = 120.0
# How long tasks that are ended may take to be so.
LONGEST_END = 10.0


class Talk(Protocol):
    """Whoever is told what happens."""

    def say(self, kind: str, body: bytes = b"", **content: Any) -> None: ...


class Unusable(Exception):
    """There is no cluster that can take the work."""

    def __init__(self, because: str, hint: str | None = None) -> None:
        super().__init__(because)
        self.hint = hint


class Cluster:
    """Connects at once; what happens later is told as messages."""

    def __init__(self, talk: Talk, wanted: dict[str, Any]) -> None:
        self._talk = talk
        self._folder = wanted["folder"]
        self._options = _task_options(wanted)
        self._sees_all = wanted["cpus"] is None
        self._running: dict[int, ray.ObjectRef[Any]] = {}
        self._known: dict[str, dict[str, Any] | None] = {}
        """What each node says of itself; `None` where it cannot take work."""
        self._gone: set[str] = set()
        self._told: list[str] = []
        self._lock = threading.RLock()
        self._ending = threading.Event()
        # Results are fetched from other machines, several at a time.
        self._fetchers = ThreadPoolExecutor(4, thread_name_prefix="laptime-ray")
        _connect(wanted.get("address"))
        reasons = self._look()
        if not self._told:
            reason = reasons[0] if reasons else "the cluster has no node"
            raise Unusable(reason, _hint(reason))
        self._warn(reasons)
        threading.Thread(target=self._watch, daemon=True).start()

    def begin(self, request: dict[str, Any]) -> None:
        """Begins a task on the node it is meant for."""
        task = tasks.of_kind(request["kind"])
        place = NodeAffinitySchedulingStrategy(request["node"], soft=False)
        options = {**self._options, "scheduling_strategy": place}
        ref = task.on_node.options(**options).remote(
            self._folder, request["request"], self._sees_all
        )
        with self._lock:
            self._running[request["id"]] = ref
        done = ref.future()
        done.add_done_callback(lambda done: self._fetchers.submit(self._fetch, task, request, done))

    def end(self) -> None:
        """Ends every task, and the connection."""
        self._ending.set()
        with self._lock:
            running = list(self._running.values())
        for ref in running:
            ray.cancel(ref, force=True)
        try:
            ray.wait(running, num_returns=len(running), timeout=LONGEST_END) if running else None
        except RayError:
            pass
        self._fetchers.shutdown(wait=False, cancel_futures=True)
        ray.shutdown()

    def _fetch(self, task: Any, request: dict[str, Any], done: Future[Any]) -> None:
        number, node = request["id"], request["node"]
        try:
            answer, body = task.at_home(request, *done.result())
        except RayTaskError as error:
            lost: dict[str, Any] | None = {"reason": _one_line(error.cause or error), "alone": True}
        except RayError as error:
            lost = {"reason": type(error).__name__, "alone": self._lives(node)}
        except Exception as error:
            lost = {"reason": _one_line(error), "alone": True}
        else:
            lost = None
        with self._lock:
            self._running.pop(number, None)
        if self._ending.is_set():
            return
        if lost is None:
            self._talk.say("done", body, id=number, answer=answer)
            return
        if not lost["alone"]:
            with self._lock:
                self._gone.add(node)
                self._tell()
        self._talk.say("lost", id=number, **lost)

    def _begin_look(self, node: str) -> Any:
        place = NodeAffinitySchedulingStrategy(node, soft=False)
        return tasks.look.options(scheduling_strategy=place).remote(
            self._folder, _native.LOG_VERSION
        )

    def _lives(self, node: str) -> bool:
        """Whether a node is still there; one that was just killed may be on Ray's list for a moment."""
        asked = self._begin_look(node)
        try:
            ray.get(asked, timeout=LONGEST_END)
        except RayError:
            return False
        return True

    def _watch(self) -> None:
        while not self._ending.wait(LOOK):
            try:
                self._warn(self._look())
            except Exception as error:
                if not self._ending.is_set():
                    self._talk.say("error", reason=_one_line(error), hint=None)
                return

    def _look(self) -> list[str]:
        """Asks new nodes what they are, and tells of all that can take work; gives why others cannot."""
        alive = {node["NodeID"]: node for node in ray.nodes() if node["Alive"]}
        new = [node for node in alive if node not in self._known]
        asked = {node: self._begin_look(node) for node in new}
        reasons = [self._ask(node, alive[node], asked[node]) for node in new]
        with self._lock:
            self._gone |= self._known.keys() - alive.keys()
            self._tell()
        return [reason for reason in reasons if reason]

    def _ask(self, node: str, listed: dict[str, Any], asked: Any) -> str | None:
        """Learns what a new node is; gives why it cannot take work."""
        name = listed["NodeManagerHostname"]
        found, reason = None, tasks.lacking(listed["Resources"], self._options)
        if reason is None:
            try:
                found = ray.get(asked, timeout=LONGEST_LOOK)
                reason = found["lacking"]
            except GetTimeoutError:
                reason = "no answer"
            except RayError as error:
                reason = _one_line(getattr(error, "cause", None) or error)
        with self._lock:
            self._known[node] = None if reason else found
        return f"node {name} cannot take work: {reason}" if reason else None

    def _warn(self, reasons: list[str]) -> None:
        for reason in reasons:
            self._talk.say("warning", text=f"laptime: {reason}")

    def _tell(self) -> None:
        """Tells of the nodes, when they are others than before; the lock is held."""
        usable = {
            node: said for node, said in self._known.items() if said and node not in self._gone
        }
        if list(usable) != self._told:
            self._told = list(usable)
            self._talk.say("nodes", nodes=[{"id": node, **said} for node, said in usable.items()])


def _hint(reason: str) -> str | None:
    if "No module named 'laptime" in reason or "log format" in reason:
        return "every node needs this version of laptime: pip install 'laptime[ray]'"
    if "there is no folder" in reason:
        return "start where all nodes have the same files, such as a network file system"
    return None


def _connect(address: str | None) -> None:
    # Without an address Ray would start a cluster of its own, which ends with this process.
    address = address or os.environ.get("RAY_ADDRESS") or "auto"
    try:
        _answers(address)
        ray.init(
            address=address, log_to_driver=False, logging_level=logging.ERROR, namespace="laptime"
        )
    except (ConnectionError, RayError, RuntimeError, OSError, ValueError) as error:
        where = "on this machine" if address == "auto" else f"at {address}"
        raise Unusable(
            f"no Ray cluster was found {where}: {_one_line(error)}",
            "`ray start --head` starts one here; --on ray=ADDRESS names another",
        ) from None


def _answers(address: str) -> None:
    """Fails soon where Ray would go on asking for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=LONGEST_END).close()


def _task_options(wanted: dict[str, Any]) -> dict[str, Any]:
    """What each task asks of a node; it is tried once, since laptime decides where it is tried again."""
    options: dict[str, Any] = {"num_cpus": wanted["cpus"] if wanted["cpus"] is not None else 1}
    if wanted["gpus"] is not None:
        options["num_gpus"] = wanted["gpus"]
    if wanted["memory_bytes"] is not None:
        options["memory"] = wanted["memory_bytes"]
    return options | {"max_retries": 0}


def _one_line(error: BaseException) -> str:
    text = str(error).strip().split("\n")[-1].strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
