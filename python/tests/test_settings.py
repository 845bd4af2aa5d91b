"""What is set where: arguments beat the environment, which beats the file."""

from __future__ import annotations

import ast
from pathlib import Path

import laptime
import pytest
from conftest import Script
from laptime import _native
from laptime._session import settings


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for key in ("DIR", "NAME", "QUIET", "DISABLED", "RUN"):
        monkeypatch.delenv(f"LAPTIME_{key}", raising=False)


def test_arguments_beat_environment_beat_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings().name == "" and settings().dir is None
    table = '[tool.laptime]\nname = "file"\ndir = "runs"\nquiet = true\ndisabled = "no bool"\n'
    (tmp_path / "pyproject.toml").write_text(table)
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    assert settings().name == "file" and settings().quiet and not settings().disabled
    assert settings().dir == str(tmp_path / "runs")
    monkeypatch.setenv("LAPTIME_NAME", "environment")
    monkeypatch.setenv("LAPTIME_QUIET", "0")
    assert settings().name == "environment" and not settings().quiet
    assert settings(name="argument", quiet=True).name == "argument"
    assert settings(name="argument", quiet=True).quiet


@pytest.mark.parametrize("content", ["[tool.laptime", "", "[tool]\nlaptime = 3\n"])
def test_a_file_that_says_nothing_useful_is_passed_over(tmp_path: Path, content: str) -> None:
    (tmp_path / "pyproject.toml").write_text(content)
    assert settings().name == ""


def test_an_empty_variable_is_as_good_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = '[tool.laptime]\nname = "file"\ndir = "runs"\nquiet = true\ndisabled = true\n'
    (tmp_path / "pyproject.toml").write_text(table)
    for key in ("DIR", "NAME", "QUIET", "DISABLED"):
        monkeypatch.setenv(f"LAPTIME_{key}", "")
    found = settings()
    assert (found.name, found.quiet, found.disabled) == ("file", True, True)
    assert found.dir == str(tmp_path / "runs")


def test_what_is_passed_need_not_be_of_its_kind() -> None:
    assert settings(name=3, quiet=1).name == "3"  # type: ignore[arg-type]
    assert settings(name=3, quiet=1).quiet is True  # type: ignore[arg-type]


def test_the_same_words_mean_on_and_off_in_the_start_up_file() -> None:
    source = (Path(laptime.__file__).parent / "_hook" / "sitecustomize.py").read_text()
    named = {node.targets[0].id: node for node in ast.parse(source).body if _is_name(node)}
    words = ast.literal_eval(named["OFF"].value)
    assert [_native.switched(word) for word in words if word] == [False] * (len(words) - 1)
    assert "" in words and _native.switched(" ") is None
    for word in ("1", "yes", "on", "TRUE"):
        assert _native.switched(word) and word.lower() not in words


def _is_name(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)


def test_disabled_records_nothing(script: Script) -> None:
    done = script(
        """
        import laptime
        assert laptime.init() is False
        for epoch in laptime.epochs(2):
            for batch in laptime.batches([1, 2]):
                with laptime.stage("x"):
                    laptime.lap("y")
        assert laptime.finish() is None
        """,
        LAPTIME_DISABLED="1",
    )
    assert not done.folder.exists() and done.err == ""


def test_a_quiet_run_says_nothing_and_a_plain_one_one_line(script: Script) -> None:
    source = "import laptime\nwith laptime.stage('x'): pass"
    assert script(source, LAPTIME_QUIET="1").err == ""
    plain = script(source)
    assert plain.err.count("\n") == 1 and "laptime report" in plain.err and plain.out == ""


def test_a_name_given_at_start_is_the_runs_name(script: Script) -> None:
    done = script("import laptime\nlaptime.init(name='mine')", LAPTIME_NAME="theirs")
    assert done.run.to_dict()["run"]["name"] == "mine"
    assert done.run.to_dict()["run"]["command"][-1].endswith("script.py")


def test_a_folder_that_cannot_be_made_ends_nothing(script: Script) -> None:
    done = script(
        "import laptime\nlaptime.init()\nwith laptime.stage('x'): pass\nprint('done')",
        LAPTIME_DIR="/proc/nowhere",
    )
    assert done.out == "done\n"


def test_defining_stages_makes_no_run(script: Script) -> None:
    done = script("import laptime\nlaptime.stage('x')(print)")
    assert not done.folder.exists() and done.err == ""
