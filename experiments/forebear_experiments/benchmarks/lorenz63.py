"""The three increments of Lorenz-63 at the defaults: cold, warm, and where the time goes, beside preset "paper"."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def run(
    trajectories: int = 50, distilled: int = 5_000, seeds: int = 10, steps: int | None = None
) -> list[dict[str, Any]]:
    """Rows: `forebear discover` on a file in a fresh process, and once more with the compiled code that this one
    kept; the same in a process that has compiled, the median over several seeds, by stage, and how many of them give
    the true graph; where causal-learn is there, RCIT on the same rows, and beside it the published rule, which like
    it gives a graph without certificates.

    The baseline of ours is preset "paper" with the same rule, in this process. `trajectories` of 1,000 rows each,
    `distilled` rows, `seeds` and `steps` of both trainings make it smaller, for tests.
    """
    import forebear
    from forebear_experiments.benchmarks.support.profile import stages

    system = forebear.systems.lorenz63(trajectories=trajectories)
    options: dict[str, Any] = {**system.options(), "distilled": distilled}
    options |= {} if steps is None else {"steps": steps}
    fresh, next_time = _fresh(system, distilled, steps)
    with stages() as cold:
        first, _ = _timed(lambda: forebear.discover(system.table, **options))

    def each_seed(**more: Any) -> tuple[list[float], str]:
        """Seconds, and how many of the graphs are the true one."""
        timed = [
            _timed(lambda seed=seed: forebear.discover(system.table, **options, **more, seed=seed))
            for seed in range(seeds)
        ]
        exact = sum(_is_exact(answer, system) for _, answer in timed)
        return [seconds for seconds, _ in timed], f"{exact} of {seeds} seeds"

    with stages() as warm:
        times, exact = each_seed()
    second = statistics.median(times)
    paper, published = _timed(lambda: forebear.discover(system.table, **options, preset="paper"))
    size = f"Lorenz-63, three increments, {trajectories * 1_000:,} rows, {distilled:,} draws"
    what = f"{size}, certified"
    baseline = {"baseline": "preset paper, the same rule, same process", "baseline_s": paper}
    rows: list[dict[str, Any]] = [
        {
            "what": f"{what}: forebear discover in a fresh process",
            "ours_s": fresh,
            **baseline,
            "ratio": paper / fresh,
        },
        {
            "what": f"{what}: the same command once more, in a fresh process",
            "ours_s": next_time,
            **baseline,
            "ratio": paper / next_time,
        },
        {
            "what": f"{what}: in a process that has compiled, median of {seeds} seeds",
            "ours_s": second,
            **baseline,
            "ratio": paper / second,
            "seeds_s": [round(seconds, 2) for seconds in times],
            "exact_graphs": exact,
            "paper_exact": _is_exact(published, system),
            "stages_s": {stage: round(seconds / seeds, 3) for stage, seconds in warm.items()},
            "first_call_s": first,
            "first_call_stages_s": {stage: round(seconds, 3) for stage, seconds in cold.items()},
        },
    ]
    rcit = _rcit(system)
    if rcit is not None:
        rows.append(_graph_alone(size, *each_seed(rule="nsr-jump"), *rcit))
    return rows


def _graph_alone(
    size: str, times: list[float], exact: str, rcit_s: float, rcit_graph: dict[str, list[str]]
) -> dict[str, Any]:
    ours = statistics.median(times)
    return {
        "what": f"{size}: a graph and nothing else, by the published rule, median of {len(times)} seeds",
        "ours_s": ours,
        "baseline": "RCIT of causal-learn, all rows",
        "baseline_s": rcit_s,
        "ratio": rcit_s / ours,
        "seeds_s": [round(seconds, 2) for seconds in times],
        "exact_graphs": exact,
        "rcit_graph": rcit_graph,
    }


def _is_exact(found: Any, system: Any) -> bool:
    return all(set(found.ancestors[target]) == set(names) for target, names in system.ancestors.items())


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def _fresh(system: Any, distilled: int, steps: int | None) -> tuple[float, float]:
    """Seconds of the whole command, from the start of the interpreter to its end: the first time, with nothing kept
    from any command before, and the second time."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lorenz63.csv"
        system.table.to_csv(file, index=False)
        words = [sys.executable, "-m", "forebear", "discover", str(file), "--json", "--set", f"distilled={distilled}"]
        words += [] if steps is None else ["--set", f"steps={steps}"]
        words += [word for target in system.targets for word in ("--target", target)]
        words += [word for name in system.candidates for word in ("--candidate", name)]
        env = {name: value for name, value in os.environ.items() if "COMPILATION_CACHE" not in name}
        env["XDG_CACHE_HOME"] = folder

        def command() -> None:
            done = subprocess.run(words, env=env, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stderr)

        return _timed(command)[0], _timed(command)[0]


def _rcit(system: Any) -> tuple[float, dict[str, list[str]]] | None:
    """Seconds of all targets on all rows, and their sets; None where causal-learn is not there."""
    from forebear_experiments.benchmarks.support.baselines import rcit

    x = system.table[list(system.candidates)].to_numpy(float)
    try:
        seconds, kept = _timed(lambda: [rcit(x, system.table[t].to_numpy(float), 0, len(x)) for t in system.targets])
    except ImportError:
        return None
    return seconds, {t: [system.candidates[j] for j in sorted(k)] for t, k in zip(system.targets, kept, strict=True)}
