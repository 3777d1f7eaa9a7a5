"""Seconds of a discovery by stage, measured by timing the functions that each stage consists of."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

STAGES = {
    "train samplers": ("forebear.discovery.pipeline", "fit_laws"),
    "sample": ("forebear.discovery.pipeline", "draw draw_shared"),
    "choose kernel": ("forebear.discovery.trace", "_hyperparameters"),
    "build kernels": ("forebear.discovery.path", "Dense.of Dense.without"),
    "factorise": ("forebear.discovery.path", "ridge"),
    "scores": ("forebear.discovery.path", "Dense.energies"),
    "certificate: train": ("forebear.discovery.subsets", "train_folds"),
    "certificate: latents": ("forebear.discovery.tester", "SetTester.latents"),
    "certificate: tests": (
        "forebear.discovery.tester",
        "HostTest.each HostTest.pairs DeviceTest.each DeviceTest.pairs",
    ),
}
"""stage -> module and names of the functions that make it up; kernels are built also while one is chosen, in several
threads, so that the stages add up to more than the whole"""


@contextmanager
def stages() -> Iterator[dict[str, float]]:
    """Within, every discovery in this process adds the seconds of its stages.

    >>> with stages() as seconds:
    ...     pass
    >>> seconds["factorise"]
    0.0
    """
    seconds = dict.fromkeys(STAGES, 0.0)
    undo: list[tuple[Any, str, Any]] = []
    try:
        for stage, (module, names) in STAGES.items():
            for name in names.split():
                owner: Any = import_module(module)
                *outer, last = name.split(".")
                for part in outer:
                    owner = getattr(owner, part)
                before = owner.__dict__[last]
                undo.append((owner, last, before))
                is_class_method = isinstance(before, classmethod)
                timed = _timed(before.__func__ if is_class_method else before, seconds, stage)
                setattr(owner, last, classmethod(timed) if is_class_method else timed)
        yield seconds
    finally:
        for owner, name, before in reversed(undo):
            setattr(owner, name, before)


def _timed(function: Callable[..., Any], seconds: dict[str, float], stage: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            seconds[stage] += time.perf_counter() - started

    return wrapped
