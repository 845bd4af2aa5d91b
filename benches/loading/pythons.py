"""Which Python has which peers: some cannot be installed beside each other, so that there may be several."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from entry import Entry

# Where README.md has the peers installed.
PLACES = [
    Path.home() / ".cache/laptime" / name / "bin/python"
    for name in ("bench-loading", "bench-loading-2")
]

_ASK = """
import importlib.util, json, sys
def there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False
print(json.dumps([name for name in sys.argv[1:] if there(name)]))
"""

_VERSIONS = """
import importlib.metadata, json
print(json.dumps({dist.name.lower(): dist.version for dist in importlib.metadata.distributions()}))
"""


class Pythons:
    """This Python and the others, each with the modules that were found in it."""

    def __init__(self, entries: list[Entry]) -> None:
        names = sorted({name for entry in entries for name in entry.needs})
        paths = [sys.executable, *(str(path) for path in PLACES if path.exists())]
        self.found = {path: set(_answer(path, _ASK, names)) for path in dict.fromkeys(paths)}

    def of(self, entry: Entry) -> str | None:
        """The first Python that has all that an entry needs."""
        fitting = (path for path, names in self.found.items() if names.issuperset(entry.needs))
        return next(fitting, None)

    def missing(self, entry: Entry) -> list[str]:
        """What an entry needs and the Python with most of it has not."""
        return min(
            ([name for name in entry.needs if name not in names] for names in self.found.values()),
            key=len,
        )

    def versions(self, python: str) -> dict[str, str]:
        """The distributions of one of them."""
        return _answer(python, _VERSIONS, [])


def _answer(python: str, program: str, words: list[str]):
    ended = subprocess.run(
        [python, "-c", program, *words], capture_output=True, text=True, check=True
    )
    return json.loads(ended.stdout)
