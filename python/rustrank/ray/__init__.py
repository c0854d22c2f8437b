"""Training and scoring on a Ray cluster (``pip install 'rustrank[ray]'``).

`train` takes a dataset of Ray Data and trains in actors, `score` adds scores to one. The model is the one that
`rustrank.train` makes of all rows on one machine, to the byte, whatever the blocks and the number of workers.
"""

from rustrank.ray.scoring import score
from rustrank.ray.training import train

__all__ = ["score", "train"]
