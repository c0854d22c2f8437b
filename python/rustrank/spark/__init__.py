"""Training and scoring on Spark (``pip install 'rustrank[spark]'``).

`LambdaMART` is an estimator of Spark ML: it takes a data frame, in pipelines and searches too, and its model scores
data frames, streams included. The model is the one that `rustrank.train` makes of all rows on one machine, to the
byte, whatever the partitions and the number of workers.
"""

from rustrank.spark.estimator import LambdaMART
from rustrank.spark.model import LambdaMARTModel

__all__ = ["LambdaMART", "LambdaMARTModel"]
