"""However laptime was installed, its hooks reach the script's Python, and where they cannot one line says why."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import laptime
import pytest
from installs import CARGO, PACKAGE, ROOT, TRAINING, Environment, clean, other_python, venv
from side_by_side import Ending, both, check_same, run

HOOK = PACKAGE / "_hook" / "sitecustomize.py"


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `laptime` command of an environment that has laptime and something else."""
    made = venv(tmp_path_factory.mktemp("tool") / "env")
    made.add("only_beside_laptime.py", "")
    return made.add_laptime()


def watch(command: Path, words: list[str], folder: Path, **variables: str) -> tuple[Ending, Ending]:
    """Runs words bare and under a `laptime run`; the endings of both."""
    environment = clean() | variables
    hooked, bare = both(
        lambda: run(words, environment, folder),
        lambda: run([str(command), "run", "--", *words], environment, folder),
    )
    return bare, hooked


def trained(folder: Path, environment: Environment, command: Path, **variables: str) -> laptime.Run:
    """Trains in an environment under a command: the same as bare, and recorded."""
    script = folder / "train.py"
    script.write_text(TRAINING)
    bare, hooked = watch(command, [str(environment.python), str(script)], folder, **variables)
    check_same(bare, hooked)
    assert "found" not in bare.stdout
    recorded = laptime.load(dir=folder / ".laptime")
    assert [fit["framework"] for fit in recorded.fits] == ["sklearn", "sklearn"], hooked.stderr
    assert sum(row["seconds"] for row in recorded.ledger) == pytest.approx(
        recorded.wall_s, rel=1e-3
    )
    return recorded


def why_not(folder: Path, command: Path, words: list[str], **variables: str) -> str:
    """The verdict on a command that could not be looked into; the script itself is the same as bare."""
    bare, hooked = watch(command, words, folder, **variables)
    check_same(bare, hooked)
    assert hooked.summary.count("verdict:") == 1 and "warning:" not in hooked.summary
    return hooked.summary.partition("verdict: ")[2].partition(" run kept")[0]


def troubles(recorded: laptime.Run) -> list[dict[str, str]]:
    return [one["trouble"] for one in recorded.to_dict()["warnings"] if "trouble" in one]


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_laptime_in_one_environment_and_the_script_in_another(
    tool: Path, tmp_path: Path, version: str
) -> None:
    script = venv(tmp_path / "env", other_python(version)).add_estimators()
    recorded = trained(tmp_path, script, tool)
    assert troubles(recorded) == []
    assert not list(Path(recorded.path).glob("hook*")) + list(Path(recorded.path).glob("pythons*"))


def test_a_script_may_import_laptime_itself_and_nothing_else_comes_along(
    tool: Path, tmp_path: Path
) -> None:
    script = venv(tmp_path / "env")
    (tmp_path / "train.py").write_text(
        "import laptime, sys\n"
        "with laptime.stage('work'):\n    print(laptime.__file__)\n"
        "import importlib.util\n"
        "print([importlib.util.find_spec(name) for name in ('only_beside_laptime', 'pytest')])\n"
    )
    done = run([str(tool), "run", "--", str(script.python), "train.py"], clean(), tmp_path)
    file, others = done.stdout.splitlines()
    assert Path(file).parent == tool.parents[1] / Path(*Path(file).parent.parts[-4:])
    assert others == "[None, None]"
    stages = {row["stage"] for row in laptime.load(dir=tmp_path / ".laptime").ledger}
    assert {"work", "imports"} <= stages


def test_the_scripts_own_laptime_records_when_it_writes_the_same_log(
    tool: Path, tmp_path: Path
) -> None:
    script = venv(tmp_path / "env").add_estimators()
    script.add_laptime()
    script.add("laptime/_session.py", (PACKAGE / "_session.py").read_text() + "\nprint('own')\n")
    (tmp_path / "train.py").write_text(TRAINING)
    done = run([str(tool), "run", "--", str(script.python), "train.py"], clean(), tmp_path)
    assert done.stdout.startswith("own\n") and "warning" not in done.stderr
    assert len(laptime.load(dir=tmp_path / ".laptime").fits) == 2


@pytest.mark.parametrize("state", ["older", "incomplete"])
def test_another_laptime_of_the_script_gives_way_and_the_summary_says_so(
    tool: Path, tmp_path: Path, state: str
) -> None:
    script = venv(tmp_path / "env").add_estimators()
    script.add_laptime()
    (script.packages / "laptime" / "_log_version").unlink()
    if state == "older":
        script.add("laptime/_log_version", "1\n")
    else:
        next((script.packages / "laptime").glob("_native*.so")).unlink()
    recorded = trained(tmp_path, script, tool)
    (trouble,) = troubles(recorded)
    assert trouble["what"] == "package_replaced"
    assert trouble["folder"] == str(script.packages / "laptime")
    assert str(recorded).count("was not used: its log is") == 1


def test_a_module_of_the_script_that_is_named_laptime_stays_its_own(
    tool: Path, tmp_path: Path
) -> None:
    script = venv(tmp_path / "env").add_estimators()
    (tmp_path / "laptime.py").write_text("print('mine')\n")
    (tmp_path / "train.py").write_text("import laptime, sklearn.base\n")
    why = why_not(tmp_path, tool, [str(script.python), "train.py"])
    assert "has a module named laptime of its own" in why and "rename it" in why


def test_a_package_that_cannot_be_loaded_costs_the_hooks_alone(tool: Path, tmp_path: Path) -> None:
    script = venv(tmp_path / "env").add_estimators()
    script.add_laptime()
    script.add("laptime/_forms.py", "raise RuntimeError('broken on purpose')")
    (tmp_path / "train.py").write_text(TRAINING)
    why = why_not(tmp_path, tool, [str(script.python), "train.py"])
    assert "cannot be loaded (RuntimeError: broken on purpose)" in why
    assert "-m pip install --force-reinstall laptime" in why


@pytest.fixture(scope="session")
def installers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pipx and uv are, from the package index."""
    made = tmp_path_factory.mktemp("installers") / "env"
    subprocess.run([sys.executable, "-m", "venv", made], check=True, env=clean())
    words = [made / "bin" / "pip", "install", "--quiet", "pipx", "uv"]
    if subprocess.run(words, env=clean(), timeout=120, capture_output=True, check=False).returncode:
        pytest.skip("no package index to get pipx and uv from")
    return made / "bin"


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The wheel that this laptime was installed from."""
    built = sorted(ROOT.glob("dist*/laptime-*.whl"), key=lambda path: path.stat().st_mtime)
    return built[-1] if built else pytest.skip("no wheel in dist")


@pytest.mark.parametrize("installer", ["pipx", "uv"])
def test_a_tool_of_its_own(installers: Path, wheel: Path, tmp_path: Path, installer: str) -> None:
    home = tmp_path / "home"
    environment = clean() | {
        "HOME": str(home),
        "PIPX_HOME": str(home / "pipx"),
        "PIPX_BIN_DIR": str(home / "bin"),
        "PIPX_DEFAULT_BACKEND": "pip",
        "UV_TOOL_DIR": str(home / "tools"),
        "UV_TOOL_BIN_DIR": str(home / "bin"),
        "UV_CACHE_DIR": str(home / "cache"),
        "PATH": f"{installers}{os.pathsep}{os.environ['PATH']}",
    }
    verb = ["install"] if installer == "pipx" else ["tool", "install", "--offline"]
    options = ["--python", sys.executable, str(wheel)]
    words = [str(installers / installer), *verb, *options]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    script = venv(tmp_path / "env").add_estimators()
    recorded = trained(tmp_path, script, home / "bin" / "laptime")
    assert troubles(recorded) == []
    # A script without a program before it is for the Python on the path, not for the tool's own.
    own = f"{script.python.parent}{os.pathsep}{os.environ['PATH']}"
    words = [str(home / "bin" / "laptime"), "run", "train.py"]
    assert run(words, clean() | {"PATH": own}, tmp_path).code == 0
    assert len(laptime.load(dir=tmp_path / ".laptime").fits) == 2


def test_a_sitecustomize_and_a_usercustomize_that_were_there_still_run(
    tool: Path, tmp_path: Path
) -> None:
    script = venv(tmp_path / "env").add_estimators()
    script.add("sitecustomize.py", "import sys\nsys.stderr.write('site ' + __name__ + '\\n')\n")
    script.add("usercustomize.py", "print('user')\n")
    settings = tmp_path / "env" / "pyvenv.cfg"
    # Python looks for a usercustomize only where the user's own packages count.
    text = settings.read_text().replace("include-system-site-packages = false", "")
    settings.write_text(text + "include-system-site-packages = true\n")
    (tmp_path / "where.py").write_text("import sitecustomize\nprint(sitecustomize.__file__)\n")
    words = [str(script.python), "where.py"]
    bare, hooked = watch(tool, words, tmp_path, PYTHONUSERBASE=str(tmp_path / "user"))
    check_same(bare, hooked)
    assert bare.stderr == "site sitecustomize\n" and bare.stdout.startswith("user\n")
    assert bare.stdout.endswith(f"{script.packages / 'sitecustomize.py'}\n")


@pytest.mark.parametrize(
    "source", ["raise ValueError('no')", "import nothing_like_it", "raise SystemExit(3)", ""]
)
def test_a_sitecustomize_that_fails_fails_as_it_does_without_us(
    tool: Path, tmp_path: Path, source: str
) -> None:
    script = venv(tmp_path / "env")
    script.add("sitecustomize.py", source)
    words = [str(script.python), "-c", "import sys; print('sitecustomize' in sys.modules)"]
    check_same(*watch(tool, words, tmp_path))


def test_the_system_python_with_a_sitecustomize_of_the_distribution(
    tool: Path, tmp_path: Path
) -> None:
    system = Path("/usr/bin/python3")
    if not system.exists() or not list(Path("/usr/lib").glob("python3*/sitecustomize.py")):
        pytest.skip("no Python of a distribution here")
    source = "import sitecustomize; print(sitecustomize.__file__)"
    bare, hooked = watch(tool, [str(system), "-c", source], tmp_path)
    check_same(bare, hooked)
    assert bare.stdout.startswith("/usr/lib/")


def test_a_prefix_like_condas(tool: Path, tmp_path: Path) -> None:
    home = other_python("3.12").resolve().parents[1]
    prefix = tmp_path / "prefix"
    (prefix / "bin").mkdir(parents=True)
    shutil.copy2(home / "bin" / "python3.12", prefix / "bin" / "python")
    library = prefix / "lib" / "python3.12"
    library.mkdir(parents=True)
    for entry in (home / "lib" / "python3.12").iterdir():
        if entry.name != "site-packages":
            (library / entry.name).symlink_to(entry)
    (library / "site-packages").mkdir()
    made = Environment(prefix / "bin" / "python", library / "site-packages").add_estimators()
    done = run([str(made.python), "-c", "import sys; print(sys.prefix)"], clean(), tmp_path)
    assert done.stdout == f"{prefix}\n", done.stderr
    trained(tmp_path, made, tool)


@pytest.mark.parametrize("launcher", ["bash", "env", "shebang", "python"])
def test_through_a_launcher(tool: Path, tmp_path: Path, launcher: str) -> None:
    script = venv(tmp_path / "env").add_estimators()
    path = tmp_path / "train"
    path.write_text(f"#!{script.python}\n{TRAINING}")
    path.chmod(0o755)
    words = {
        "bash": ["bash", "-c", f"cd . && {script.python} train; echo over"],
        "env": ["env", "A=1", str(script.python), "train"],
        "shebang": [str(path)],
        "python": [
            str(other_python("3.13")),
            "-c",
            f"import subprocess; subprocess.run(['{path}'])",
        ],
    }[launcher]
    check_same(*watch(tool, words, tmp_path))
    assert len(laptime.load(dir=tmp_path / ".laptime").fits) == 2


@pytest.fixture(scope="session")
def cargo() -> Path:
    return CARGO if CARGO.exists() else pytest.skip("cargo has built no laptime here")


def test_cargos_laptime_uses_the_package_of_the_scripts_python(cargo: Path, tmp_path: Path) -> None:
    script = venv(tmp_path / "env").add_estimators()
    script.add_laptime()
    recorded = trained(tmp_path, script, cargo)
    assert troubles(recorded) == []
    assert not list(Path(recorded.path).glob("hook*")) + list(Path(recorded.path).glob("pythons*"))


def test_cargos_laptime_without_a_package_says_what_to_install(cargo: Path, tmp_path: Path) -> None:
    script = venv(tmp_path / "env").add_estimators()
    (tmp_path / "train.py").write_text(TRAINING)
    why = why_not(tmp_path, cargo, [str(script.python), "train.py"])
    assert "the script's Python has no laptime package; install it:" in why
    report = laptime.load(dir=tmp_path / ".laptime").to_dict()
    (trouble,) = [one["trouble"] for one in report["warnings"]]
    assert trouble["what"] == "hooks_not_attached" and trouble["hint"].endswith(
        f"{script.python} -m pip install laptime"
    )


def test_cargos_laptime_and_a_package_of_another_version(cargo: Path, tmp_path: Path) -> None:
    script = venv(tmp_path / "env").add_estimators()
    script.add_laptime()
    (script.packages / "laptime" / "_log_version").unlink()
    script.add("laptime/_log_version", "1\n")
    (tmp_path / "train.py").write_text(TRAINING)
    why = why_not(tmp_path, cargo, [str(script.python), "train.py"])
    assert "laptime of another version" in why and "--upgrade laptime" in why


@pytest.mark.parametrize("option", ["-I", "-E", "-S", "-uI"])
def test_a_python_that_is_kept_apart(tool: Path, tmp_path: Path, option: str) -> None:
    letter = option[-1]
    words = [sys.executable, option, "-c", "print('over')"]
    why = why_not(tmp_path, tool, words)
    assert f"`python -{letter}`" in why and f"run the script without -{letter}" in why


def test_a_python_that_a_shell_keeps_apart(tool: Path, tmp_path: Path) -> None:
    nap = "import time; time.sleep(0.5)"
    shell = ["bash", "-c", f"{sys.executable} -I -c '{nap}'; exit 0"]
    assert "run the script without -I" in why_not(tmp_path, tool, shell)
    without = ["env", "-i", sys.executable, "-c", nap]
    assert "put `laptime run --` right before python" in why_not(tmp_path, tool, without)


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7", "3.8", "3.9", "3.10"])
def test_an_older_python_runs_as_ever(tool: Path, tmp_path: Path, version: str) -> None:
    source = "import sys; print(sys.path, sorted(sys.modules) if '-v' in sys.argv else '')"
    python = str(other_python(version))
    words = [python, "-c", source.replace("sys.path,", "'',")]
    why = why_not(tmp_path, tool, words, PYTHONWARNINGS="error", PYTHONDONTWRITEBYTECODE="1")
    assert f"Python {version} is older than 3.11; run the script with CPython 3.11 or newer" in why


@pytest.mark.parametrize(
    ("pretend", "expected"),
    [
        ("sys.implementation.name = 'pypy'", "misfit\tPYTHON\timplementation\tpypy"),
        ("sys.abiflags = 't'", "misfit\tPYTHON\tfree_threaded\t3.11"),
        (
            "os.environ['LAPTIME_PLATFORM'] = 'm68k-linux-gnu'",
            "no_package\tPYTHON\tx86_64-linux-gnu",
        ),
    ],
)
def test_an_interpreter_that_cannot_load_the_package_says_which(
    tmp_path: Path, pretend: str, expected: str
) -> None:
    if sys.version_info[:2] != (3, 11) or os.uname().machine != "x86_64":
        pytest.skip("the names are those of another Python")
    report = tmp_path / "pythons"
    report.touch()
    source = f"import os, runpy, sys\n{pretend}\ntry:\n runpy.run_path({str(HOOK)!r})\nexcept ImportError: pass"
    variables = {"LAPTIME_PYTHONS": str(report), "LAPTIME_PACKAGE": str(tmp_path)}
    python = venv(tmp_path / "env").python
    done = run([str(python), "-c", source], clean() | variables, tmp_path)
    assert (done.code, done.stderr) == (0, "")
    lines = [line.partition("\t")[2] for line in report.read_text().splitlines()]
    assert expected.replace("PYTHON", str(python)) in lines


def test_a_script_without_a_framework_is_told_so(tool: Path, tmp_path: Path) -> None:
    why = why_not(tmp_path, tool, [sys.executable, "-c", "print('plain')"])
    assert why.endswith("the script used no framework that laptime knows")
    script = venv(tmp_path / "env").add_estimators()
    why = why_not(tmp_path, tool, [str(script.python), "-c", "import sklearn.base"])
    assert why.endswith("the script imported sklearn and trained nothing")


@pytest.mark.parametrize("word", ["0", "false", "No", " off ", ""])
def test_the_same_words_switch_the_hooks_off(tool: Path, tmp_path: Path, word: str) -> None:
    words = [sys.executable, "-c", "import os; print(os.environ.get('PYTHONPATH'))"]
    words = [str(tool), "run", "--", *words]
    done = run(words, clean() | {"LAPTIME_HOOKS": word}, tmp_path)
    assert done.stdout == "None\n" and "recorded no stages" in done.summary


def test_the_package_says_which_log_it_writes() -> None:
    from laptime import _native

    assert (PACKAGE / "_log_version").read_text().strip() == str(_native.LOG_VERSION)
    assert json.loads((PACKAGE / "_log_version").read_text()) == _native.LOG_VERSION
