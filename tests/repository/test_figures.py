"""Figures that README.md and docs/twin.md tell in their own words: each is made here from the stored run it is of.

A run that is stored anew changes what is expected; the assertion then shows the sentence or the row to write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


def _stored(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "results" / f"{name}.json").read_text(encoding="utf8"))


def _rows(name: str) -> list[dict[str, Any]]:
    return _stored(f"bench-{name}")["rows"]


def _row(name: str, words: str) -> dict[str, Any]:
    [row] = [row for row in _rows(name) if words in row["what"]]
    return row


def _said(page: str) -> str:
    return " ".join((ROOT / page).read_text(encoding="utf8").split())


def _lorenz63() -> str:
    fresh, again, warm, alone = _rows("lorenz63")
    times = [f"{row['ratio']:.0f}" for row in (fresh, again, warm)]
    exact = warm["exact_graphs"].removesuffix(" seeds").replace("of", "seeds of")
    return (
        f"take {fresh['ours_s']:.0f} s on two CPU cores as one command, {again['ours_s']:.0f} s when the command is "
        f"given again (it keeps what it compiles), and {warm['ours_s']:.1f} s in a process that has compiled: "
        f'{times[0]}, {times[1]} and {times[2]} times faster than preset "paper" with the same rule '
        f"({warm['baseline_s']:.0f} s), with the true graph for {exact}. A graph and "
        f"nothing else takes {alone['ours_s']:.1f} s by the published rule (true for {alone['exact_graphs']}), "
        f"{alone['baseline_s']:.1f} s by RCIT"
    )


def _scaling() -> str:
    slope = _row("scaling", "pruning 1,000 inputs")["slope"]
    minutes = _row("scaling", "1,000 sites")["ours_s"] / 60
    return (
        f"the four that matter are found and certified in {minutes:.1f} minutes, and the time of pruning grows as "
        f"their number to the power {slope:.2f} from 100 to 1,000"
    )


def _memory() -> str:
    [row] = _rows("memory")
    return (
        f"50,000 draws, whose kernel matrix would take {row['kernel_matrix_gib']:.1f} GiB, take "
        f"{row['peak_memory_gib']:.1f} GiB and {row['ours_s'] / 60:.0f} minutes"
    )


def _gpu() -> str:
    every, whole = _row("gpu", "six targets"), _row("gpu", "every target")
    models = _row("gpu", "40 models")["multiple_of_one_model"]
    return (
        f"forty models train together in {models:.1f} times the time of one; ten repeats of the six targets of "
        f"Lorenz-63 take {every['ours_s']:.0f} s, {every['exact_sets']} sets exact; all forty targets of Lorenz-96 "
        f"take {whole['ours_s']:.0f} s, {whole['multiple_of_one_target']:.0f} times as long as one of them, "
        f"{whole['exact_sets']} exact"
    )


def _cost() -> str:
    ratios = [1 / row["ratio"] for row in _rows("cost")]
    return f"it takes {min(ratios):.1f} to {max(ratios):.1f} times as long as the published rule"


def _noise() -> str:
    [row] = _rows("noise")
    return (
        f"For {row['targets']} targets that are pure noise beside ten correlated inputs, it kept an input for "
        f"{row['kept_an_input']}"
    )


def _surrogate() -> str:
    flow = next(row for row in _rows("surrogate") if row["what"] == "twin: the flow")
    return (
        f"W1 of Lorenz-63's dx1 is {flow['w1'][0]:.3f} ({flow['w1_sd'][0]:.3f} of its standard deviation), where the "
        f"published flow has {flow['published_w1'][0]:.3f}"
    )


def _coverage() -> str:
    shares = [row["coverage"] for row in _rows("twin") if "coverage" in row and ": twin" in row["what"]]
    return f"90% intervals cover {100 * min(shares):.1f} to {100 * max(shares):.1f}% of held-out rows"


def _distilled() -> str:
    few, many = (row["ratio"] for row in _rows("twin") if "a batch of" in row["what"])
    return f"a distilled twin is {few:.0f} times faster than its teacher on 1,024 rows, {many:.0f} times on 16,384"


def _every_target() -> str:
    rows = [row for row in _rows("selection") if row["method"] == "certified"]
    exact, of = sum(row["exact"] for row in rows), sum(row["of"] for row in rows)
    assert exact == of
    return f"The certified rule answered exactly for all {of} targets"


def _lander_rows() -> list[tuple[str, dict[str, Any]]]:
    """Regime and row of the first five trainings of each."""
    numbers = range(1, 6)
    units = [(regime, regime if n == 1 else f"{regime}, training {n}") for n in numbers for regime in _LANDERS]
    return [(regime, _stored("lander-control")["measured"][unit][0]) for regime, unit in units]


_LANDERS = ("true environment", "full twin", "pruned twin")


def _lands(row: dict[str, Any]) -> bool:
    """On average in some evaluation."""
    return max(one["mean"] for one in row["curve"]) > 200


def _learned() -> str:
    true, full, pruned = (
        f"{np.mean([row['landings'] for name, row in _lander_rows() if name == regime and _lands(row)]) / 10:.1f}%"
        for regime in _LANDERS
    )
    return (
        f"Of the first five trainings, policies that learn land in {pruned} of the episodes after training in the "
        f"pruned twin, in {full} after the full one, in {true} after the true environment"
    )


def _never_land() -> str:
    rows = [row for [row] in _stored("lander-control")["measured"].values()]
    true, twins = ([row for row in rows if (row["regime"] == _LANDERS[0]) == own] for own in (True, False))
    never = [sum(not _lands(row) for row in own) for own in (true, twins)]
    return (
        f"of {len(twins)} trainings in twins {never[1]} never land, of {len(true)} in the true environment "
        f"{never[0]} (eleven of these were added to find out), and first landings come neither sooner nor later "
        f"(log-rank test, {_log_rank('lander-control')})"
    )


def _log_rank(name: str) -> str:
    [told] = [claim["measured"] for claim in _stored(name)["claims"] if "log-rank" in claim["claim"]]
    return str(told).split(";")[0]


def _hovering() -> str:
    true, pruned = _stored("lander-hover")["measured"].values()
    never = [sum(not _lands(row) for row in own) for own in (true, pruned)]
    return (
        f"With small networks {never[0]} of {len(true)} trainings in the true environment never land, and {never[1]} "
        f"of {len(pruned)} in the pruned twin ({_log_rank('lander-hover')}; `forebear reproduce lander-hover`"
    )


@pytest.mark.parametrize(
    "sentence",
    [
        _hovering,
        _never_land,
        _lorenz63,
        _scaling,
        _memory,
        _gpu,
        _cost,
        _noise,
        _surrogate,
        _coverage,
        _distilled,
        _every_target,
        _learned,
    ],
    ids=lambda sentence: sentence.__name__.strip("_"),
)
def test_the_readme_tells_what_was_measured(sentence: Callable[[], str]) -> None:
    expected = sentence()
    assert expected in _said("README.md"), f"README.md should say: {expected}"


def test_the_readme_has_the_table_of_selection() -> None:
    stored: dict[str, list[str]] = {}
    for row in _rows("selection"):
        stored.setdefault(row["what"], []).append(f"{row['exact']}/{row['of']}")
    counted = [f"| {' | '.join(cells)} |" for cells in stored.values()]
    page = (ROOT / "README.md").read_text(encoding="utf8")
    shown = [
        line[line.index("| ", 2) :] for line in page.splitlines() if line.count("/10 |") + line.count("/30 |") == 5
    ]
    assert shown == counted


def test_the_page_of_environments_tells_what_was_measured() -> None:
    together, alone, rolled = _rows("environments")
    said = _said("docs/environments.md")
    for expected in (
        f"`TwinVectorEnv` takes {1e3 * together['ours_s']:.2f} ms, {together['ratio']:.0f} times less than",
        f"One such call takes {1e6 * alone['ours_s']:.0f} µs: {alone['compute_us']:.0f} in the compiled step, "
        f"{alone['dispatch_us']:.0f} to start it",
        f"takes {rolled['ours_s']:.2g} s, less than half of a loop over",
    ):
        assert expected in said, f"docs/environments.md should say: {expected}"
    assert rolled["ratio"] > 2


def test_the_page_of_the_method_tells_the_level_that_was_measured() -> None:
    shares = [row["below_0.05"] for row in _rows("level") if row["null"] == "cleared (ours)"]
    expected = f"{100 * min(shares):.1f}% to {100 * max(shares):.1f}% over 200 data sets each"
    assert expected in _said("docs/method.md"), f"docs/method.md should say: {expected}"


def _pendulum() -> str:
    means = [_stored("pendulum-control")["measured"][name][0]["mean"] for name in _PENDULUM]
    return f"mean return {'; '.join(f'{mean:.0f}' for mean in means)} (fails, as published)"


_PENDULUM = ("true system", "full history", "lags 0 and 1", "certified rule", "lag 0 alone")


def _lander() -> str:
    landings = ([str(row["landings"]) for name, row in _lander_rows() if name == regime] for regime in _LANDERS)
    return f"{'; '.join(', '.join(own) for own in landings)} landings"


def _heat() -> str:
    rows = [row for rows in _stored("heat-control")["measured"].values() for row in rows]
    costs = {row["controller"]: row["mean"] for row in rows}
    return f"mean cost {'; '.join(f'{costs[name]:.1f}' for name in ('known dynamics', 'pruned twin', 'full twin'))}"


def _reacher() -> str:
    best: dict[str, list[float]] = {}
    for row in _stored("reacher-control")["measured"]["learning"]:
        best.setdefault(row["graph"], []).append(max(row["returns"]))
    return f"best return {'; '.join(f'{np.mean(returns):.1f}' for returns in best.values())}"


@pytest.mark.parametrize("cell", [_pendulum, _lander, _heat, _reacher], ids=lambda cell: cell.__name__.strip("_"))
def test_the_readme_has_the_table_of_control(cell: Callable[[], str]) -> None:
    expected = f"| {cell()} |"
    assert expected in _said("README.md"), f"README.md should say: {expected}"


def test_the_page_of_pets_tells_what_was_measured() -> None:
    first = {
        goal: np.array([row["returns"][:5] for row in rows]).mean(axis=1)
        for goal, rows in _stored("reacher-goal")["measured"].items()
    }
    more = int(np.sum(first["kept"] > first["learned"]))
    late = np.array([row["returns"][30:] for row in _stored("reacher-control")["measured"]["learning"]])
    said = _said("docs/pets.md")
    for expected in (
        f"the first five trials are then paid {first['kept'].mean():.0f} on average in place of "
        f"{first['learned'].mean():.0f}, and more for {more} of {len(first['kept'])} seeds",
        f"of the {late.size:,} trials after the first thirty, {_WORDS[int(np.sum(late < -180))]} were paid less than "
        "for doing nothing",
    ):
        assert expected in said, f"docs/pets.md should say: {expected}"


_WORDS = ("none", "one", "two", "three", "four", "five")


def _twins() -> Iterator[Sequence[str]]:
    rows = _rows("twin")
    for row in rows:
        if ": twin, " in row["what"]:
            name, size = row["what"].removesuffix(" rows").split(": twin, ")
            system, target = name.rsplit(" ", 1)
            student = next(one for one in rows if one["what"] == row["what"].replace(": twin", ": distilled twin"))
            covers = [f"{100 * one['coverage']:.1f}%" if "coverage" in one else "-" for one in (row, student)]
            close = f"{student['w1_to_teacher_sd']:.4f}"
            yield (
                f"{system} `{target}`",
                size,
                f"{row['w1'][0]:.4f}",
                f"{row['over_floor']:.2f}",
                covers[0],
                close,
                covers[1],
            )


def _surrogates() -> Iterator[Sequence[str]]:
    for row in _rows("surrogate"):
        told = [
            row.get("mse"),
            row.get("published_mse"),
            row["w1"][0],
            row["w1_sd"][0],
            row.get("published_w1", [None])[0],
        ]
        yield row["what"], *("-" if value is None else f"{value:.4f}" for value in told)


def _kraichnan_orszag() -> Iterator[Sequence[str]]:
    rows = _rows("twin-ko")
    for full, pruned in zip(rows[::2], rows[1::2], strict=True):
        target, _, states = pruned["what"].split(", ")
        both = [1e4 * row[key][0] for row in (pruned, full) for key in ("w1", "published_w1")]
        yield states, f"`{target}`", *(f"{value:.2f}" for value in both)


def _langevin() -> Iterator[Sequence[str]]:
    rows = _rows("langevin")
    own = [row for row in rows if row["what"].startswith("second simulation")]
    ratios = [row["rate_ratio"] for row in own]
    modulus = np.mean([row["w1_of_modulus"] for row in own])
    yield "second simulation", f"{modulus:.4f}", f"{np.mean(ratios):.3f}", ", ".join(f"{one:.2f}" for one in ratios)
    for mean in rows:
        if "mean of" in mean["what"]:
            twin = mean["what"].split(":")[0]
            seeds = ", ".join(f"{row['rate_ratio']:.2f}" for row in rows if row.get("twin") == twin)
            rate = f"{mean['rate_ratio']:.3f} ± {mean['rate_ratio_error']:.3f}"
            yield twin, f"{mean['w1_of_modulus']:.4f}", rate, seeds


@pytest.mark.parametrize(
    "table", [_twins, _surrogates, _kraichnan_orszag, _langevin], ids=lambda table: table.__name__.strip("_")
)
def test_the_page_of_twins_has_the_tables_that_were_measured(table: Callable[[], Iterator[Sequence[str]]]) -> None:
    expected = "\n".join(f"| {' | '.join(cells)} |" for cells in table())
    assert expected in (ROOT / "docs" / "twin.md").read_text(encoding="utf8"), (
        f"docs/twin.md should have:\n{expected}"
    )


def test_the_page_of_twins_tells_how_fast_students_are() -> None:
    few, many = (row["ratio"] for row in _rows("twin") if "a batch of" in row["what"])
    expected = f"{few:.0f} times faster than its teacher at 1,024 rows and {many:.0f} times at 16,384"
    assert expected in _said("docs/twin.md"), f"docs/twin.md should say: {expected}"
