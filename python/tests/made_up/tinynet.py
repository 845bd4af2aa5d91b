"""A made-up framework: it fits a line, and knows nothing of laptime."""

import random


class Line:
    """`y = slope * x`, trained batch by batch."""

    def __init__(self, slope: float = 0.0) -> None:
        self.slope = slope

    def fit(self, batches, epochs: int, rate: float = 0.1) -> "Line":
        for _ in range(epochs):
            for batch in batches():
                self.train(batch, rate)
        return self

    def train(self, batch, rate: float) -> None:
        for x, y in batch:
            self.slope -= rate * (self.slope * x - y) * x


def rows(count: int, batch: int):
    """Makes batches of points on a line, in a new order each time."""

    def batches():
        points = [(x / count, 2.0 * x / count) for x in range(count)]
        random.Random(0).shuffle(points)
        for at in range(0, count, batch):
            yield points[at : at + batch]

    return batches
