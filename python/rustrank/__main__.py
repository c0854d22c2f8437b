"""``python -m rustrank``: the command line."""

import sys

from rustrank.cli import main

if __name__ == "__main__":
    sys.exit(main())
