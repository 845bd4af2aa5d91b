"""Start-up hook: `laptime run` puts this folder first on PYTHONPATH, so Python runs it before the script.

It imports no framework. It waits for one to be imported and attaches its hooks then; a `sitecustomize`
that was there before still runs.
"""

import os
import sys


def _run_the_other() -> None:
    """Runs the `sitecustomize` that this one hides, under its own name, as if this one were not there."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    here = os.path.dirname(os.path.abspath(__file__))
    elsewhere = [path for path in sys.path if os.path.abspath(path or ".") != here]
    spec = PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


class _Watch:
    """A finder that finds nothing itself: it sees a framework being imported, and attaches when that is done."""

    FRAMEWORKS = {
        "keras": "laptime.keras",
        "sklearn.base": "laptime.sklearn",
        "tensorflow": "laptime.tensorflow",
        "torch": "laptime.torch",
    }

    def find_spec(self, name, path=None, target=None):  # noqa: ANN001, ANN201
        if name not in self.FRAMEWORKS:
            return None
        spec = self._find_elsewhere(name, path, target)
        if spec is not None and spec.loader is not None:
            try:
                self._attach_after(name, spec.loader)
            except Exception:  # The script's import matters more than our hooks.
                pass
        return spec

    def _find_elsewhere(self, name, path, target):  # noqa: ANN001, ANN202
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None

    def _attach_after(self, name, loader) -> None:  # noqa: ANN001
        original = loader.exec_module

        def exec_module(module):  # noqa: ANN001, ANN202
            # The loader is left as it was found.
            del loader.exec_module
            _arm()
            original(module)
            _attach(self.FRAMEWORKS[name])

        loader.exec_module = exec_module


def _arm() -> None:
    """Recording begins with the first thing worth recording, and counts from here at the latest."""
    try:
        from laptime import _session

        _session.ensure_armed()
    except Exception:
        pass


def _attach(module: str) -> None:
    try:
        import importlib

        importlib.import_module(module).attach()
    except Exception:
        pass


if not os.environ.get("LAPTIME_DISABLED") and os.environ.get("LAPTIME_HOOKS") != "0":
    sys.meta_path.insert(0, _Watch())
_run_the_other()
