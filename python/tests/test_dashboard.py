"""`laptime serve` in a real browser: what a person sees, and that nothing of a run is taken for markup."""

from __future__ import annotations

import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import chromium
import dashboard
import pytest

pytestmark = pytest.mark.skipif(chromium.CHROMIUM is None, reason="Chromium is not installed")

DEMO = "20261115T104746Z-f3ad63bb"
PYTORCH = "20261116T072435Z-52283b21"
SIZES = [(360, False), (1600, True)]
"""Width of the window and whether it is dark."""


@dataclass
class Shown:
    """A dashboard and a browser in front of it."""

    browser: chromium.Browser
    address: str
    training: subprocess.Popen[bytes]

    @property
    def root(self) -> str:
        return self.address.split("/?")[0]

    def open(self, path: str = "/", **window: object) -> chromium.Page:
        return self.browser.open(self.root + path, **window)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    folder = tmp_path_factory.mktemp("dashboard")
    dashboard.record(folder)
    with (
        dashboard.growing(folder) as training,
        dashboard.served(folder) as address,
        chromium.Browser() as browser,
    ):
        # The first visit brings the token; the browser has a cookie from then on.
        page = browser.open(address)
        assert page.evaluate("location.href") == address.split("?")[0]
        yield Shown(browser, address, training)
        # Pages that are not there are asked for on purpose.
        troubles = [
            one for one in browser.troubles if one.get("entry", {}).get("source") != "network"
        ]
        assert troubles == [], "no exception, and nothing that the policy forbids"


def rows(page: chromium.Page) -> list[str]:
    return page.evaluate(
        "[...document.querySelectorAll('.runs tbody th a')].map(link => link.textContent)"
    )


def test_the_list_shows_every_run_and_keeps_up_with_one_that_grows(shown: Shown) -> None:
    page = shown.open()
    page.wait("document.querySelector('.status.running') !== null")
    names = rows(page)
    assert {"demo", "failed", "killed", "growing", "two_ranks"} <= set(names)
    page.evaluate("window.same = true; document.querySelector('input[name=run]').click()")
    epochs = "[...document.querySelectorAll('.runs tr')].find(row => row.innerText.includes('growing')).innerText"
    before = page.evaluate(epochs)
    page.wait(f"{epochs} !== {before!r}")
    assert page.evaluate("window.same"), "the page was not loaded again"
    assert page.evaluate("document.querySelectorAll('input:checked').length") == 1


def test_names_are_text_whatever_they_are(shown: Shown) -> None:
    page = shown.open()
    page.wait("!document.querySelector('.status.reading')")
    names = rows(page)
    assert dashboard.HOSTILE["script"] in names
    assert any("\\u{1b}[31mred" in name for name in names), names
    assert any("\\u{202e}" in name and "שלום" in name for name in names), names
    for number, name in enumerate(dashboard.HOSTILE.values()):
        page.go(f"{shown.root}/run?id=20261117T00000{number}Z-0000000{number}")
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("document.querySelectorAll('img, b').length") == 0
        if name.isprintable():
            assert name in page.evaluate("document.querySelector('h1').textContent")
    page.go(f"{shown.root}/?text=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E")
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert page.evaluate("document.querySelector('#filter input').value").startswith('"><img')


@pytest.mark.parametrize(("width", "dark"), SIZES)
@pytest.mark.parametrize(
    "path",
    ["/", f"/run?id={DEMO}", f"/compare?run={DEMO}&run={PYTORCH}", "/run?id=nothing"],
    ids=["list", "run", "compare", "nothing"],
)
def test_every_page_fits_and_can_be_used_by_all(
    shown: Shown, path: str, width: int, dark: bool, tmp_path: Path
) -> None:
    page = shown.open(path, width=width, dark=dark)
    page.wait("!document.querySelector('.status.reading')")
    page.screenshot(tmp_path / "page.png")
    assert not page.is_wider_than_window()
    assert len(page.text()) > 100, "no empty page"
    if not chromium.AXE.exists():
        pytest.skip("axe-core is not installed: `make page-tools` fetches it")
    assert page.axe() == []


def test_filters_answer_while_one_types_and_without_a_script(shown: Shown) -> None:
    page = shown.open()
    page.evaluate("document.querySelector('#filter input').focus()")
    for letter in "keras":
        page.press(letter)
    page.wait("document.querySelectorAll('.runs tbody tr').length === 1")
    assert rows(page) == ["keras"]
    assert page.evaluate("location.search") == "?text=keras"
    page.ask("Emulation.setScriptExecutionDisabled", value=True)
    page.ask("Page.navigate", url=f"{shown.root}/?text=keras&status=failed")
    page.wait("document.body.innerText.includes('matches')")
    assert "None of 13 runs matches" in page.text()


def test_two_runs_are_compared_with_the_keyboard_alone(shown: Shown) -> None:
    page = shown.open()
    page.wait("!document.querySelector('.status.reading')")
    wanted = {f"tick-{DEMO}", f"tick-{PYTORCH}"}
    for _ in range(80):
        page.press("Tab")
        focused = page.evaluate("document.activeElement.id")
        assert page.evaluate("document.activeElement !== document.body")
        if focused in wanted:
            page.press(" ")
            wanted.remove(focused)
        if not wanted:
            break
    assert not wanted, "both boxes can be reached"
    page.evaluate("document.querySelector('#compare button').focus()")
    page.press("Enter")
    page.wait("location.pathname === '/compare' && document.readyState === 'complete'")
    assert "not the same training" in page.text()


def test_a_sweep_has_a_page_and_metrics_are_for_programs(shown: Shown) -> None:
    page = shown.open()
    page.go(page.evaluate("document.querySelector('.sweeps a').href"))
    assert "batch" in page.text()
    assert page.evaluate("document.querySelectorAll('svg').length") > 0
    token = shown.address.split("=")[1]
    asked = urllib.request.Request(
        f"{shown.root}/metrics", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(asked) as answer:
        metrics = answer.read().decode()
    assert "laptime_wall_seconds{" in metrics
    assert 'name="growing"' in metrics


def test_the_page_of_a_run_keeps_up_and_says_when_it_ends(shown: Shown) -> None:
    page = shown.open()
    link = "[...document.querySelectorAll('.runs a')].find(link => link.textContent === 'growing')"
    page.go(page.wait(f"{link}?.href"))
    page.evaluate("window.same = true")
    before = page.text()
    page.wait(f"document.body.innerText !== {before!r}")
    shown.training.send_signal(signal.SIGKILL)
    shown.training.wait()
    page.wait("document.body.innerText.includes('killed')")
    assert page.evaluate("window.same")


def test_a_page_says_when_the_server_has_ended(tmp_path: Path) -> None:
    dashboard.copy(dashboard.FIXTURES / "pytorch", tmp_path)
    with chromium.Browser() as browser:
        with dashboard.served(tmp_path) as address:
            page = browser.open(address)
            page.wait("!document.querySelector('.status.reading')")
        page.wait("document.body.innerText.includes('does not answer')")
        assert "pytorch" in page.text()


def test_who_has_no_token_sees_what_to_do(shown: Shown) -> None:
    with chromium.Browser() as stranger:
        page = stranger.open(shown.root)
        assert "The token is missing" in page.text()
        page.go(shown.address[:-1] + ("A" if shown.address[-1] != "A" else "B"))
        assert "not the token of this server" in page.text()
