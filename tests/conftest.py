"""Set before numerical libraries are loaded."""

import os

# Figures are drawn without a screen.
os.environ.setdefault("MPLBACKEND", "Agg")
# OpenBLAS makes its threads wait for one another: beside any other busy process a factorisation on two threads then
# takes thirty times as long as on one, and without one hardly less.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
