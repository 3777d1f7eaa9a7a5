"""Set before numerical libraries are loaded, here and in every process that a test starts."""

import gc
import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

# Figures are drawn without a screen.
os.environ.setdefault("MPLBACKEND", "Agg")
# OpenBLAS makes its threads wait for one another: beside another busy process a factorisation on two threads took
# thirty times as long as on one. On an idle machine one thread is hardly slower at the sizes of the tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Most of the time goes into compiling the same few shapes: one folder keeps them for the workers of a run, the
# processes that tests start, and the next run. Tests of compilation itself say what they need.
COMPILED = Path(__file__).parent / ".pytest_cache" / "compiled" / f"jax-{version('jaxlib')}"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(COMPILED))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# Shapes in signatures are checked here and nowhere else: `tests/support/shapes.py`. Before forebear is loaded.
CHECKED = ("flow", "kernel", "discovery", "twin", "control", "systems")
install_import_hook([f"forebear.{package}" for package in CHECKED], "shapes.shapes_alone")


@pytest.fixture(scope="module", autouse=True)
def compiled_code_is_let_go() -> Iterator[None]:
    """All of it in one process takes more memory maps than Linux gives, and JAX crashes."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
        gc.collect()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What was compiled for code of long ago goes, when there is much of it."""
    from forebear.cli.compiled import make_room

    if not hasattr(session.config, "workerinput"):
        make_room(COMPILED)
