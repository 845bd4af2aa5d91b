"""Copies between host and device."""

from __future__ import annotations

from .conftest import run_bare


def test_only_a_call_that_copies_is_a_copy() -> None:
    ending = run_bare(["copies.py"])
    assert (ending.code, ending.stdout.split()) == (0, ["16"]), ending


def test_tensors_that_are_watched_give_what_they_gave() -> None:
    ending = run_bare(["watched.py"])
    assert (ending.code, ending.stdout.split()) == (0, ["same"]), ending
