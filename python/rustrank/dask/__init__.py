"""Training and scoring on a Dask cluster (``pip install 'rustrank[dask]'``).

`LambdaMART` and `train` take Dask arrays and data frames. Each worker of the cluster trains on the partitions that it
has; queries that several partitions share are brought together first. The model is the one that `rustrank.train` makes
of all rows on one machine, to the byte, whatever the partitions and the workers.
"""

from rustrank.dask.estimators import LambdaMART
from rustrank.dask.training import train

__all__ = ["LambdaMART", "train"]
