"""The groups of the table: what is measured in each, and what must be reached."""

from __future__ import annotations

import json
from dataclasses import dataclass

import limited
import loaders_jpeg
import loaders_tabular
import packing
import packing_images
import training
from entry import Entry, Setting
from printed import (
    Bar,
    number,
    print_bars,
    print_skipped,
    print_table,
    rates,
    ratios,
    spread,
    times,
)
from pythons import Pythons
from rounds import START_S, Conditions, FailedError, Measured, order, prepare, run_one
from sets import Sets, warm


@dataclass(frozen=True)
class Group:
    """Loaders that are measured against each other."""

    title: str
    module: str
    entries: dict[str, Entry]
    unit: str
    references: dict[
        str, str
    ]  # entries that all others are compared with, and how a column calls them
    bars: list[Bar]

    def measure(self, conditions: Conditions, rounds: int) -> Measured:
        """All rounds of those that are installed."""
        pythons = Pythons(list(self.entries.values()))
        there = {key: (entry, pythons.of(entry)) for key, entry in self.entries.items()}
        installed = {key: (entry, python) for key, (entry, python) in there.items() if python}
        measured = prepare(self.module, installed, conditions)
        for key, entry in self.entries.items():
            if key not in installed:
                measured.drop(key, f"not installed: {', '.join(pythons.missing(entry))}")
        for turn in range(rounds):
            for key in order([key for key in installed if key not in measured.skipped], turn):
                self._measure_one(measured, key, installed[key][1], conditions)
        _keep(self, conditions, measured)
        return measured

    def _measure_one(
        self, measured: Measured, key: str, python: str, conditions: Conditions
    ) -> None:
        try:
            found = run_one(
                python, [self.module, key], conditions, START_S + 2 * conditions.seconds
            )
        except FailedError as error:
            measured.drop(key, f"failed: {error}")
        else:
            measured.results.setdefault(key, []).append(found)

    def show(self, conditions: Conditions, measured: Measured) -> None:
        """The table, what was left out, and the bars."""
        columns = [f"{name} is" for name in self.references.values()]
        header = [
            "loader",
            "threads",
            self.unit,
            "us a batch",
            "first batch s",
            "peak MB",
            *columns,
            "note",
        ]
        lines = [
            self._line(key, conditions, measured) for key in self.entries if rates(measured, key)
        ]
        print_table(self.title, header, lines)
        print_skipped(self.entries, measured)
        print_bars(self.entries, measured, self.bars)

    def _line(self, key: str, conditions: Conditions, measured: Measured) -> list[str]:
        entry, results = self.entries[key], measured.results[key]
        compared = [self._compared(measured, reference, key) for reference in self.references]
        return [
            entry.name,
            str(entry.concurrency(conditions.threads)),
            spread(rates(measured, key)),
            _median(results, "batch_us"),
            _median(results, "first_s"),
            _median(results, "peak_mb"),
            *compared,
            results[-1].get("note", ""),
        ]

    def _compared(self, measured: Measured, reference: str, key: str) -> str:
        found = ratios(measured, reference, key)
        return spread(found, times) if found and key != reference else "–"


def _median(results: list[dict], name: str) -> str:
    values = sorted(result[name] for result in results if name in result)
    return number(values[len(values) // 2]) if values else "–"


def _keep(group: Group, conditions: Conditions, measured: Measured) -> None:
    """Every single number, for whoever wants to look behind the medians."""
    folder = conditions.data / "results"
    folder.mkdir(exist_ok=True)
    document = {"threads": conditions.threads, "seconds": conditions.seconds}
    document |= {"results": measured.results, "skipped": measured.skipped}
    (folder / f"{group.module}.json").write_text(json.dumps(document, indent=1))


TABULAR = Group(
    "tabular: 1,000,000 rows of 10 float32 and a target, batches of 256, shuffled",
    "loaders_tabular",
    loaders_tabular.ENTRIES.known,
    "samples/s",
    {"laptime": "laptime"},
    [
        Bar("laptime", "torch_0", 150),
        Bar("laptime", "torch_batch_sampler", 28),
        Bar("laptime", "numpy_memmap", 5),
        Bar("laptime", "tf_data", 130),
        Bar("laptime", "gather_plain", 0.6),
        Bar("laptime", "gather_limit", 0.6),
    ],
)

_PEERS = ("ffcv", "spdl", "webdataset", "mosaic", "litdata", "grain", "ray_data")

JPEG = Group(
    "jpeg: 5,000 JPEGs of 224 × 224, decode + random resized crop + flip + normalise, batches of 64",
    "loaders_jpeg",
    loaders_jpeg.ENTRIES.known,
    "images/s",
    {"laptime_built_in": "built in", "laptime_turbo": "libturbojpeg", "laptime_decoded": "decoded"},
    [
        Bar("laptime_built_in", "torch_pil", 6.5),
        Bar("laptime_built_in", "torchvision_io", 5.5),
        Bar("laptime_built_in", "dali", 3.2),
        Bar("laptime_built_in", "torchcodec", 3.2),
        Bar("laptime_turbo", "torch_pil", 7.5),
        Bar("laptime_turbo", "torchvision_io", 6),
        Bar("laptime_turbo", "dali", 3.7),
        Bar("laptime_turbo", "torchcodec", 3.7),
        *(Bar("laptime_built_in", peer, 1) for peer in _PEERS),
        Bar("laptime_decoded", "torch_pil", 25),
    ],
)

CSV = Group(
    "csv: reading 1,000,000 rows of 11 numbers, and for laptime writing them as a pack",
    "packing",
    packing.ENTRIES.known,
    "MB/s",
    {"laptime_csv": "laptime"},
    [Bar("laptime_csv", "pandas_csv", 3)],
)

PACKED_IMAGES = Group(
    "csv: packing 5,000 images decoded",
    "packing_images",
    packing_images.ENTRIES.known,
    "images/s",
    {"laptime_images": "laptime pack"},
    [
        Bar("laptime_images", "laptime_decoding", 0.9),
        Bar("laptime_images", "simplejpeg_decoding", 0.9),
    ],
)


def choose(keys: list[str] | None) -> None:
    """Leaves all loaders out but these."""
    for group in (TABULAR, JPEG, CSV, PACKED_IMAGES) if keys else ():
        for key in set(group.entries) - set(keys or ()):
            del group.entries[key]


def _measured(*measured_groups: Group):
    def measure(conditions: Conditions, rounds: int) -> None:
        sets = Sets(conditions.data)
        for path in (sets.csv(), sets.rows(), sets.jpegs()):
            warm(path)
        for group in measured_groups:
            group.show(conditions, group.measure(conditions, rounds))

    return measure


def _limited(conditions: Conditions, rounds: int) -> None:
    limited.measure(
        Setting(Sets(conditions.data), conditions.threads, conditions.seconds), conditions, rounds
    )


GROUPS = {
    "tabular": _measured(TABULAR),
    "jpeg": _measured(JPEG),
    "csv": _measured(CSV, PACKED_IMAGES),
    "memory": _limited,
    "training": training.measure,
}
