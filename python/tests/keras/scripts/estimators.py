"""scikit-learn: a pipeline and a search are one fit each, whatever they fit inside."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

random = np.random.default_rng(8)
x = random.random((300, 5))
y = x.sum(axis=1) > 2.5
pipeline = make_pipeline(StandardScaler(), LogisticRegression())
print(pipeline.fit(x, y).score(x, y))
search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3)
print(search.fit(x[:200], y[:200]).best_params_)
