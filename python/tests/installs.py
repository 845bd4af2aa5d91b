"""Environments as people have them: where laptime is, and where the script's Python is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import laptime

PACKAGE = Path(laptime.__file__).parent
ROOT = Path(__file__).parents[2]
CARGO = ROOT / "target" / "release" / "laptime"

# What every Python can import: the part of scikit-learn that the hooks need. No framework is installed twice.
ESTIMATORS = """
class BaseEstimator:
    def predict(self, rows):
        return [self.mean for _ in rows]
"""

TRAINING = """
import sys
from sklearn.base import BaseEstimator

class Mean(BaseEstimator):
    def fit(self, rows):
        self.mean = sum(rows) / len(rows)
        return self

for size in (10, 20):
    print(Mean().fit(list(range(size))).mean)
for name in ("only_beside_laptime", "maturin", "numpy"):
    try:
        __import__(name)
        print("found", name)
    except ImportError:
        pass
print([path for path in sys.path if "hook" not in path])
"""


@dataclass(frozen=True)
class Environment:
    """A Python with packages of its own."""

    python: Path
    packages: Path

    def add(self, name: str, text: str) -> Path:
        """Gives it a module."""
        path = self.packages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def add_estimators(self) -> Environment:
        self.add("sklearn/__init__.py", "__version__ = '1.0'\n")
        self.add("sklearn/base.py", ESTIMATORS)
        return self

    def add_laptime(self) -> Path:
        """Gives it laptime as it is installed here, with its command."""
        package = self.packages / "laptime"
        shutil.copytree(
            PACKAGE, package, copy_function=_link, ignore=shutil.ignore_patterns("__pycache__")
        )
        command = self.python.parent / "laptime"
        source = "import sys\nfrom laptime.__main__ import main\nsys.exit(main())\n"
        command.write_text(f"#!{self.python}\n{source}")
        command.chmod(0o755)
        return command


def _link(source: str, target: str) -> None:
    """Copies a file; the native module, which nobody changes, need not take its room twice."""
    try:
        if not source.endswith(".so"):
            raise OSError
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def venv(folder: Path, python: str | Path = sys.executable) -> Environment:
    """A new virtual environment without anything in it."""
    words = [python, "-m", "venv", "--without-pip", folder]
    subprocess.run(words, check=True, capture_output=True, env=clean())
    packages = next(folder.glob("lib/python*/site-packages"))
    return Environment(folder / "bin" / "python", packages)


def other_python(version: str) -> Path:
    """A Python of a version, such as `3.10`; asks the test to be skipped where there is none."""
    import pytest

    homes = sorted(Path.home().glob(f".pyenv/versions/{version}.*"))
    found = [home / "bin" / "python" for home in homes] or [shutil.which(f"python{version}")]
    for path in filter(None, found):
        done = subprocess.run([path, "-c", "pass"], capture_output=True, env=clean(), check=False)
        if done.returncode == 0:
            return Path(path)
    pytest.skip(f"no Python {version} here")


def clean() -> dict[str, str]:
    """The environment without what the tests themselves were started with."""
    gone = ("LAPTIME_", "PYTHON", "VIRTUAL_ENV", "PYENV_VERSION")
    return {name: value for name, value in os.environ.items() if not name.startswith(gone)}
