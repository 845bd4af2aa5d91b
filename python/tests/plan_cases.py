"""Loops as people write them, each with the plan that must be found in it.

Runs on any Python without the native module, so that bytecode of every version is looked at:

    python plan_cases.py path/of/python/laptime
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import sys
import time
import types
import weakref
from collections.abc import Callable
from itertools import count
from typing import Any

if __name__ == "__main__":
    package = types.ModuleType("laptime")
    package.__path__ = [sys.argv[1]]
    sys.modules["laptime"] = package

from laptime import _loops, _plan  # noqa: E402

CASES: list[tuple[Callable[[], None], Any]] = []
plans: list[_plan.Plan | None] = []
slowest = 0.0


def plan(turns: int | None = None, source: str = "") -> Callable[[Any], Any]:
    """What must be found at the first call of `epoch_step` or `step` in the function."""

    def keep(function: Callable[[], None]) -> Callable[[], None]:
        CASES.append((function, None if turns is None else (turns, source)))
        return function

    return keep


def look(find: Callable[[Any], _plan.Plan | None]) -> None:
    global slowest
    if not plans:
        frame = sys._getframe(2)
        before = dict(frame.f_globals)
        began = time.perf_counter()
        found = find(frame)
        slowest = max(slowest, time.perf_counter() - began)
        assert before.keys() == frame.f_globals.keys()
        plans.append(found)


def epoch_step() -> None:
    look(lambda frame: _plan.of_epochs(frame, _loops.epoch_place(frame, frozenset())))


def loader_step() -> None:
    look(lambda frame: _plan.of_epochs(frame, None))


def step() -> None:
    look(_plan.of_steps)


loader = [1, 2, 3]
ROUNDS = 4
args = argparse.Namespace(epochs=5, steps=7, amp=False, start=2)
config = {"epochs": 6, "train": {"n": 3}}


class tqdm:
    """As much of tqdm's as matters."""

    def __init__(self, over: Any, desc: str = "") -> None:
        self.over, self.total = over, len(over)

    def __iter__(self) -> Any:
        return iter(self.over)


tqdm.__module__ = "tqdm.std"


def trange(n: int, **_: Any) -> Any:
    return tqdm(range(n))


class Loud:
    """Every access to something that is not plainly there is an error."""

    epochs = 9

    def __init__(self) -> None:
        self.cfg = types.SimpleNamespace(num_epochs=8)
        self.hidden = 3

    @property
    def hidden(self) -> int:
        raise AssertionError("a property was called")

    @hidden.setter
    def hidden(self, value: int) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was asked for")


class Overriding:
    def __init__(self) -> None:
        self.num_epochs = 3

    def __getattribute__(self, name: str) -> Any:
        if name == "num_epochs":
            return 4
        return object.__getattribute__(self, name)


@dataclasses.dataclass(slots=True)
class Slotted:
    rounds: int = 11


# Epochs.


@plan(3, "range(3)")
def a_constant() -> None:
    for epoch in range(3):
        for _ in loader:
            epoch_step()


@plan(3, "range(n)")
def a_local() -> None:
    n = 3
    for epoch in range(n):
        for _ in loader:
            loader_step()


@plan(4, "range(ROUNDS)")
def a_global() -> None:
    for epoch in range(ROUNDS):
        for _ in loader:
            loader_step()


@plan(3, "range(n)")
def a_variable_of_the_function_around() -> None:
    n = 3

    def train() -> None:
        for epoch in range(n):
            for _ in loader:
                loader_step()

    train()


@plan(5, "range(args.epochs)")
def a_setting() -> None:
    for epoch in range(args.epochs):
        epoch_step()


@plan(5, "range(1, args.epochs + 1)")
def counted_from_one() -> None:
    for epoch in range(1, args.epochs + 1):
        epoch_step()


@plan(3, "range(start_epoch, args.epochs)")
def resumed() -> None:
    start_epoch = 2
    for epoch in range(start_epoch, args.epochs):
        for _ in loader:
            loader_step()


@plan(6, 'range(config["epochs"])')
def an_item() -> None:
    for epoch in range(config["epochs"]):
        epoch_step()


@plan(3, 'range(config["train"]["n"])')
def an_item_of_an_item() -> None:
    for epoch in range(config["train"]["n"]):
        epoch_step()


@plan(8, "range(self.cfg.num_epochs)")
def an_attribute_of_an_attribute() -> None:
    self = Loud()
    for epoch in range(self.cfg.num_epochs):
        epoch_step()


@plan(9, "range(self.epochs)")
def an_attribute_of_the_class() -> None:
    self = Loud()
    for epoch in range(self.epochs):
        epoch_step()


@plan(11, "range(slotted.rounds)")
def a_slot() -> None:
    slotted = Slotted()
    for epoch in range(slotted.rounds):
        epoch_step()


@plan(5, "range(args.epochs)")
def with_a_progress_bar() -> None:
    for epoch in tqdm(range(args.epochs), desc="epochs"):
        for _ in tqdm(loader):
            loader_step()


@plan(2, "range(2)")
def with_trange() -> None:
    for epoch in trange(2, desc="epochs"):
        loader_step()


@plan(3, "bar")
def a_progress_bar_in_a_variable() -> None:
    bar = tqdm(range(3))
    for epoch in bar:
        loader_step()


@plan(3, "range(1, 4)")
def enumerated() -> None:
    for i, epoch in enumerate(range(1, 4)):
        loader_step()


@plan(3, "a list of 3")
def a_list_written_out() -> None:
    for epoch in [1, 2, 3]:
        loader_step()


@plan(2, "schedule")
def a_list_in_a_variable() -> None:
    schedule = [0.1, 0.01]
    for lr in schedule:
        for _ in loader:
            loader_step()


@plan(6, "range(int(args.epochs * 1.2))")
def arithmetic() -> None:
    for epoch in range(int(args.epochs * 1.2)):
        loader_step()


@plan(5, "range(args.epochs)")
def in_functions_of_their_own() -> None:
    def train_one_epoch() -> None:
        for _ in loader:
            update()

    def update() -> None:
        loader_step()

    for i in range(args.epochs):
        train_one_epoch()


@plan(4, "epoch < ROUNDS")
def a_while_loop() -> None:
    epoch = 0
    while epoch < ROUNDS:
        for _ in loader:
            loader_step()
        epoch += 1


@plan(4, "epoch <= ROUNDS")
def a_while_loop_from_one() -> None:
    epoch = 1
    while epoch <= ROUNDS:
        for _ in loader:
            loader_step()
        epoch = epoch + 1


@plan(4, "ROUNDS > epoch")
def a_while_loop_the_other_way_round() -> None:
    epoch = 0
    while ROUNDS > epoch:
        epoch += 1
        for _ in loader:
            loader_step()


@plan(3, "epoch == 3")
def an_endless_count_with_a_break() -> None:
    for epoch in itertools.count():
        if epoch == 3:
            break
        loader_step()


@plan(12, "num_epochs")
def a_telling_name() -> None:
    num_epochs = 12
    for epoch in (e for e in range(num_epochs)):
        loader_step()


@plan(5, "args.epochs")
def a_telling_setting() -> None:
    args = argparse.Namespace(epochs=5)
    for epoch in (e for e in range(3)):
        loader_step()
    del args


class Thing:
    pass


@plan(1, "range(n)")
def nothing_is_kept_alive() -> None:
    n, thing = 1, Thing()
    seen = weakref.ref(thing)
    for epoch in range(n):
        loader_step()
        del thing
        assert seen() is None


LONG = """
def a_long_loop():
    x = 0
    for i in range(args.epochs):
        for _ in loader:
            if args.amp:
                step()
            loader_step()
            {}
"""
exec(LONG.format("; ".join(["x = x + len(loader)"] * 200)))
plan(5, "range(args.epochs)")(a_long_loop)  # type: ignore[name-defined]  # noqa: F821


@plan()
def names_that_differ() -> None:
    num_epochs, epochs = 3, 4
    for epoch in (e for e in range(3)):
        loader_step()
    del num_epochs, epochs


@plan()
def a_bound_that_the_loop_changes() -> None:
    n = 3
    for i in range(n):
        n = 5
        for _ in loader:
            loader_step()


@plan()
def one_range_or_another() -> None:
    for i in range(args.start) if args.amp else range(7):
        for _ in loader:
            loader_step()


@plan()
def a_range_of_a_property() -> None:
    class Quiet:
        @property
        def rounds(self) -> int:
            assert not looking, "a property was called"
            return 2

    looking = []
    trainer = Quiet()
    for i in range(trainer.rounds):
        looking.append(1)
        for _ in loader:
            loader_step()
        looking.clear()


@plan()
def an_overridden_access() -> None:
    trainer_ = Overriding()
    for i in range(trainer_.num_epochs):
        for _ in loader:
            loader_step()


@plan()
def a_counter_is_no_plan() -> None:
    epochs = 0
    for i in (e for e in range(3)):
        epochs += 1
        for _ in loader:
            loader_step()


@plan()
def no_loop_and_no_name() -> None:
    loader_step()


# Steps.


@plan(100, "range(100)")
def steps_of_a_range() -> None:
    for i in range(100):
        step()


@plan(7, "range(args.steps)")
def steps_in_a_function() -> None:
    def train_step() -> None:
        step()

    for i in range(args.steps):
        if args.amp:
            print()
        train_step()


@plan(50, "step_now < max_steps")
def steps_of_a_while_loop() -> None:
    step_now, max_steps = 0, 50
    while step_now < max_steps:
        step()
        step_now += 1


@plan(50, "step_now < max_steps")
def counted_before_the_step() -> None:
    step_now, max_steps = 0, 50
    while step_now < max_steps:
        step_now += 1
        step()


@plan(40, "step_now < max_steps")
def steps_resumed() -> None:
    step_now, max_steps = 10, 50
    while step_now < max_steps:
        step()
        step_now += 1


@plan(51, "iter_num > max_iters")
def a_break_at_the_end() -> None:
    iter_num, max_iters = 0, 50
    while True:
        for micro in range(4):
            pass
        step()
        iter_num += 1
        if iter_num > max_iters:
            break


@plan(50, "self.iter_num >= config.max_iters")
def attributes_count_too() -> None:
    self, config = types.SimpleNamespace(iter_num=0), types.SimpleNamespace(max_iters=50)
    while True:
        step()
        self.iter_num += 1
        if config.max_iters is not None and self.iter_num >= config.max_iters:
            break


@plan(20, "done >= max_steps")
def over_several_passes() -> None:
    done, max_steps = 0, 20
    while done < max_steps:
        for _ in loader:
            step()
            done += 1
            if done >= max_steps:
                break


@plan(20, "done >= 20")
def counted_with_the_update() -> None:
    done = 0
    for i, _ in enumerate(itertools.cycle(loader)):
        if (i + 1) % 4 == 0:
            step()
            done += 1
        if done >= 20:
            return


@plan(30, "i >= 30")
def an_endless_count_of_steps() -> None:
    for i in count():
        if i >= 30:
            break
        step()


@plan(31, "i >= 30")
def an_endless_count_that_ends_after_the_step() -> None:
    for i in count():
        step()
        if i >= 30:
            break


@plan(60, "max_steps")
def a_telling_number_of_steps() -> None:
    max_steps = 60
    for _ in itertools.cycle(loader):
        step()
        if not max_steps or len(plans) > 0:
            break


@plan()
def not_every_turn_is_a_step() -> None:
    for i in range(100):
        if i % 4 == 3:
            step()


@plan()
def not_every_call_is_a_step() -> None:
    def maybe(i: int) -> None:
        if i % 4 == 3:
            step()

    for i in range(100):
        maybe(i)


@plan()
def counted_anew_in_each_pass() -> None:
    for i in range(3):
        done = 0
        for _ in itertools.cycle(loader):
            step()
            done += 1
            if done >= 20:
                break


@plan()
def moves_of_an_environment() -> None:
    total_timesteps = 100
    for i in range(total_timesteps):
        step()


@plan()
def loops_in_loops() -> None:
    num_iterations = 3
    for update in range(num_iterations):
        for round in range(4):
            for _ in loader:
                step()


@plan()
def hands_out_its_variables() -> None:
    if sys.version_info >= (3, 13):
        plans.append(None)  # There `f_locals` is a view, and may be read.
    bound = 3
    kept = locals()
    for i in range(bound):
        step()
    assert "i" not in kept


# Loops that may be left before.


def is_enough() -> bool:
    return len(plans) > 0


@plan(20, "at most range(20)")
def an_early_stop() -> None:
    for epoch in range(20):
        for _ in loader:
            loader_step()
        if is_enough():
            print(end="")
            break


@plan(20, "at most range(20)")
def an_early_return() -> None:
    for epoch in range(20):
        epoch_step()
        if is_enough() and epoch > 0:
            return


@plan(20, "at most range(20)")
def an_early_stop_in_the_middle() -> None:
    for epoch in range(20):
        for _ in loader:
            loader_step()
            if is_enough():
                return


@plan(4, "at most epoch < ROUNDS")
def a_while_loop_with_an_early_stop() -> None:
    epoch = 0
    while epoch < ROUNDS:
        for _ in loader:
            loader_step()
        epoch += 1
        if is_enough():
            break


@plan(100, "at most range(100)")
def steps_with_an_early_stop() -> None:
    for i in range(100):
        step()
        if is_enough():
            break


@plan(5, "range(args.epochs)")
def an_error_is_no_early_stop() -> None:
    for epoch in range(args.epochs):
        for _ in loader:
            loader_step()
            if not is_enough():
                raise ValueError("the loss is no number")


@plan(5, "range(args.epochs)")
def only_the_pass_is_cut_short() -> None:
    for epoch in range(args.epochs):
        for i, _ in enumerate(loader):
            if i >= 2:
                break
            loader_step()


@plan(5, "range(args.epochs)")
def a_turn_that_goes_on_early() -> None:
    for epoch in range(args.epochs):
        loader_step()
        if is_enough():
            continue
        with open(__file__):
            pass


@plan(6, "at most range(6)")
def turns_that_were_made_before() -> None:
    for epoch in range(6):
        if epoch < 2:
            continue
        for _ in loader:
            loader_step()


@plan(5, "range(args.epochs)")
def not_every_batch_is_an_update() -> None:
    for epoch in range(args.epochs):
        for i, _ in enumerate(loader):
            if i % 2 == 1:
                loader_step()


@plan(8, "done == 8")
def the_nearer_of_two_limits() -> None:
    done, max_steps = 0, 50
    while done < max_steps:
        step()
        done += 1
        if done == 8:
            break


@plan(12, "done >= max_steps")
def steps_that_end_an_epoch_loop() -> None:
    done, max_steps = 0, 12
    for epoch in range(10):
        for _ in loader:
            loader_step()
            done += 1
            if done >= max_steps:
                break
        if done >= max_steps:
            break


@plan(12, "done >= max_steps")
def steps_that_end_the_function() -> None:
    done, max_steps = 0, 12
    for epoch in range(10):
        for _ in loader:
            loader_step()
            done += 1
            if done >= max_steps:
                return


def complaint(case: tuple[Callable[[], None], Any]) -> str:
    """What was not found as it must be; nothing where all is well."""
    function, expected = case
    plans.clear()
    function()
    found = plans[0]
    turns = found and (found.epochs or found.steps, found.source)
    return "" if turns == expected else f"{function.__name__}: {turns} instead of {expected}"


def complaints() -> list[str]:
    """Of all cases; without a loop, which would be one around the trainings."""
    return list(filter(None, map(complaint, CASES)))


if __name__ == "__main__":
    found = complaints()
    print("\n".join(found) or f"{len(CASES)} plans, the slowest took {slowest * 1e3:.2f} ms")
    sys.exit(bool(found))
