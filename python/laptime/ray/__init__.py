"""Ray: sweeps and packs on the machines of a cluster, and trainings of Ray Train on record.

import laptime.ray

trainer = TorchTrainer(laptime.ray.recorded(train_loop), ...)    # every worker is a rank of one run
"""

from laptime.ray.train import recorded

__all__ = ["recorded"]
