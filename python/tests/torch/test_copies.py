"""Copies between host and device."""

from __future__ import annotations

from .conftest import run_bare


def test_only_a_call_that_copies_is_a_copy() -> None:
    ending = run_bare(["copies.py"])
    assert (ending.code, ending.stdout.split()) == (0, ["16"]), ending
