"""scikit-learn: a pipeline, a search and a validation are one fit each, whatever they fit inside and where."""

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

random = np.random.default_rng(8)
x = random.random((300, 5))
y = x.sum(axis=1) > 2.5
# Preparing data is no training.
scaled = StandardScaler().fit_transform(x)
OneHotEncoder().fit(np.arange(6).reshape(-1, 1))
make_column_transformer((StandardScaler(), [0, 1])).fit(x)
make_pipeline(StandardScaler(), StandardScaler()).fit(x)
StandardScaler().partial_fit(x)

pipeline = make_pipeline(StandardScaler(), LogisticRegression())
print(pipeline.fit(x, y).score(x, y))
search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3)
print(search.fit(x[:200], y[:200]).best_params_)
# In processes, and on threads.
search = GridSearchCV(pipeline, {"logisticregression__C": [0.1, 1.0]}, cv=3, n_jobs=2)
print(search.fit(x, y).best_params_)
bagging = BaggingClassifier(LogisticRegression(), n_estimators=8, n_jobs=2, random_state=1)
print(bagging.fit(x, y).score(x, y))
print(cross_val_score(LogisticRegression(), x, y, cv=4).tolist())


def in_parts(model):  # noqa: ANN001, ANN201
    for _ in range(3):
        for at in range(0, 300, 50):
            model.partial_fit(x[at : at + 50], y[at : at + 50], classes=[False, True])
    return model.score(x, y)


print(in_parts(SGDClassifier(random_state=1)))
print(LogisticRegression().fit(x[:100], y[:100]).score(x, y))
