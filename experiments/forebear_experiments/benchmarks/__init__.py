"""What `forebear bench` can measure: one file per name, each with a function `run` that gives rows.

A row is a dict with "what" and "ours_s" and, where there is something to compare with, "baseline", "baseline_s" and
"ratio" (baseline over ours, so that more is better). Further fields are free.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

BENCHES = {
    "lorenz63": "Lorenz-63, three increments, cold and warm, by stage, beside preset 'paper' (minutes)",
    "scaling": "pruning with up to 1,000 inputs: against the obvious way, and how its time grows (ten minutes)",
    "memory": "50,000 draws: kernels that are never held, their memory and time (ten minutes on two cores)",
    "gpu": "Lorenz-63 ten times over, many models at once, and how near the kernel stage is to the ceilings of a GPU",
    "pipeline": "the whole pipeline on every system with a known graph, three data seeds each (ten minutes)",
    "selection": "certified selection against the published rule and cheap selectors, fourteen systems (hours)",
    "trust": "exact sets and honest verdicts on 96 kinds of table outside the suite of `selection` (hours)",
    "mended": "exact sets and honest verdicts on eight kinds that were once answered wrongly (ten minutes)",
    "unseen": "exact sets and honest verdicts on 54 more kinds, by which no rule was chosen (an hour)",
    "planted": "exact sets where inputs are of real tables and targets are drawn given two of them (half an hour)",
    "pruning": "held-out scores of pruned and full laws on eight real tables (minutes)",
    "level": "whether reported p-values hold their level: dependent inputs, slow rows, clusters, three sizes (hours)",
    "power": "how many rows four small effects need, beside a test that knows their form (hours)",
    "missing": "exact sets where cells are deleted, beside dropping rows and filling medians, and the level (hours)",
    "size": "seconds and peak memory against the rows of a Parquet file, up to a hundred million (ten minutes)",
    "wide": "true inputs that a quick look leaves of 500 and 2,000 candidates, and what is found (ten minutes)",
    "scores": "where needed inputs rank among 20 and 40, by variation and by the published energies (five minutes)",
    "noise": "how often an input is kept for a target that is pure noise (twenty minutes)",
    "uci": "CRPS, log score, coverage, seconds on eight real tables, beside other learners of laws (up to hours)",
    "laws": "CRPS, log score, coverage on tables by which no recipe was chosen, beside other learners (minutes)",
    "conformal": "coverage and width of intervals with a guarantee, beside MAPIE, on small real tables (ten minutes)",
    "corners": "warnings, widening and coverage outside the data: real tables without an end or a corner (minutes)",
    "surrogate": "Lorenz-63 dx1: W1 of the flow and of kernel surrogates, beside the published table (ten minutes)",
    "twin": "coverage of twins, their distance to exact laws, and the speed of distilled ones (minutes)",
    "latency": "one draw of a distilled twin in a Python loop: plain function, compiled core, sample (a minute)",
    "langevin": "stationary law and rate of well changes of a twin's trajectories in a double well (minutes)",
    "twin-ko": "Kraichnan-Orszag: W1 of pruned and full twins beside the published table (minutes)",
    "assimilate": "states of partly seen systems, beside the true model and the unpruned twin (ten minutes)",
    "stress": "probabilities of rare events beside exact ones, brute force and twins: error, coverage (ten minutes)",
    "constraints": "MPC within limits: trajectories that leave them in the true system, and what it costs (minutes)",
    "environments": "a step of one environment and of 1,024 together; rollouts against a loop (a minute)",
    "control": "MPC of fifty trials at once and SAC in a twin, against the loops that one would write (minutes)",
    "cluster": "repeats on a local dask cluster, one of its workers killed midway, against one process (minutes)",
    "libraries": "pieces written by hand, beside libraries that do the same: L-BFGS, workers, Cholesky (minutes)",
    "monitor": "false alarms, detection and delay of monitors on rigs that change, beside ADWIN (twenty minutes)",
    "rigs": "what the monitor says of sixteen rigs it was not made on: alarms, inputs, faults (five minutes)",
    "serve": "a served twin: requests per second and latency for 1 to 32 clients, and overload (three minutes)",
    "update": "what a twin that learns on gains on new rows and forgets of old ones, beside refitting (ten minutes)",
    "regimes": "whether laws said to change between regimes do, beside tests of residuals (half an hour)",
    "speed": "whole discoveries on tables of five sizes, fresh and warm, beside version 0.1.0 (ten minutes)",
    "regress": "whole discoveries beside those stored last: what got slower by a fifth (five minutes)",
    "cost": "seconds of certified selection beside those of the published rule (minutes)",
}
"""name -> what it measures"""
_COMMON = ("tables", "workers", "out", "data")
WITH_OPTIONS = {
    "uci": (*_COMMON, "splits", "first", "methods", "seconds"),
    "laws": (*_COMMON, "splits", "methods"),
    "conformal": (*_COMMON, "splits"),
    "corners": _COMMON,
    "missing": ("workers", "out", "seconds"),
    "speed": ("tables", "against"),
    "regress": ("tables", "against"),
}
"""what the `run` of some takes that the command line can say"""


def measure(name: str, tell: Callable[[dict[str, Any]], None] = lambda row: None, **arguments: Any) -> dict[str, Any]:
    """Run one benchmark: its name, the machine, and its rows, each of which is also told when it is there.

    Arguments go to its `run`.
    """
    from forebear_experiments.framework.machine import machine

    rows = []
    for row in import_module(f"forebear_experiments.benchmarks.{name.replace('-', '_')}").run(**arguments):
        rows.append(row)
        tell(row)
    return {"name": name, "machine": machine(), "rows": rows}
