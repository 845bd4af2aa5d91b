"""Gives the work of a `laptime` command to a Ray cluster: a line of JSON a message, both ways.

    python -m laptime.ray

The first line says which cluster and what each task asks of a machine. When the input ends, so do the tasks.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import Any


class Channel:
    """The messages to and from laptime; whatever else is printed here goes to standard error."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def say(self, kind: str, body: bytes = b"", **content: Any) -> None:
        """Sends a message, and bytes after it; once laptime is gone nobody needs it."""
        line = json.dumps({"kind": kind, "bytes": len(body), **content})
        try:
            with self._lock:
                self._out.write(line.encode() + b"\n" + body)
                self._out.flush()
        except (BrokenPipeError, ValueError):
            pass

    def hear(self) -> dict[str, Any] | None:
        """The next message; `None` at the end of the input."""
        line = sys.stdin.readline()
        return json.loads(line) if line.endswith("\n") else None


def main() -> None:
    # Ctrl-C is for laptime.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = Channel()
    if (wanted := channel.hear()) is None:
        return
    try:
        import ray  # noqa: F401
    except ImportError as error:
        where = f"Ray cannot be imported by {sys.executable}: {error}"
        channel.say("error", reason=where, hint="pip install 'laptime[ray]'")
        return
    from laptime.ray.cluster import Cluster, Unusable

    try:
        cluster = Cluster(channel, wanted)
    except Unusable as error:
        channel.say("error", reason=str(error), hint=error.hint)
        return
    try:
        while (request := channel.hear()) is not None:
            cluster.begin(request)
    finally:
        cluster.end()


if __name__ == "__main__":
    main()
