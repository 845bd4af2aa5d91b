"""The tests that need no framework, run by every other Python that is installed."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from installs import clean, venv
from side_by_side import run
from test_profile import OTHER_PYTHONS

HERE = Path(__file__).parent
FILES = (
    "test_forms.py",
    "test_imports.py",
    "test_processes.py",
    "test_settings.py",
    "test_summary.py",
)
# What pytest is made of: plain Python, which other versions can use where it lies.
PYTEST = ("_pytest", "iniconfig", "packaging", "pluggy", "py", "pygments", "pytest")


@pytest.mark.skipif(not OTHER_PYTHONS, reason="no other Python is installed")
@pytest.mark.parametrize("version", OTHER_PYTHONS)
def test_what_needs_no_framework_passes_on(version: str, tmp_path: Path) -> None:
    environment = venv(tmp_path / "environment", OTHER_PYTHONS[version])
    environment.add_laptime()
    for name in PYTEST:
        module = Path(importlib.import_module(name).__file__)
        lies = module.parent if module.name == "__init__.py" else module
        (environment.packages / lies.name).symlink_to(lies)
    words = [str(environment.python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = run([*words, *(str(HERE / name) for name in FILES)], clean(), tmp_path, seconds=600)
    assert done.code == 0, done.stdout[-4000:]
