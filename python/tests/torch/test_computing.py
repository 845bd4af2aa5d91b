"""What is recorded of how a model is computed."""

from __future__ import annotations

from pathlib import Path

from .conftest import run_both, run_hooked


def test_how_a_model_is_computed_is_recorded_and_not_changed(tmp_path: Path) -> None:
    bare, recorded = run_both(["computing.py"], tmp_path)
    assert bare.code == 0 and recorded.ending == bare, bare.stderr
    settings = recorded.report["fits"][0]["settings"]
    details = {name: value for name, value in settings.items() if name.startswith("torch.")}
    assert int(details.pop("torch.threads")) > 0
    assert details == {
        "torch.autocast": "bfloat16",
        "torch.compiled": "no",
        "torch.convolutions": "3",
        "torch.dtype": "float32",
        "torch.layout": "channels_last",
        "torch.momentum": "0.9",
        "torch.optimizer": "one by one",
        "torch.tensors": "8",
        "torch.zero_grad": "zeros",
    }
    assert not recorded.report["warnings"]


def test_a_compiled_model_is_known_to_be_one(tmp_path: Path) -> None:
    recorded = run_hooked(["compiled.py"], tmp_path)
    settings = recorded.report["fits"][0]["settings"]
    assert (settings["torch.compiled"], settings["torch.autocast"]) == ("yes", "off")


def test_the_padding_of_batches_is_read_from_their_mask(tmp_path: Path) -> None:
    bare, recorded = run_both(["padded.py"], tmp_path)
    assert bare.code == 0 and recorded.ending == bare, bare.stderr
    settings = recorded.report["fits"][0]["settings"]
    assert (settings["torch.padding"], settings["torch.padded_columns"]) == ("0.600", "0.500")


def test_a_mask_that_is_added_does_not_tell_the_padding(tmp_path: Path) -> None:
    settings = run_hooked(["padded.py", "added"], tmp_path).report["fits"][0]["settings"]
    assert "torch.padding" not in settings


def test_gradients_that_no_optimizer_uses_are_known(tmp_path: Path) -> None:
    bare, recorded = run_both(["frozen.py"], tmp_path)
    assert bare.code == 0 and recorded.ending == bare, bare.stderr
    # The first layer has 48 of 74 elements.
    assert recorded.report["fits"][0]["settings"]["torch.unused_gradients"] == "0.649"
