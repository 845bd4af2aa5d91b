"""The real TensorBoard server and its page show what laptime wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tensorboard")

import event_files
import tensorboard_page


def test_the_page_shows_every_tag(tmp_path: Path) -> None:
    for run in ["demo", "sizes", "killed"]:
        assert event_files.export(event_files.FIXTURES, run, tmp_path).returncode == 0
    (killed,) = tmp_path.glob("killed-*/*/*tfevents*")
    # As a kill in mid-write leaves it: two of the three epochs are whole.
    killed.write_bytes(killed.read_bytes()[:-7])
    written = {
        str(folder.relative_to(tmp_path)): {tag for tag, _ in event_files.points(folder)}
        for folder in event_files.fit_folders(tmp_path)
    }
    with tensorboard_page.served(tmp_path) as address:
        served = tensorboard_page.tags(address, len(written))
        assert {run: set(tags) for run, tags in served.items()} == written
        run = str(killed.parent.relative_to(tmp_path))
        assert tensorboard_page.steps(address, run, "laptime/epoch_time_s") == [0, 1]
        if tensorboard_page.CHROMIUM is None:
            pytest.skip("the page itself is not tested: Chromium is not installed")
        page = tensorboard_page.page(address)
    # A page has twelve cards.
    for tag in sorted(set.union(*written.values()))[:12]:
        assert f'title="{tag}"' in page, tag
    for run in written:
        assert run in page, run
