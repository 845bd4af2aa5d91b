"""A real IPython: `%%laptime` records a cell and shows its run, and a run shows itself."""

from __future__ import annotations

import laptime
import pytest
from conftest import Script

pytest.importorskip("IPython", reason="IPython is not installed")

SHELL = """
from IPython.core.formatters import DisplayFormatter
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="nocolor")

def cell(text):
    return shell.run_cell(text, silent=False)

def shown(thing):
    formats, _ = shell.display_formatter.format(thing, include=["text/html", "text/plain"])
    return formats

shell.display_formatter.active_types = ["text/html", "text/plain"]
assert cell("%load_ext laptime").success
"""
LOOP = """
import time
for epoch in laptime.epochs(2):
    for batch in laptime.batches([[1, 2], [3, 4]]):
        time.sleep(0.005)
"""


def test_a_cell_is_a_run_of_its_own_that_shows_its_laps(script: Script) -> None:
    done = script(
        SHELL
        + f"""
LOOP = {LOOP!r}
first = cell("%%laptime base<b>line\\nimport laptime" + LOOP + "left = epoch").result
assert shell.user_ns["left"] == 1, "what a cell defines stays defined"
second = cell("%%laptime\\n" + LOOP).result
assert first.path != second.path and len(first.epochs) == len(second.epochs) == 2
formats = shown(first)
page = formats["text/html"]
assert "<svg" in page and "epoch" in page and "base&lt;b&gt;line" in page
assert "<b>line" not in page and "<script" not in page
assert formats["text/plain"] == repr(first)
assert first.to_html().startswith("<!doctype html>")
print(first.status, second.status)
"""
    )
    assert done.out.splitlines()[-1] == "finished finished"


def test_a_cell_that_trains_with_pytorch_needs_no_change(script: Script) -> None:
    pytest.importorskip("torch")
    done = script(
        SHELL
        + '''
text = """%%laptime torch
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
for epoch in range(2):
    for x, y in torch.utils.data.DataLoader(data, batch_size=16):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
"""
run = cell(text).result
stages = run.epochs[0]["stages"]
print(len(run.epochs), run.epochs[0]["steps"], "backward" in stages and "data_wait" in stages)
''',
        patience=300,
    )
    assert done.out.splitlines()[-1] == "2 4 True"


def test_a_cell_that_fails_keeps_its_run_as_failed(script: Script) -> None:
    done = script(
        SHELL
        + f"""
LOOP = {LOOP!r}
result = cell("%%laptime\\nimport laptime" + LOOP + "raise ValueError('no more')")
print(type(result.error_in_exec).__name__)
"""
    )
    assert done.out.splitlines()[-1] == "ValueError"
    assert done.out.count("Traceback") == 1 and "<laptime.Run" in done.out
    assert done.run.status == "failed" and "no more" in done.run.to_dict()["run"]["message"]


def test_a_run_whose_folder_is_gone_shows_its_name(tmp_path) -> None:
    run = laptime.Run(str(tmp_path / "gone"), {"run": {"status": "finished"}}, "text")
    assert run._repr_html_() is None and "gone" in repr(run)
