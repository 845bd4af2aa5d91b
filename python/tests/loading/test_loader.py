"""laptime.Loader: every sample once, in an order that can be taken up again, as arrays that stay valid."""

from __future__ import annotations

import copy
import ctypes
import gc
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import laptime
import numpy as np
import pytest

from .conftest import ROWS, pack


def rows_of(loader: Any) -> list[list[int]]:
    """The rows of each batch of an epoch, after a look at whether their features are theirs."""
    batches = []
    for x, y in loader:
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == np.float32 and y.dtype == np.int64 and x.shape == (len(y), 3)
        assert (x[:, 0] == y).all() and (x[:, 1] == -y).all() and (x[:, 2] == 0.5).all()
        batches.append(y.tolist())
    return batches


def flat(batches: list[list[int]]) -> list[int]:
    return [row for batch in batches for row in batch]


def test_each_epoch_has_each_row_once_in_an_order_of_its_own(table: Path) -> None:
    loader = laptime.Loader(table, batch_size=64, shuffle=True, seed=3, output="numpy")
    assert (len(loader), loader.rows, len(loader.dataset)) == (16, ROWS, ROWS)
    assert loader.columns == ("x", "y")
    first, second = rows_of(loader), rows_of(loader)
    assert [len(batch) for batch in first] == [64] * 15 + [40]
    assert sorted(flat(first)) == sorted(flat(second)) == list(range(ROWS))
    assert first != second and flat(first) != list(range(ROWS))
    again = laptime.Loader(table, batch_size=64, shuffle=True, seed=3, output="numpy", threads=2)
    assert rows_of(again) == first and rows_of(again) == second
    other = laptime.Loader(table, batch_size=64, shuffle=True, seed=4, output="numpy")
    assert rows_of(other) != first


def test_without_a_shuffle_rows_come_as_they_are_stored(table: Path) -> None:
    loader = laptime.Loader(table, batch_size=300, output="numpy", drop_last=True)
    assert flat(rows_of(loader)) == list(range(900))


@pytest.mark.parametrize("shuffle", [False, True, "window"])
def test_ranks_share_the_rows_equally(table: Path, shuffle: Any) -> None:
    ranks = [
        laptime.Loader(table, 50, shuffle, 1, rank=rank, world_size=3, output="numpy")
        for rank in range(3)
    ]
    assert {len(loader) for loader in ranks} == {7}
    visited = [flat(rows_of(loader)) for loader in ranks]
    assert {len(rows) for rows in visited} == {334}
    assert set(flat(visited)) == set(range(ROWS))


def test_the_launcher_says_which_rank_this_is(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    loader = laptime.Loader(table, output="numpy")
    assert (loader.rank, loader.world_size) == (1, 4)


def test_a_subset_is_a_range_or_a_list(table: Path) -> None:
    part = laptime.Loader(table, 7, subset=range(100, 150), output="numpy")
    assert flat(rows_of(part)) == list(range(100, 150))
    listed = laptime.Loader(table, 2, subset=[5, 3, 999], output="numpy")
    assert flat(rows_of(listed)) == [5, 3, 999]


def test_columns_are_chosen_by_name(table: Path) -> None:
    (y,) = next(iter(laptime.Loader(table, columns=["y"], output="numpy")))
    assert y.tolist() == list(range(256))


def test_a_batch_is_a_dictionary_where_that_is_asked_for(table: Path) -> None:
    loader = laptime.Loader(table, 64, columns=["y", "x"], as_dict=True, output="numpy")
    batches = list(loader)
    assert [list(batch) for batch in batches] == [["y", "x"]] * 16
    assert flat([batch["y"].tolist() for batch in batches]) == list(range(ROWS))
    (first, *_) = copy.deepcopy(loader)
    assert first["x"].shape == (64, 3) and loader.state_dict()["epoch"] == 1


def test_batches_stay_valid_and_can_be_written_to(table: Path) -> None:
    loader = laptime.Loader(table, batch_size=10, output="numpy")
    batches = list(loader)
    for x, _ in batches:
        assert not memoryview(x).readonly and x.ctypes.data % 64 == 0
    batches[0][0][:] = 7
    del loader
    gc.collect()
    for number, (x, y) in enumerate(batches):
        assert y.tolist() == list(range(10 * number, 10 * number + 10))
        assert (x[:, 0] == (7 if number == 0 else y)).all()


def test_torch_gets_tensors_of_its_own(table: Path) -> None:
    source = """
        import sys, torch, laptime
        loader = laptime.Loader(sys.argv[1], batch_size=100, shuffle=True)
        kept = list(loader)
        del loader
        assert all(x.dtype == torch.float32 and y.dtype == torch.int64 for x, y in kept)
        assert sorted(torch.cat([y for _, y in kept]).tolist()) == list(range(1000))
        x = kept[0][0].requires_grad_()
        x.sum().backward()
        assert x.grad is not None and x.is_contiguous()
        try:
            laptime.Loader(sys.argv[1], device="tpu")
        except ValueError as error:
            assert 'device is "cpu" or "cuda"' in str(error), error
        else:
            raise SystemExit("no error")
    """
    command = [sys.executable, "-c", textwrap.dedent(source), str(table)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_dlpack_is_for_any_library(table: Path) -> None:
    array, _ = next(iter(laptime.Loader(table, batch_size=4, output="dlpack")))
    assert (array.shape, array.dtype, array.__dlpack_device__()) == ((4, 3), "float32", (1, 0))
    assert np.from_dlpack(array)[:, 0].tolist() == [0, 1, 2, 3]
    view = memoryview(array)
    assert (view.shape, view.format) == ((4, 3), "f")
    jax = pytest.importorskip("jax")
    assert jax.numpy.from_dlpack(array).shape == (4, 3)


def test_who_needs_the_first_dimension_to_vary_fastest_is_refused(table: Path) -> None:
    array, _ = next(iter(laptime.Loader(table, batch_size=4, output="dlpack")))
    get_buffer, view = ctypes.pythonapi.PyObject_GetBuffer, ctypes.create_string_buffer(256)
    any_strides, first_fastest = 0x10 | 0x08, 0x40 | 0x10 | 0x08
    assert get_buffer(ctypes.py_object(array), view, any_strides) == 0
    ctypes.pythonapi.PyBuffer_Release(view)
    with pytest.raises(BufferError, match="last dimension"):
        get_buffer(ctypes.py_object(array), view, first_fastest)


def test_passes_at_the_same_time_share_the_pack_that_was_opened(
    table: Path, tmp_path: Path
) -> None:
    shutil.copytree(table, tmp_path / "a.pack")
    loader = laptime.Loader(tmp_path / "a.pack", 100, output="numpy")
    first = iter(loader)
    next(first)
    # Another pack takes the name, with fewer rows.
    np.savez(tmp_path / "b.npz", x=np.zeros((5, 3), np.float32), y=np.zeros(5, np.int64))
    pack(tmp_path / "b.npz", "-o", tmp_path / "a.pack", "--force")
    assert flat(rows_of(loader)) == list(range(ROWS))
    assert sum(len(y) for _, y in first) == ROWS - 100


def test_a_loader_goes_on_where_another_was(table: Path) -> None:
    def made(**options: Any) -> laptime.Loader:
        return laptime.Loader(table, 64, True, 9, output="numpy", **options)

    whole = made()
    first, second = rows_of(whole), rows_of(whole)
    loader = made()
    rows_of(loader)
    batches = iter(loader)
    for _ in range(5):
        next(batches)
    state = pickle.loads(pickle.dumps(loader.state_dict()))
    assert (state["epoch"], state["batch"]) == (1, 5)
    resumed = made(threads=2)
    resumed.load_state_dict(state)
    # As samplers that know epochs are told, which must not undo it.
    resumed.set_epoch(1)
    assert rows_of(resumed) == second[5:]
    resumed.set_epoch(0)
    assert rows_of(resumed) == first
    # At the end of an epoch nothing of it is left, and the next one follows.
    ended = made()
    rows_of(ended)
    after = made()
    after.load_state_dict(ended.state_dict())
    assert rows_of(after) == second


def test_a_state_of_another_loader_is_refused(table: Path) -> None:
    state = laptime.Loader(table, 64, True, output="numpy").state_dict()
    with pytest.raises(ValueError, match="batch_size=64, and this one has batch_size=32"):
        laptime.Loader(table, 32, True, output="numpy").load_state_dict(state)
    with pytest.raises(ValueError, match="state_dict"):
        laptime.Loader(table, output="numpy").load_state_dict({"epoch": 1})


@pytest.mark.parametrize("subset", [range(100, 200), list(range(100)), None])
def test_a_state_of_another_subset_is_refused(table: Path, subset: Any) -> None:
    state = laptime.Loader(table, 10, subset=range(100), output="numpy").state_dict()
    with pytest.raises(ValueError, match="subset='0 to 100'"):
        laptime.Loader(table, 10, subset=subset, output="numpy").load_state_dict(state)
    listed = laptime.Loader(table, 2, subset=[5, 3, 7], output="numpy").state_dict()
    laptime.Loader(table, 2, subset=np.array([5, 3, 7]), output="numpy").load_state_dict(listed)
    with pytest.raises(ValueError, match="3 listed"):
        laptime.Loader(table, 2, subset=[3, 5, 7], output="numpy").load_state_dict(listed)


def test_a_state_of_another_pack_is_refused(table: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "wide.npz", x=np.zeros((ROWS, 4), np.float32), y=np.arange(ROWS))
    pack(tmp_path / "wide.npz", "-o", tmp_path / "wide.pack")
    shutil.copytree(table, tmp_path / "copy.pack")
    state = laptime.Loader(table, output="numpy").state_dict()
    laptime.Loader(tmp_path / "copy.pack", output="numpy").load_state_dict(state)
    with pytest.raises(ValueError, match="pack='1000 samples"):
        laptime.Loader(tmp_path / "wide.pack", output="numpy").load_state_dict(state)


def test_the_state_that_one_rank_has_written_is_that_of_all(table: Path) -> None:
    def rank(rank: int) -> laptime.Loader:
        return laptime.Loader(table, 64, True, rank=rank, world_size=2, output="numpy")

    whole, first = rank(1), rank(0)
    batches = iter(first)
    next(batches), next(batches)
    other = rank(1)
    other.load_state_dict(first.state_dict())
    assert rows_of(other) == rows_of(whole)[2:]


def test_a_pass_that_went_before_its_first_batch_has_not_been(table: Path) -> None:
    def made() -> laptime.Loader:
        return laptime.Loader(table, 64, True, 9, output="numpy")

    whole, looked_at = made(), made()
    # As Lightning does it, to see whether it is iterable.
    iter(looked_at)
    iter(looked_at)
    first, second = rows_of(whole), rows_of(whole)
    assert rows_of(looked_at) == first
    # Two passes side by side are two epochs.
    one, two = iter(made_twice := made()), iter(made_twice)
    pairs = zip(one, two, strict=True)
    beside = [(a.tolist(), b.tolist()) for (_, a), (_, b) in pairs]
    assert beside == list(zip(first, second, strict=True))
    resumed = made()
    resumed.load_state_dict(made().state_dict() | {"epoch": 1, "batch": 5})
    iter(resumed)
    resumed.set_epoch(1)
    assert resumed.state_dict()["batch"] == 5
    iter(resumed)
    assert rows_of(resumed) == second[5:]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_of_a_loader_goes_on_where_it_was(table: Path, copied: Any) -> None:
    for subset in (None, range(100, 900), [5, 3, 999, 4]):
        loader = laptime.Loader(
            table, 3, True, 7, subset=subset, columns=["x", "y"], output="numpy"
        )
        batches = iter(loader)
        next(batches)
        other = copied(loader)
        assert [y.tolist() for _, y in other] == [y.tolist() for _, y in batches]
        assert rows_of(other) == rows_of(loader)


def test_every_pass_reads_the_pack_that_was_opened(table: Path, tmp_path: Path) -> None:
    target = tmp_path / "replaced.pack"
    shutil.copytree(table, target)
    loader = laptime.Loader(target, 64, output="numpy", threads=2)
    outer = iter(loader)
    next(outer)
    shutil.move(target, tmp_path / "old.pack")
    np.savez(tmp_path / "new.npz", x=np.zeros((10, 3), np.float32), y=np.zeros(10, np.int64))
    pack(tmp_path / "new.npz", "-o", target)
    # A pass within a pass has an engine of its own, and so has one after it.
    assert flat(rows_of(loader)) == list(range(ROWS))
    assert flat(rows_of(outer)) == list(range(64, ROWS))
    assert flat(rows_of(loader)) == list(range(ROWS))
    assert laptime.Loader(target, output="numpy").rows == 10


def test_a_buffer_is_not_handed_out_column_by_column(table: Path) -> None:
    array, _ = next(iter(laptime.Loader(table, batch_size=4, output="dlpack")))
    view = (ctypes.c_ssize_t * 32)()
    get = ctypes.pythonapi.PyObject_GetBuffer
    get.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
    fortran = 0x0040 | 0x0010 | 0x0008
    with pytest.raises(BufferError, match="last dimension vary fastest"):
        get(array, view, fortran)


def test_a_training_killed_at_once_goes_on_with_the_same_next_batch(
    table: Path, tmp_path: Path
) -> None:
    source = """
        import json, os, signal, sys, laptime
        loader = laptime.Loader(sys.argv[1], 64, True, 5, output="numpy", threads=2)
        if os.path.exists("state.json"):
            loader.load_state_dict(json.load(open("state.json")))
        for x, y in loader:
            print(y.tolist(), flush=True)
            json.dump(loader.state_dict(), open("state.json", "w"))
            if loader.state_dict()["batch"] == 6:
                os.kill(os.getpid(), signal.SIGKILL)
    """
    (tmp_path / "train.py").write_text(textwrap.dedent(source))
    command = [sys.executable, "train.py", str(table)]
    runs = [
        subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        for _ in range(2)
    ]
    assert [run.returncode for run in runs] == [-signal.SIGKILL, 0], runs[1].stderr
    lines = [line for run in runs for line in run.stdout.splitlines()]
    whole = laptime.Loader(table, 64, True, 5, output="numpy")
    assert lines == [str(batch) for batch in rows_of(whole)]


def test_a_fork_goes_on_with_threads_of_its_own(table: Path) -> None:
    source = """
        import os, sys, laptime
        loader = laptime.Loader(sys.argv[1], 64, True, output="numpy", threads=2)
        batches = iter(loader)
        next(batches)
        child = os.fork()
        print(sorted(row for x, y in batches for row in y.tolist()), flush=True)
        if child:
            os.waitpid(child, 0)
        else:
            os._exit(0)
    """
    command = [sys.executable, "-c", textwrap.dedent(source), str(table)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    parent, child = ended.stdout.splitlines()
    assert parent == child and parent.count(",") == ROWS - 64 - 1, ended.stderr


def test_ctrl_c_and_other_threads_are_not_kept_waiting(table: Path) -> None:
    before = set(os.listdir("/dev/shm"))
    source = """
        import os, signal, sys, threading, laptime
        loader = laptime.Loader(sys.argv[1], 1, True, output="numpy", threads=1)
        try:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            while True:
                for batch in loader:
                    pass
        except KeyboardInterrupt:
            print("interrupted")
    """
    command = [sys.executable, "-c", textwrap.dedent(source), str(table)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr) == ("interrupted\n", "")
    assert set(os.listdir("/dev/shm")) <= before


def test_damage_is_an_error_that_names_the_file_and_the_samples(
    table: Path, tmp_path: Path
) -> None:
    from laptime.loader import DamagedPackError

    damaged = tmp_path / "copy.pack"
    shutil.copytree(table, damaged)
    part = damaged / "part-00000.arrow"
    part.chmod(0o644)
    content = bytearray(part.read_bytes())
    content[content.index(np.float32(-700).tobytes())] ^= 1
    part.write_bytes(content)
    for threads in (0, 2):
        with pytest.raises(DamagedPackError, match=r"samples 0 to 999: .*part-00000.arrow"):
            list(laptime.Loader(damaged, output="numpy", threads=threads))
    # Without checks it is as fast and as trusting as others.
    assert len(list(laptime.Loader(damaged, output="numpy", verify=False))) == 4
    (damaged / "_manifest.json").unlink()
    with pytest.raises(DamagedPackError, match="no manifest"):
        laptime.Loader(damaged, output="numpy")
    with pytest.raises(FileNotFoundError, match="laptime pack"):
        laptime.Loader(tmp_path / "missing.pack", output="numpy")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size is a whole number from 1 on, not 0"),
        ({"shuffle": "yes"}, 'shuffle is True, False or "window"'),
        ({"seed": -1}, "seed is a whole number from 0 on"),
        ({"rank": 1}, "rank and world_size are given together"),
        ({"rank": 2, "world_size": 2}, "rank is below world_size"),
        ({"threads": 1.5}, "threads is a whole number"),
        ({"subset": [1000]}, "sample 1000 of a pack with 1000 samples"),
        ({"subset": []}, "no samples"),
        ({"subset": 5}, "subset is a range or a list"),
        ({"columns": ["z"]}, "z"),
        ({"output": "cupy"}, 'output is "torch", "numpy" or "dlpack"'),
        ({"normalize": "imagenet"}, "transform"),
        ({"normalize": ((1,), (1,)), "transform": laptime.image.resize(8)}, "3 channels"),
        ({"transform": laptime.image.resize(8)}, "image"),
        ({"warn_after": 0}, "warn_after is a number of seconds"),
    ],
)
def test_bad_options_are_named(table: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        laptime.Loader(table, **({"output": "numpy"} | options))
    assert message in str(error.value)


def test_a_closed_loader_says_so_and_its_batches_stay(table: Path) -> None:
    with laptime.Loader(table, output="numpy") as loader:
        _, y = next(iter(loader))
    with pytest.raises(ValueError, match="is closed"):
        iter(loader)
    assert y.tolist() == list(range(256))


def test_sequences_are_padded_and_say_how_long_they_are(tmp_path: Path) -> None:
    source = """
        import numpy as np
        class Texts:
            def __len__(self):
                return 10
            def __getitem__(self, index):
                return np.arange(1, index + 2), index % 2
        dataset = Texts()
    """
    (tmp_path / "texts.py").write_text(textwrap.dedent(source))
    pack(f"{tmp_path / 'texts.py'}:dataset", "-o", tmp_path / "texts.pack")
    loader = laptime.Loader(tmp_path / "texts.pack", 4, pad_value=-1, output="numpy")
    tokens, lengths, labels = next(iter(loader))
    assert tokens.tolist() == [[1, -1, -1, -1], [1, 2, -1, -1], [1, 2, 3, -1], [1, 2, 3, 4]]
    assert lengths.tolist() == [1, 2, 3, 4] and labels.tolist() == [0, 1, 0, 1]


def test_keras_fits_a_model_with_every_row_in_every_epoch(table: Path) -> None:
    source = """
        import os, sys
        os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "KERAS_BACKEND": "tensorflow"}
        import keras, laptime
        loader = laptime.Loader(sys.argv[1], 64, True, subset=range(100))
        dataset = loader.as_tf_dataset()
        epochs = [sorted(int(row) for _, y in dataset for row in y) for _ in range(2)]
        assert epochs == [list(range(100))] * 2, epochs
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        history = model.fit(dataset, epochs=2, verbose=0)
        assert len(history.history["loss"]) == 2 and loader.state_dict()["epoch"] >= 4
        # The rest of an epoch, then whole ones.
        resumed = laptime.Loader(sys.argv[1], 64, subset=range(200))
        state = resumed.state_dict() | {"batch": 1}
        early = resumed.as_tf_dataset()
        resumed.load_state_dict(state)
        rest = resumed.as_tf_dataset()
        assert [[int(row) for _, y in rest for row in y] for _ in range(2)] == [
            list(range(64, 200)), list(range(200))
        ]
        resumed.load_state_dict(state)
        try:
            list(early)
        except Exception as error:
            assert "is called after load_state_dict()" in str(error), error
        else:
            raise SystemExit("no error")
    """
    command = [sys.executable, "-c", textwrap.dedent(source), str(table)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr


def test_keras_on_torch_fits_a_model_with_every_row(table: Path) -> None:
    pytest.importorskip("tensorflow")
    source = """
        import os, sys
        os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "KERAS_BACKEND": "torch"}
        import keras, laptime

        class Counted(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense, self.rows = keras.layers.Dense(1), 0
            def call(self, x):
                return self.dense(x)
            def train_step(self, data):
                self.rows += len(data[1])
                return super().train_step(data)

        loader = laptime.Loader(sys.argv[1], 64, True, subset=range(100), output="numpy")
        model = Counted()
        model.compile("sgd", "mse", run_eagerly=True)
        history = model.fit(loader.as_tf_dataset(), epochs=2, verbose=0)
        assert len(history.history["loss"]) == 2 and model.rows == 200, model.rows
    """
    command = [sys.executable, "-c", textwrap.dedent(source), str(table)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr


def test_a_pack_opens_in_other_programs(table: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_feather(table / "part-00000.arrow")
    assert frame["y"].tolist() == list(range(ROWS))
    assert frame["x"][3].tolist() == [3, -3, 0.5]
