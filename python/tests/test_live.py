"""The live page on a real terminal (a pty), read by a terminal emulator."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyte
import pytest

LAPTIME = [sys.executable, "-m", "laptime"]
PATIENCE = 120
# Trains until the file appears.
TRAINING = """
import os, sys, time, laptime
for epoch in laptime.epochs(10_000):
    for batch in laptime.batches([1, 2, 3, 4]):
        with laptime.stage("forward"):
            time.sleep(0.01)
    if os.path.exists(sys.argv[1]):
        print("stopped by the test", flush=True)
        sys.exit(7)
"""


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, words: list[str], folder: Path, size: tuple[int, int] = (100, 40)) -> None:
        self.screen = pyte.Screen(*size)
        self.stream = pyte.ByteStream(self.screen)
        self.sent = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ |= {
                "TERM": "xterm-256color",
                "LAPTIME_DIR": str(folder),
                "LC_ALL": "C.UTF-8",
                "LAPTIME_QUIET": "0",
            }
            time.sleep(0.2)
            os.execvp(words[0], words)
        self.resize(*size)
        self.before = termios.tcgetattr(self.fd)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def read(self, seconds: float) -> bool:
        """Takes what comes within so long; false when nothing more ever comes."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            sent = os.read(self.fd, 65536)
        except OSError:
            return False
        self.sent += sent
        self.stream.feed(sent)
        return bool(sent)

    def until(self, is_so: Callable[[str], bool]) -> str:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            shown = "\n".join(self.screen.display)
            if is_so(shown):
                return shown
            if not self.read(0.2):
                break
        raise AssertionError("\n".join(self.screen.display) + "\n" + repr(self.sent[-2000:]))

    def press(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def ended(self) -> int:
        """The exit code, after all that was sent was read."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            more = self.read(0.1)
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                while more and select.select([self.fd], [], [], 0.1)[0]:
                    more = self.read(0.1)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        raise AssertionError("it does not end")

    def assert_left_as_it_was(self) -> None:
        assert termios.tcgetattr(self.fd) == self.before
        assert self.sent.count(b"\x1b[?1049h") == self.sent.count(b"\x1b[?1049l") == 1
        assert self.sent.count(b"\x1b[?25l") == self.sent.count(b"\x1b[?25h") >= 1


@pytest.fixture
def training(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """The folder of a run that goes on, and its process."""
    (tmp_path / "train.py").write_text(TRAINING)
    environment = os.environ | {"LAPTIME_DIR": str(tmp_path / "runs"), "LAPTIME_QUIET": "1"}
    words = [
        *LAPTIME,
        "run",
        "--",
        sys.executable,
        str(tmp_path / "train.py"),
        str(tmp_path / "stop"),
    ]
    started = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE
    while not list((tmp_path / "runs").glob("*/rank-*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    yield tmp_path / "runs", started
    (tmp_path / "stop").touch()
    assert started.wait(PATIENCE) == 7


def live(folder: Path, size: tuple[int, int] = (100, 40)) -> Terminal:
    return Terminal([*LAPTIME, "report", "--live"], folder, size)


def test_the_page_follows_a_training_at_any_size_until_q(
    training: tuple[Path, subprocess.Popen[bytes]],
) -> None:
    folder, process = training
    page = live(folder)
    shown = page.until(
        lambda text: "forward" in text and "step time: median" in text and "CPUs" in text
    )
    assert "train.py  running" in shown
    assert "q leaves this page" in shown
    page.resize(40, 14)
    shown = page.until(lambda text: "forward" in text and "q leaves" in text.splitlines()[-1])
    assert "train.py  running" in shown
    page.press(b"x")
    page.press(b"q")
    assert page.ended() == 0
    page.assert_left_as_it_was()
    assert process.poll() is None


@pytest.mark.parametrize("how", ["ctrl-c", "signal"])
def test_ctrl_c_and_a_signal_leave_the_terminal_as_it_was(
    training: tuple[Path, subprocess.Popen[bytes]], how: str
) -> None:
    page = live(training[0])
    page.until(lambda text: "running" in text)
    if how == "ctrl-c":
        page.press(b"\x03")
    else:
        os.kill(page.pid, signal.SIGTERM)
    assert page.ended() == 130
    page.assert_left_as_it_was()


def test_the_report_follows_when_the_training_ends(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    environment = os.environ | {"LAPTIME_DIR": str(tmp_path / "runs"), "LAPTIME_QUIET": "1"}
    words = [
        *LAPTIME,
        "run",
        "--",
        sys.executable,
        str(tmp_path / "train.py"),
        str(tmp_path / "stop"),
    ]
    started = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    while not list((tmp_path / "runs").glob("*/rank-*")):
        time.sleep(0.1)
    page = live(tmp_path / "runs")
    page.until(lambda text: "forward" in text)
    (tmp_path / "stop").touch()
    assert started.wait(PATIENCE) == 7
    assert page.ended() == 0
    page.assert_left_as_it_was()
    after = page.sent.rsplit(b"\x1b[?1049l", 1)[1].decode()
    assert "failed" in after and "wall time" in after
    again = subprocess.run(
        [*LAPTIME, "report", "--live"], env=environment, capture_output=True, text=True
    )
    assert again.returncode == 0 and "is not running: this is its report" in again.stderr


def test_without_a_terminal_there_are_words(training: tuple[Path, subprocess.Popen[bytes]]) -> None:
    environment = os.environ | {"LAPTIME_DIR": str(training[0])}
    said = subprocess.run(
        [*LAPTIME, "report", "--live"], env=environment, capture_output=True, text=True
    )
    assert said.returncode == 2
    assert "because: standard output is not a terminal" in said.stderr
    assert "hint: laptime report 2" in said.stderr
    for option in ["--live", "--title"]:
        words = [*LAPTIME, "run", option, "--", "true"]
        said = subprocess.run(
            words, env=environment, capture_output=True, text=True, start_new_session=True
        )
        assert (said.returncode, "there is no terminal" in said.stderr) == (2, True), said.stderr


def test_beside_a_command_the_page_and_its_output_never_meet(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    command = f"{sys.executable} {tmp_path / 'train.py'} {tmp_path / 'stop'}"
    laptime = " ".join(LAPTIME)
    line = f"{laptime} run --live --title -- {command} > {tmp_path / 'out'} 2> {tmp_path / 'err'}"
    page = Terminal(["sh", "-c", line], tmp_path / "runs")
    shown = page.until(lambda text: "forward" in text and page.screen.title.startswith("epoch "))
    assert "train.py  running" in shown and "Ctrl-C goes to the command" in shown
    assert page.screen.title.endswith("train.py")
    (tmp_path / "stop").touch()
    assert page.ended() == 7
    page.assert_left_as_it_was()
    assert page.sent.count(b"\x1b[22;2t") == page.sent.count(b"\x1b[23;2t") == 1
    assert (tmp_path / "out").read_text() == "stopped by the test\n"
    assert (tmp_path / "err").read_text().startswith("laptime  train.py  failed")


def test_the_page_is_not_drawn_over_a_commands_output(tmp_path: Path) -> None:
    page = Terminal(
        [*LAPTIME, "run", "--live", "--", "touch", str(tmp_path / "ran")], tmp_path / "runs"
    )
    assert page.ended() == 2
    assert b"the command's output goes to this terminal" in page.sent
    assert b"\x1b[?1049h" not in page.sent and not (tmp_path / "ran").exists()
