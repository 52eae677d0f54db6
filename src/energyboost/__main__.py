"""``python -m energyboost`` is the same as ``energyboost``."""

import sys

from energyboost.cli import main

if __name__ == "__main__":
    sys.exit(main())
