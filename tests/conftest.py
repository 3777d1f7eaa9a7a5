"""Set before numerical libraries are loaded."""

import os

# Figures are drawn without a screen.
os.environ.setdefault("MPLBACKEND", "Agg")
# OpenBLAS makes its threads wait for one another: beside another busy process a factorisation on two threads took
# thirty times as long as on one. On an idle machine one thread is hardly slower at the sizes of the tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
