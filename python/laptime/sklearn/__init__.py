"""scikit-learn without a line of code: a model's outermost `fit` is a fit, and so is a loop of `partial_fit`.

Attached by the start-up hook when scikit-learn is imported. What is fitted inside belongs to the one that was
called, on whatever thread or in whatever process of its pool: a pipeline has a row for each of its steps, a search
one for each candidate. Encoders, scalers and other estimators that only transform train nothing. Iterations are
steps where an estimator makes them in Python, and a number where it only says how many it made.
"""

from __future__ import annotations

from sklearn import base

from .. import _frameworks, _guard
from . import estimators, fits


def attach() -> None:
    """Times the outermost `fit` of every estimator; the run says what cannot attach."""
    _guard.attach_once("sklearn", ("BaseEstimator.fit", _attach_estimators))


def _attach_estimators() -> None:
    _frameworks.register("sklearn", optimizers=(base.BaseEstimator, fits.facts))
    estimators.attach()
