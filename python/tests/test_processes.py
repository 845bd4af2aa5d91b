"""Children, however they are made, record into the same run, and no end is lost or hangs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import laptime
import pytest
from conftest import Script, closes

WORKERS = """
import laptime, multiprocessing, os, sys, time

stage = laptime.stage("in child")

def work(number):
    with stage:
        time.sleep(0.01)

if __name__ == "__main__":
    laptime.init()
    with laptime.stage("in parent"):
        context = multiprocessing.get_context("{method}")
        children = [context.Process(target=work, args=(n,)) for n in range(3)]
        [child.start() for child in children]
        [child.join() for child in children]
    assert [child.exitcode for child in children] == [0, 0, 0]
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_have_logs_of_their_own_in_the_same_run(script: Script, method: str) -> None:
    done = script(WORKERS.replace("{method}", method))
    assert len(done.logs) == 4
    assert done.stage("in parent")["count"] == 1
    assert "in child" not in {row["stage"] for row in done.run.ledger}
    assert done.run.status == "finished"
    assert closes(done.run)
    assert done.err.count("laptime:") == 1


def test_a_plain_fork_is_a_clean_slate(script: Script) -> None:
    done = script(
        """
        import laptime, os, sys
        stage = laptime.stage("shared")
        with stage:
            child = os.fork()
            if child == 0:
                pass            # ends a stage that its parent began
        if child == 0:
            os._exit(3)         # and says nothing else
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        """
    )
    assert len(done.logs) == 1
    assert done.stage("shared")["count"] == 1


def test_forks_under_load_never_hang() -> None:
    bench = Path(__file__).parents[2] / "benches" / "python" / "forks.py"
    words = [sys.executable, str(bench), "1000"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("1,000 forks") and "0 hangs, 0 failures" in done.stdout


def test_children_of_a_fork_under_load_record_beside_their_parent(script: Script) -> None:
    done = script(
        """
        import laptime, os, threading
        stage, stop = laptime.stage("load"), False
        def load(n):
            while not stop:
                with stage:
                    laptime.stage(f"new name {n}")
        threads = [threading.Thread(target=load, args=(n,), daemon=True) for n in range(3)]
        [thread.start() for thread in threads]
        for turn in range(20):
            child = os.fork()
            if child == 0:
                if turn % 10 == 0:
                    with stage:
                        pass
                    laptime.finish()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        stop = True
        [thread.join() for thread in threads]
        """
    )
    assert len(done.logs) == 3
    assert closes(done.run)


def test_a_killed_child_leaves_its_log_and_the_parent_goes_on(script: Script) -> None:
    done = script(
        """
        import laptime, os, signal, time
        stage = laptime.stage("dies here")
        laptime.init()
        child = os.fork()
        if child == 0:
            with stage:
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        with laptime.stage("goes on"):
            pass
        """
    )
    assert done.stage("goes on")["count"] == 1
    assert len(done.logs) == 2
    assert done.run.status == "finished"


def test_a_killed_run_says_in_which_stage_it_died(script: Script) -> None:
    done = script(
        """
        import laptime, os, signal
        for batch in laptime.batches(range(10)):
            with laptime.stage("forward"):
                if batch == 4:
                    os.kill(os.getpid(), signal.SIGKILL)
        """,
        code=-9,
    )
    run = done.run
    assert run.status == "killed"
    assert "forward" in {row["stage"] for row in run.to_dict()["open_stages"]}
    assert run.to_dict()["steps"]["count"] == 4


def test_a_run_can_be_joined_and_begun_before_its_process(script: Script, tmp_path) -> None:
    first = script("import laptime\nwith laptime.stage('a'): pass")
    path = first.run.path
    second = script("import laptime\nwith laptime.stage('b'): pass", LAPTIME_RUN=path)
    assert len(second.logs) == 2
    assert second.err == ""
    assert laptime.load(dir=first.folder).path == path


def test_signals_and_random_numbers_are_left_alone(script: Script) -> None:
    script(
        """
        import random, signal
        state = random.getstate()
        handlers = {s: signal.getsignal(s) for s in signal.valid_signals()}
        import laptime
        for epoch in laptime.epochs(1):
            for batch in laptime.batches(range(3)):
                with laptime.stage("x"):
                    pass
        laptime.finish()
        assert handlers == {s: signal.getsignal(s) for s in signal.valid_signals()}
        assert random.getstate() == state
        """
    )


def test_what_a_process_used_before_it_was_recorded_is_not_the_runs(script: Script) -> None:
    done = script(
        """
        import os, sys, time
        # The counters come along, whether the process goes on or becomes another program.
        while time.process_time() < 0.5:
            pass
        if "again" not in sys.argv:
            os.execv(sys.executable, [sys.executable, *sys.argv, "again"])
        import laptime
        with laptime.stage("asleep"):
            time.sleep(0.3)
        """
    )
    assert done.run.to_dict()["machine"]["cpu_s"] < 0.3
