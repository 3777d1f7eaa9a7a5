"""Set before numerical libraries are loaded."""

import gc
import os
import sys
from collections.abc import Iterator

import pytest

# Figures are drawn without a screen.
os.environ.setdefault("MPLBACKEND", "Agg")
# OpenBLAS makes its threads wait for one another: beside another busy process a factorisation on two threads took
# thirty times as long as on one. On an idle machine one thread is hardly slower at the sizes of the tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# What is compiled in a test is nobody's business after it.
os.environ.setdefault("JAX_ENABLE_COMPILATION_CACHE", "false")


@pytest.fixture(scope="module", autouse=True)
def compiled_code_is_let_go() -> Iterator[None]:
    """All of it in one process takes more memory maps than Linux gives, and JAX crashes."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
        gc.collect()
