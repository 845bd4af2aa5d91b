"""Stages, batches, laps and epochs give right durations and change nothing else."""

from __future__ import annotations

import inspect
import pickle

import laptime
import pytest
from conftest import Script, closes


def test_nested_stages_own_their_time_alone(script: Script) -> None:
    done = script(
        """
        import laptime
        from truth import rest
        outer, inner = laptime.stage("outer"), laptime.stage("inner")
        for _ in range(3):
            with outer:
                rest(0.01, "outer")
                with inner:
                    rest(0.03, "inner")
        """
    )
    assert done.holds(done.stage("outer")["seconds"], "outer")
    assert done.holds(done.stage("inner")["seconds"], "inner")
    assert done.stage("outer")["count"] == 3
    assert done.holds(done.stage("outer")["mean_s"] * 3, "outer", "inner")
    assert closes(done.run)


def test_exceptions_pass_unchanged_and_end_their_stage(script: Script) -> None:
    done = script(
        """
        import laptime
        stage = laptime.stage("fails")
        error = KeyError("mine")
        @stage
        def fail():
            raise error
        for form in ("with", "call"):
            try:
                if form == "with":
                    with stage:
                        raise error
                fail()
            except KeyError as caught:
                assert caught is error and caught.__cause__ is None
        """
    )
    assert done.stage("fails")["count"] == 2
    assert done.run.status == "finished"


def test_an_uncaught_exception_is_what_the_run_says(script: Script) -> None:
    done = script(
        "import laptime\nwith laptime.stage('x'):\n    raise ValueError('bad rows')", code=1
    )
    assert done.run.status == "failed"
    assert done.run.to_dict()["run"]["message"] == "ValueError: bad rows"
    assert done.err.count("Traceback") == 1


def test_a_decorated_function_is_like_the_function() -> None:
    def function(a: int, *, b: str = "x") -> str:
        """Says something."""
        return f"{a}{b}"

    timed = laptime.stage("decorated")(function)
    assert timed(1, b="y") == "1y" and timed(2) == "2x"
    assert timed.__wrapped__ is function
    assert timed.__name__ == "function" and timed.__doc__ == "Says something."
    assert inspect.signature(timed) == inspect.signature(function)
    assert callable(timed)
    with pytest.raises(TypeError, match="required positional"):
        timed()
    with pytest.raises(TypeError, match="decorates a function"):
        laptime.stage("decorated")(3)


@laptime.stage("module level")
def module_level(x: int) -> int:
    """Can be pickled, as spawned workers need."""
    return x + 1


def test_methods_bind_and_names_survive_a_pickle() -> None:
    class Model:
        @laptime.stage("method")
        def forward(self, x: int) -> tuple[object, int]:
            return self, x

        @classmethod
        @laptime.stage("class method")
        def make(cls) -> type:
            return cls

        @staticmethod
        @laptime.stage("static method")
        def add(x: int) -> int:
            return x + 1

    model = Model()
    assert model.forward(3) == (model, 3)
    assert Model.forward(model, 3) == (model, 3)
    bound = model.forward
    assert bound(x=4) == (model, 4)
    assert Model.make() is Model and model.add(1) == 2
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    stage = laptime.stage("pickled")
    assert pickle.loads(pickle.dumps(stage)) is stage is laptime.stage("pickled")
    assert repr(stage) == 'laptime.stage("pickled")' and stage.name == "pickled"


def test_recursion_counts_no_time_twice(script: Script) -> None:
    done = script(
        """
        import laptime
        from truth import rest
        @laptime.stage("recursive")
        def down(depth):
            rest(0.01, "recursive")
            return depth and down(depth - 1)
        down(4)
        """
    )
    assert done.stage("recursive")["count"] == 5
    assert done.holds(done.stage("recursive")["seconds"], "recursive")
    assert closes(done.run)


def test_a_generator_is_timed_while_it_runs_itself(script: Script) -> None:
    done = script(
        """
        import laptime, time
        from truth import rest
        @laptime.stage("produce")
        def produce():
            received = []
            for item in range(3):
                rest(0.01, "produce")
                received.append((yield item))
            return received
        generator = produce()
        got = [next(generator)]
        time.sleep(0.05)
        got.append(generator.send("a"))
        time.sleep(0.05)
        got.append(generator.send("b"))
        try:
            generator.send("c")
        except StopIteration as end:
            assert end.value == ["a", "b", "c"], end.value
        assert got == [0, 1, 2]
        closed = produce(); next(closed); closed.close()
        thrown = produce(); next(thrown)
        try:
            thrown.throw(KeyError("in"))
        except KeyError:
            pass
        """
    )
    assert done.holds(done.stage("produce")["seconds"], "produce")


def test_interleaved_generators_keep_their_own_durations(script: Script) -> None:
    done = script(
        """
        import laptime
        from truth import rest
        def work(name):
            with laptime.stage(name):
                yield
        a, b = work("a"), work("b")
        next(a); rest(0.02, "a")
        next(b); rest(0.03, "a", "b")
        next(a, None); rest(0.02, "b")
        next(b, None)
        """
    )
    assert done.holds(done.stage("a")["mean_s"], "a")
    assert done.holds(done.stage("b")["mean_s"], "b")
    assert closes(done.run)


def test_coroutines_are_timed_from_begin_to_end(script: Script) -> None:
    done = script(
        """
        import asyncio, laptime
        from truth import rest_async
        @laptime.stage("fetch")
        async def fetch():
            await rest_async(0.05, "fetch")
            return 1
        @laptime.stage("stream")
        async def stream():
            for item in range(3):
                await asyncio.sleep(0.01)
                yield item
        @laptime.stage("parse")
        async def parse():
            await rest_async(0.02, "parse")
        async def main():
            assert await fetch() == 1
            assert [item async for item in stream()] == [0, 1, 2]
            await asyncio.gather(fetch(), parse())
        asyncio.run(main())
        """
    )
    assert done.holds(done.stage("fetch")["mean_s"] * 2, "fetch")
    assert done.holds(done.stage("parse")["mean_s"], "parse")
    assert done.stage("stream")["count"] == 4
    assert closes(done.run)


def test_tasks_of_one_stage_keep_their_own_durations(script: Script) -> None:
    done = script(
        """
        import asyncio, laptime
        from truth import rest_async
        stage = laptime.stage("task")
        async def work(after, seconds):
            await asyncio.sleep(after)
            with stage:
                await rest_async(seconds, "task")
        async def main():
            # The first ends while the second is open: an end that takes the innermost would give 0.2 and 0.9 s.
            await asyncio.gather(work(0, 0.5), work(0.3, 0.6))
        asyncio.run(main())
        """
    )
    row = done.stage("task")
    assert row["count"] == 2
    assert done.holds(row["mean_s"] * 2, "task")
    assert 0.49 <= row["p50_s"] <= row["p95_s"] < 0.8
    assert closes(done.run)


def test_threads_have_ledgers_of_their_own(script: Script) -> None:
    done = script(
        """
        import laptime, threading, time
        stage = laptime.stage("work")
        def work():
            for _ in range(1000):
                with stage:
                    pass
            with laptime.stage("sleeps"):
                time.sleep(0.02)
        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        work()
        [thread.join() for thread in threads]
        """
    )
    tracks = done.run.to_dict()["tracks"]
    assert [track["kind"] for track in tracks] == ["thread"] * 4
    rows = [row for track in tracks for row in track["ledger"]] + done.run.ledger
    assert sum(row["count"] for row in rows if row["stage"] == "work") == 5000
    assert closes(done.run)


def test_batches_are_waits_and_steps_and_a_pass_is_an_epoch(script: Script) -> None:
    done = script(
        """
        import laptime
        from truth import rest
        class Loader:
            batch_size = 4
            def __len__(self):
                return 5
            def __iter__(self):
                for batch in range(5):
                    rest(0.01, "data_wait", f"epoch {epoch}")
                    yield [batch] * 4
        loader = laptime.batches(Loader())
        assert len(loader) == 5 and loader.batch_size == 4
        for epoch in range(2):
            batches = [batch for batch in loader if rest(0.02, f"epoch {epoch}") is None]
            assert batches == [[i] * 4 for i in range(5)]
        """
    )
    assert done.holds(done.stage("data_wait")["seconds"], "data_wait")
    assert [(epoch["steps"], epoch["samples"]) for epoch in done.run.epochs] == [(5, 20), (5, 20)]
    assert done.holds(done.run.epochs[1]["wall_s"], "epoch 1")
    assert closes(done.run)


def test_epochs_and_evaluations(script: Script) -> None:
    done = script(
        """
        import laptime
        from truth import rest
        evaluate = laptime.stage("evaluate")
        for epoch in laptime.epochs(3, label="tiny", rows=6):
            for batch in laptime.batches(range(2), samples=lambda batch: 3):
                with laptime.stage("forward"):
                    rest(0.01, "forward")
            with evaluate:
                for batch in laptime.batches(range(2)):
                    with laptime.stage("forward"):
                        rest(0.01, "evaluate")
            laptime.measured("validation_loss", 0.5)
        """
    )
    run = done.run
    assert [(fit["label"], fit["rows"]) for fit in run.fits] == [("tiny", 6)]
    assert [(epoch["steps"], epoch["samples"]) for epoch in run.epochs] == [(2, 6)] * 3
    assert done.holds(done.stage("evaluate")["seconds"], "evaluate")
    assert done.holds(done.stage("forward")["seconds"], "forward")
    assert closes(run)


def test_a_loop_left_early_ends_its_step_and_its_epoch(script: Script) -> None:
    done = script(
        """
        import laptime
        def train():
            for epoch in laptime.epochs(5):
                for batch in laptime.batches(range(10)):
                    if batch == 3:
                        return
        train()
        with laptime.stage("after"):
            pass
        """
    )
    assert [epoch["steps"] for epoch in done.run.epochs] == [4]


def test_an_iterable_that_fails_fails_the_same(script: Script) -> None:
    script(
        """
        import laptime
        error = OSError("gone")
        def loader():
            yield 1
            raise error
        seen = []
        try:
            for batch in laptime.batches(loader()):
                seen.append(batch)
        except OSError as caught:
            assert caught is error
        assert seen == [1]
        try:
            iter(laptime.batches(3))
        except TypeError as caught:
            assert "not iterable" in str(caught)
        """
    )


def test_laps_name_what_ends(script: Script) -> None:
    done = script(
        """
        import laptime
        from truth import rest
        for epoch in laptime.epochs(1):
            for batch in laptime.batches(range(3)):
                rest(0.01, "first")
                laptime.lap("first")
                rest(0.02, "second")
                with laptime.stage("inside"):
                    rest(0.01, "inside")
                laptime.lap("second")
        laptime.lap(3)
        """
    )
    assert done.holds(done.stage("first")["seconds"], "first")
    assert done.holds(done.stage("second")["seconds"], "second")
    assert done.holds(done.stage("inside")["seconds"], "inside")
    assert closes(done.run)
