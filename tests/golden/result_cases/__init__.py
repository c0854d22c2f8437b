"""The configurations of `results.tsv`: each a name, and a function that computes its row.

They use the public interface alone, so that modules may move below it. Data are made of sums, products
and draws of whole numbers, which are the same on any machine; small, so that all cases take seconds.
"""

from result_cases import continuing, estimators, measuring, models, training
from result_cases.docs import CASES, compute

# The modules put their cases into CASES when they are imported.
__all__ = [
    "CASES",
    "SAME",
    "compute",
    "continuing",
    "estimators",
    "measuring",
    "models",
    "training",
]

#: Cases that are the same model and scores, each by another way.
SAME = [
    ("threads 1", "threads 2"),
    ("in one go", "resumed"),
    ("objective lambdamart", "from rows", "from_letor", "from_batches", "group and order"),
    ("objective lambdamart", "estimator LambdaMART"),
    ("workers none", "workers histogram", "workers features", "command line"),
    ("part trees", "import rustrank"),
]
