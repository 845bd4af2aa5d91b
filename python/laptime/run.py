"""Runs that were recorded."""

from __future__ import annotations

import os

from laptime import _native, _session

TYPE_CHECKING = False  # Type checkers know the name; importing `typing` costs 10 ms.
if TYPE_CHECKING:
    from typing import Any, Literal

    import pandas


class Run:
    """A recorded run; what it holds is the document that `laptime report --json` writes."""

    __slots__ = ("_document", "_text", "path")

    def __init__(self, path: str, document: dict[str, Any], text: str) -> None:
        self.path = path
        self._document = document
        self._text = text

    @property
    def fits(self) -> list[dict[str, Any]]:
        """The trainings within the run."""
        return self._document["fits"]

    @property
    def epochs(self) -> list[dict[str, Any]]:
        """Every epoch of every fit; past 10,000 neighbours are one row with a `count`, unless all are requested."""
        return self._document["epochs"]

    @property
    def ledger(self) -> list[dict[str, Any]]:
        """Where the wall time went; the seconds add up to `wall_s`."""
        return self._document["ledger"]

    @property
    def wall_s(self) -> float:
        """How long the run took, seconds."""
        return self._document["wall_s"]

    @property
    def status(self) -> str:
        """`running`, `finished`, `failed` or `killed`."""
        return self._document["run"]["status"]

    def to_dict(self) -> dict[str, Any]:
        """The whole report."""
        return self._document

    def to_pandas(self) -> pandas.DataFrame:
        """One row an epoch (or folded epochs), one column a stage in seconds; needs pandas."""
        import pandas

        plain = [{k: v for k, v in epoch.items() if k != "stages"} for epoch in self.epochs]
        stages = [epoch["stages"] for epoch in self.epochs]
        rows = [row | {f"{k}_s": v for k, v in own.items()} for row, own in zip(plain, stages)]
        return pandas.DataFrame(rows)

    def to_html(self) -> str:
        """The page that `laptime report --html` writes: one file that opens in any browser."""
        return _native.run_page(self.path)

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str | None:
        try:
            return _native.run_card(self.path)
        except Exception:  # A run whose folder is gone still shows its text.
            return None

    def __repr__(self) -> str:
        return f"<laptime.Run {os.path.basename(self.path)} {self.status}>"


class Summary:
    """What `laptime run` shows at its end, of a run as far as it is recorded: the text when it is shown."""

    __slots__ = ("_text", "run")

    def __init__(self, text: str, run: Run | None) -> None:
        self._text = text
        self.run = run
        """The run itself, with all its numbers; `None` before anything is recorded."""

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        from html import escape

        # The tables are aligned by their letters.
        return f'<pre style="line-height: 1.2">{escape(self._text)}</pre>'

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self._text)


def summary() -> Summary:
    """What is recorded of this process' run so far, without ending it.

    laptime.summary()           # the last line of a notebook's cell shows it
    print(laptime.summary())    # in a script
    laptime.summary().run       # the numbers: fits, epochs, ledger
    """
    import json

    folder = _session.run_folder()
    if folder is None:
        return Summary(_session.why_not_recorded(), None)
    try:
        path, document, text = _native.summarize_run(folder)
        return Summary(text, Run(path, json.loads(document), text))
    except Exception as error:  # In a training nothing of ours may raise.
        return Summary(f"laptime: could not summarize {folder}: {error}", None)


def load(
    run: str | None = None,
    *,
    dir: str | os.PathLike[str] | None = None,
    epochs: Literal["all"] | None = None,
) -> Run:
    """The run with this id or name, or the latest.

    Past 10,000 epochs neighbours are folded into rows of `kind` "folded" with a `count`; `epochs="all"` has each.
    """
    import json

    if epochs not in (None, "all"):
        raise ValueError(f'epochs is None or "all", not {epochs!r}')
    path, document, text = _native.show_run(run, _folder(dir), epochs == "all")
    return Run(path, json.loads(document), text)


def _folder(dir: str | os.PathLike[str] | None) -> str | None:
    from laptime._session import settings

    return settings(dir=dir).dir
