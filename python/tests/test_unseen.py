"""Not a line of ours on the script's streams but the summary, whatever the script does and however it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from installs import ESTIMATORS, clean
from side_by_side import Ending, check_same, run

LAPTIME = str(Path(sys.executable).parent / "laptime")

START = """
import os, signal, sys, threading, time
import json, helper
from sklearn.base import BaseEstimator

class Mean(BaseEstimator):
    def fit(self, rows):
        self.mean = sum(rows) / len(rows)
        return self

print(Mean().fit([1, 2, 3]).mean, flush=True)
"""

SCRIPTS = {
    "finishes": "",
    "raises": "raise ValueError('the loss is wrong')",
    "raises in a fit": "Mean().fit([])",
    "raises in a fit inside a fit": """
class Search(BaseEstimator):
    def fit(self, rows):
        try:
            Mean().fit(rows)
        except ZeroDivisionError as error:
            raise RuntimeError("no rows") from error
Search().fit([])
""",
    "raises while it is imported": "import raising",
    "has no such module": "import no_such_module",
    "imports what is broken": "import broken_syntax",
    "is refused a module": """
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name == "refused":
            raise ImportError("not this one")
sys.meta_path.append(Refuse())
import refused
""",
    "exits": "sys.exit('that is all')",
    "exits at once": "sys.stdout.flush(); os._exit(7)",
    "ends by a signal": "os.kill(os.getpid(), signal.SIGTERM)",
    "is interrupted": "os.kill(os.getpid(), signal.SIGINT); time.sleep(10)",
    "is interrupted in an import": "import interrupted",
    "is killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "forks": """
child = os.fork()
Mean().fit([1, 2])
if child == 0:
    raise KeyError("in the child")
print(os.waitpid(child, 0)[1])
""",
    "forks and leaves at once": """
child = os.fork()
if child == 0:
    Mean().fit([1])
    os._exit(3)
print(os.waitpid(child, 0)[1])
""",
    "has processes": """
import multiprocessing
def work(number):
    return Mean().fit([number]).mean
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, range(4)))
""",
    "has threads": """
def work():
    Mean().fit([1])
    import wave
    raise LookupError("in a thread")
thread = threading.Thread(target=work, name="mine")
thread.start()
thread.join()
""",
    "leaves a thread behind": """
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
""",
    "closes its streams": "sys.stdout.flush(); sys.stderr.close(); os.close(2)",
    "has no streams": "sys.stdout.flush(); sys.stderr = sys.stdout = None",
    "clears the finders": """
sys.meta_path[:] = [finder for finder in sys.meta_path if isinstance(finder, type)]
import wave
Mean().fit([1])
""",
    "replaces the finders": "sys.meta_path = list(sys.meta_path)[::-1]\nimport wave, chunk_of",
    "forgets modules": """
for name in [name for name in sys.modules if name.startswith("laptime")]:
    del sys.modules[name]
Mean().fit([1])
import wave
""",
    "hides modules": """
sys.modules["laptime"] = None
Mean().fit([1])
""",
    "forbids laptime": """
for name in ("laptime", "laptime._native", "laptime._session"):
    sys.modules[name] = None
""",
    "loads a module again": """
import importlib.util, pickle
importlib.reload(helper)
print(helper.__loader__ is helper.__spec__.loader, type(helper.__spec__), sorted(vars(helper.__spec__)))
print(pickle.loads(pickle.dumps(json.loads)) is json.loads, type(json.__spec__), sorted(vars(json.__spec__)))
print(importlib.util.find_spec("wave").origin, vars(helper.__loader__))
""",
    "imports from an archive": """
import zipfile
with zipfile.ZipFile("packed.zip", "w") as file:
    file.writestr("packed_one.py", "import packed_two\\nprint(__name__)\\n")
    file.writestr("packed_two.py", "print(__file__)\\n")
sys.path.insert(0, "packed.zip")
import packed_one
""",
    "warns": "import warnings; warnings.warn('mind this'); import wave",
    "traces": "sys.settrace(lambda *args: None); Mean().fit([1]); sys.setprofile(None)",
    "leaves its folder": """
import tempfile
os.chdir(tempfile.mkdtemp()); os.rmdir(os.getcwd())
Mean().fit([1])
""",
    "raises what has no words": """
class Mute(Exception):
    def __str__(self):
        raise TypeError("no words")
raise Mute()
""",
    "raises when it ends": "import atexit; atexit.register(lambda: 1 / 0)",
    "raises as it is collected": """
class Last:
    def __del__(self):
        raise OSError("too late")
last = Last()
""",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sklearn").mkdir()
    (tmp_path / "sklearn" / "__init__.py").write_text("__version__ = '1.0'\n")
    (tmp_path / "sklearn" / "base.py").write_text(ESTIMATORS)
    (tmp_path / "helper.py").write_text("import wave\n")
    (tmp_path / "raising.py").write_text("import wave\n1 / 0\n")
    (tmp_path / "broken_syntax.py").write_text("x = = 1\n")
    (tmp_path / "chunk_of.py").write_text("import helper\n")
    (tmp_path / "interrupted.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(10)\n"
    )
    return tmp_path


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_that(folder: Path, name: str) -> None:
    (folder / "script.py").write_text(START + SCRIPTS[name])
    words = [sys.executable, "script.py"]
    # Both in the same folder, since tracebacks name it; one after the other, since one may write there.
    bare = run(words, clean(), folder)
    hooked = run([LAPTIME, "run", "--", *words], clean(), folder)
    check_same(bare, hooked)
    assert "closes" in name or hooked.summary.startswith("laptime script.py")
    assert bare.stdout.startswith("2.0\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_script_that_is_sent(folder: Path, number: signal.Signals) -> None:
    (folder / "script.py").write_text(START + "print('ready', flush=True)\ntime.sleep(30)\n")
    words = [sys.executable, "script.py"]
    check_same(
        ended_by(number, words, folder), ended_by(number, [LAPTIME, "run", "--", *words], folder)
    )


def test_a_script_that_ignores_what_its_shell_ignores(folder: Path) -> None:
    (folder / "script.py").write_text(
        "import signal\nprint([signal.getsignal(number).name for number in (1, 2, 3)])\n"
    )
    words = [sys.executable, "script.py"]
    ignoring = ["sh", "-c", 'trap "" HUP INT QUIT; exec "$@"', "sh"]
    bare = run([*ignoring, *words], clean(), folder)
    check_same(bare, run([*ignoring, LAPTIME, "run", "--", *words], clean(), folder))
    assert bare.stdout.count("SIG_IGN") == 3


def ended_by(number: signal.Signals, words: list[str], folder: Path) -> Ending:
    """Sends a signal to a command once it says that it is ready."""
    started = subprocess.Popen(
        words, env=clean(), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    first = started.stdout.readline() + started.stdout.readline()
    time.sleep(0.1)
    started.send_signal(number)
    out, error = started.communicate(timeout=30)
    return Ending(started.returncode, (first + out).decode(), error.decode())


def test_a_hook_that_cannot_attach_is_named_and_the_script_goes_on(folder: Path) -> None:
    (folder / "sklearn" / "base.py").write_text("class Estimator: pass\n")
    (folder / "script.py").write_text("import sklearn.base, laptime\nprint('over')\n")
    words = [sys.executable, "script.py"]
    bare = run(words, clean(), folder)
    hooked = run([LAPTIME, "run", "--", *words], clean(), folder)
    check_same(bare, hooked)
    assert "the hook of BaseEstimator.fit is off (AttributeError" in hooked.summary
