"""What `forebear reproduce lander-hover` says of trainings that hover."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forebear_experiments.framework.experiment import Findings
from forebear_experiments.lander import hover
from forebear_experiments.lander.control import PRUNED, TRUE, sac_settings

LANDS, HOVERS, BETWEEN = (250.0, 0.05), (-20.0, 1.0), (150.0, 0.3)


def _curve(mean: float, cut_off: float, lands_at: int = 100_000) -> list[dict[str, Any]]:
    """Nothing has ended at the first evaluation; the score of the end is there from some step on."""
    rest = [
        {"timesteps": steps, "mean": mean if steps >= lands_at else -50.0, "episodes": 20, "cut_off": cut_off}
        for steps in range(40_000, 200_001, 20_000)
    ]
    return [{"timesteps": 20_000, "mean": -100.0, "episodes": 0}, *rest]


def _findings(true: list[Any], pruned: list[Any]) -> Findings:
    rows = {
        regime: [{"regime": regime, "curve": _curve(*one)} for one in own]
        for regime, own in ((TRUE, true), (PRUNED, pruned))
    }
    return Findings(hover.EXPERIMENTS["lander-hover"], {}, rows)


@pytest.mark.parametrize(
    ("true", "pruned", "broken"),
    [
        ([LANDS, LANDS, HOVERS], [LANDS, HOVERS, LANDS], []),
        ([LANDS] * 3, [LANDS] * 3, ["true environment too"]),
        ([HOVERS] * 6, [(*LANDS, 40_000)] * 6, ["no sign"]),
        ([LANDS, BETWEEN], [LANDS, LANDS], ["those that never land hover"]),
    ],
)
def test_claims_can_fail(true: list[Any], pruned: list[Any], broken: list[str]) -> None:
    findings = _findings(true, pruned)
    lost = [claim for claim in findings.experiment.claims(findings) if not claim.holds]
    assert len(lost) == len(broken) and all(words in claim.claim for words, claim in zip(broken, lost, strict=True))
    assert all(claim.why for claim in lost)
    assert findings.experiment.figure is not None and len(findings.experiment.figure(findings).axes) == 4


def test_what_is_told() -> None:
    findings = _findings([LANDS, HOVERS], [LANDS, (250.0, 0.2, 160_000)])
    rates, waits, hovering = (str(claim.measured) for claim in findings.experiment.claims(findings))
    assert rates == "without an evaluation above 200: true environment 1 of 2; pruned twin 0 of 2"
    assert waits.endswith("true environment 100, never; pruned twin 100, 160")
    assert hovering == "share of episodes cut off: never landed 100 to 100%; landed 5 to 20%"


def test_only_networks_and_steps_are_other_than_published() -> None:
    ours, published = hover.hover_settings(quick=False), sac_settings(quick=False)
    changed = {name for name in vars(ours) if getattr(ours, name) != getattr(published, name)}
    assert changed == {"widths", "timesteps", "evaluate_every"}


@pytest.mark.slow
@pytest.mark.parametrize("regime", [TRUE, PRUNED])
def test_a_quick_unit_goes_on(regime: str, tmp_path: Path) -> None:
    pytest.importorskip("sbx")
    place = tmp_path / "unit"  # not there yet
    rows = hover.practise(regime, 0, True, place)
    assert [row["training"] for row in rows] == [1, 2] and ("twin" in rows[0]) == (regime == PRUNED)
    assert rows[0]["curve"] != rows[1]["curve"]
    # A second call finds the twin and the finished trainings.
    assert hover.practise(regime, 0, True, place) == rows
