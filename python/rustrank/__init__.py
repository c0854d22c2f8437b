"""Learning to rank: LambdaMART and its family, exact metrics, exact combination, fast scoring.

Every name users need is here; the modules below are where the documentation lives.
"""

from rustrank import datasets

__all__ = ["datasets"]
