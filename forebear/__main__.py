"""`python -m forebear`: the command line, where its script is not on the path."""

import sys

from forebear.cli import main

if __name__ == "__main__":
    sys.exit(main())
