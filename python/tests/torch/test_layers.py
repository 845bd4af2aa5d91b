"""`laptime run --layers`: which module of a model takes the time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from side_by_side import Ending, both, check_same, run

from .conftest import SCRIPTS, _environment, report_of, run_bare


def run_with(options: list[str], words: list[str], folder: Path) -> Ending:
    command = [sys.executable, "-m", "laptime", "run", "--quiet", "--dir", str(folder), *options]
    return run([*command, "--", sys.executable, *words], _environment(), SCRIPTS, seconds=120)


def recorded(words: str, folder: Path) -> dict[str, Any]:
    """The report of a script that prints and ends as it does without us."""
    command = ["layers.py", *words.split()]
    ending, bare = both(lambda: run_bare(command), lambda: run_with(["--layers"], command, folder))
    assert bare.code == 0, bare.stderr
    check_same(bare, ending)
    return report_of(folder)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report of the script as it is without any word."""
    return recorded("", tmp_path_factory.mktemp("plain"))


def by_name(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {layer["name"]: layer for layer in report["layers"]}


def why_off(report: dict[str, Any]) -> list[str]:
    troubles = [warning.get("trouble", {}) for warning in report["warnings"]]
    return [one["because"] for one in troubles if one.get("what") == "layer_times_off"]


def test_the_planted_layer_is_first_with_its_own_time(plain: dict[str, Any]) -> None:
    first = plain["layers"][0]
    assert (first["name"], first["kind"]) == ("planted", "Planted")
    assert first["forward_s"] > 0.004 and first["backward_s"] > 0.006
    assert first["steps"] >= 3 and first["calls"] == 1.0
    assert abs(sum(layer["share"] for layer in plain["layers"]) - 1) < 1e-6
    assert first["device_forward_s"] is None
    # What a module calls is not its own time: the model itself does next to nothing.
    assert by_name(plain)[""]["share"] < 0.5


def test_parameters_and_operations_are_those_of_the_shapes(plain: dict[str, Any]) -> None:
    layers = by_name(plain)
    assert layers["stem"]["parameters"] == 4 * 3 + 4
    assert layers["stem"]["flops"] == 2 * 16 * 4 * 32 * 3
    assert layers["body.0.first"]["parameters"] == 32 * 32 + 32
    assert layers["body.0.first"]["flops"] == 2 * 16 * 4 * 32 * 32
    # Its projection is a module that nobody calls.
    assert layers["attention"]["parameters"] == 4 * (32 * 32 + 32)
    assert layers["attention"]["flops"] == 8 * 16 * 4 * 32 * 32 + 4 * 16 * 4 * 4 * 32
    assert layers["body.0.relu"]["calls"] == 2.0
    assert layers["planted"]["flops"] is None and layers[""]["kind"] == "Net"


@pytest.mark.parametrize("words", ["compiled", "compiled-step"])
def test_a_compiled_model_keeps_its_graphs_and_says_why_it_is_not_timed(
    words: str, tmp_path: Path
) -> None:
    report = recorded(words, tmp_path)
    assert report["layers"] is None
    assert why_off(report) == [
        "the model is compiled, and hooks on its modules would make it compile again"
    ]


def test_a_training_that_is_too_short_says_so(tmp_path: Path) -> None:
    report = recorded("short", tmp_path)
    assert report["layers"] is None
    assert why_off(report) == ["the training ended before a step could be sampled"]


@pytest.mark.parametrize("words", ["saved", "checkpointed"])
def test_checkpoints_hold_no_hook_and_computing_again_is_part_of_the_way_back(
    words: str, tmp_path: Path
) -> None:
    layers = by_name(recorded(words, tmp_path))
    assert layers["body.0.first"]["calls"] == 1.0
    assert layers["planted"]["backward_s"] > 0.006


def test_two_models_of_one_training_are_told_apart(tmp_path: Path) -> None:
    layers = by_name(recorded("two", tmp_path))
    assert layers["head"]["parameters"] == 99
    assert layers["Sequential.0"]["parameters"] == 32


def test_without_the_option_nothing_is_timed(tmp_path: Path) -> None:
    run_with([], ["layers.py", "short"], tmp_path)
    report = report_of(tmp_path)
    assert report["layers"] is None and not why_off(report)
