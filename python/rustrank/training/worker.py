"""The process of one worker: ``python -m mpi4py -m rustrank.training.worker JOB``."""

from __future__ import annotations

import sys

from rustrank.distributed.worker import main
from rustrank.training.train import trained

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], trained))
