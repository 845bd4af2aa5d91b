"""What ranks exchanged, read from the logs of a run by their specification in `crates/laptime-store/src/format.rs`."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAGIC = b"\x89LTLOG\r\n"
HEADER_BYTES = 56
KINDS = (
    "other",
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "barrier",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "send",
    "receive",
)
BETWEEN_RANKS_BYTES = 3
# Fields of the events that do not say how long they are: varints, times and eight bytes.
CLOSED = {
    0: "vtvv",
    1: "vtvv",
    2: "tvv",
    3: "tvv8",
    4: "vt",
    5: "vt",
    6: "vt",
    7: "vt",
    8: "vvv",
    9: "vtv",
    10: "vt8",
}


@dataclass(frozen=True)
class Collective:
    group: int
    kind: str
    sequence: int
    start: int
    end: int
    bytes: int


@dataclass
class Exchanged:
    """The log of one process."""

    process: dict[str, Any] = field(default_factory=dict)
    groups: dict[int, dict[str, Any]] = field(default_factory=dict)
    collectives: list[Collective] = field(default_factory=list)
    counted: int = 0
    troubles: list[dict[str, Any]] = field(default_factory=list)
    # Spans by their stage: start and end.
    spans: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    ticks_per_s: float = 0.0

    def named(self, name: str) -> list[Collective]:
        """The collectives of a group, in their order."""
        numbers = [number for number, facts in self.groups.items() if facts["name"] == name]
        found = [one for one in self.collectives if one.group in numbers]
        return sorted(found, key=lambda one: (one.kind in ("send", "receive"), one.sequence))


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, length: int) -> bytes:
        self.at += length
        return self.data[self.at - length : self.at]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def delta(self, start: int) -> int:
        zigzag = self.varint()
        return start + ((zigzag >> 1) ^ -(zigzag & 1))


def exchanged(log: Path) -> Exchanged:
    """All segments of a log."""
    found = Exchanged()
    stem = log.name.split(".")[0]
    for segment in sorted(log.parent.glob(f"{stem}.*.ltlog")):
        for payload in _payloads(segment.read_bytes()):
            _read(_Bytes(payload), found)
    found.ticks_per_s = 1e9 / found.process["ns_per_tick"]
    return found


def ranks(run: Path) -> list[Exchanged]:
    """The logs of all ranks of a run."""
    return [exchanged(log) for log in sorted(run.glob("rank-?????.000001.ltlog"))]


def _payloads(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + HEADER_BYTES <= len(data):
        assert data[at : at + len(MAGIC)] == MAGIC
        (length,) = struct.unpack_from("<I", data, at + 12)
        at += HEADER_BYTES
        yield data[at : at + length]
        at += length


def _read(payload: _Bytes, found: Exchanged) -> None:
    while payload.at < len(payload.data):
        kind, length = payload.take(1)[0], payload.varint()
        body = payload.take(length)
        if kind == 1:
            found.process = json.loads(body)
        elif kind == 5:
            _read_events(_Bytes(body), found)
        elif kind == 9:
            found.troubles.append(json.loads(body))
        elif kind == 15:
            fields = _Bytes(body)
            number = fields.varint()
            found.groups[number] = json.loads(body[fields.at :])


def _read_events(body: _Bytes, found: Exchanged) -> None:
    body.varint()
    body.varint()
    count, time = body.varint(), body.varint()
    for _ in range(count):
        tag = body.take(1)[0]
        if tag >= 16:
            fields = _Bytes(body.take(body.varint()))
            if tag == 18:
                found.collectives.append(_collective(fields, time))
            continue
        values = []
        for form in CLOSED[tag]:
            if form == "t":
                time = body.delta(time)
            values.append(time if form == "t" else body.varint() if form == "v" else body.take(8))
        if tag == 9 and values[0] == BETWEEN_RANKS_BYTES:
            found.counted += values[2]
        if tag in (0, 1):
            found.spans.setdefault(values[0], []).append((values[1] - values[2], values[1]))


def _collective(fields: _Bytes, time: int) -> Collective:
    end = fields.delta(time)
    start = fields.delta(end)
    group, kind = fields.varint(), KINDS[fields.take(1)[0]]
    return Collective(group, kind, fields.varint(), start, end, fields.varint())
