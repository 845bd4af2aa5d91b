"""One repeat of a sweep as a task: on the node it is measured as `laptime sweep` measures one, by a process of its own,
and its run folder comes back through Ray's object store.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from typing import Any

import ray

_measuring: subprocess.Popen[str] | None = None
"""Who measures, for as long as this worker of Ray has the environment that it was started with."""
_environment: dict[str, str] = {}


@ray.remote
def on_node(folder: str, request: dict[str, Any], sees_all: bool) -> tuple[dict[str, Any], bytes]:
    """Measures a point once, in the folder of the same name; gives the answer and the run folder.

    `sees_all`: no number of CPUs was asked for, so the command uses the machine as it would alone.
    """
    return _measured(folder, _environment_of(sees_all), request)


def at_home(
    request: dict[str, Any], answer: dict[str, Any], run: bytes
) -> tuple[dict[str, Any], bytes]:
    """Puts the run folder where the sweep keeps its runs."""
    if run:
        os.makedirs(request["into"], mode=0o700, exist_ok=True)
        _unpack(run, request["into"], answer["repeat"]["run"])
    return answer, b""


def _measured(
    folder: str, environment: dict[str, str], request: dict[str, Any]
) -> tuple[dict[str, Any], bytes]:
    """What the task gives; Ray sends the task itself by value, so it must not look at what changes here."""
    runs = tempfile.mkdtemp(prefix="laptime-ray-")
    try:
        answer = _ask(folder, environment, {**request, "runs": runs})
        run = (answer.get("repeat") or {}).get("run")
        return answer, _packed(os.path.join(runs, run)) if run else b""
    finally:
        shutil.rmtree(runs, ignore_errors=True)


def _ask(folder: str, environment: dict[str, str], request: dict[str, Any]) -> dict[str, Any]:
    global _measuring
    process = _measuring_process(folder, environment)
    assert process.stdin and process.stdout
    try:
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except BaseException:
        # Ended in the middle of a repeat: it ends its command.
        process.terminate()
        _end(process)
        _measuring = None
        raise
    if not line.endswith("\n"):
        _measuring = None
        raise RuntimeError(f"what measures ended with {process.wait()}")
    return json.loads(line)


def _measuring_process(folder: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    """The process that measures; a new one where the task has other devices than the one before."""
    global _measuring, _environment
    if _measuring is not None and _measuring.poll() is None and environment == _environment:
        return _measuring
    if _measuring is not None:
        _end(_measuring)
        _measuring.wait()
    words = [sys.executable, "-P", "-m", "laptime.ray.measuring", str(os.getpid())]
    _environment, pipe = environment, subprocess.PIPE
    _measuring = subprocess.Popen(
        words, cwd=folder, env=environment, text=True, stdin=pipe, stdout=pipe
    )
    return _measuring


def _end(process: subprocess.Popen[str]) -> None:
    """Gives it nothing more to do; then it ends."""
    try:
        if process.stdin is not None:
            process.stdin.close()
    except BrokenPipeError:
        pass


def _environment_of(sees_all: bool) -> dict[str, str]:
    """The environment of the worker. Ray sets the number of threads in it by itself, to the CPUs of the task; of a
    command that is to have the machine as it is, that is taken back.
    """
    environment = dict(os.environ)
    if sees_all and "OMP_NUM_THREADS=" not in _of_parent():
        environment.pop("OMP_NUM_THREADS", None)
    return environment


def _of_parent() -> str:
    try:
        with open(f"/proc/{os.getppid()}/environ", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _packed(folder: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.add(folder, arcname=".")
    return buffer.getvalue()


def _unpack(packed: bytes, into: str, name: str) -> None:
    """Puts a folder into another; it has its name when it is whole."""
    partial = os.path.join(into, name + ".partial")
    os.makedirs(partial, mode=0o700)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        tar.extractall(partial)
    os.rename(partial, os.path.join(into, name))
