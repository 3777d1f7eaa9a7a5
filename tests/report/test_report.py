"""The report: what it says, that nothing of the data becomes markup, and what is refused."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from reports import HOSTILE_INPUT, HOSTILE_TARGET, changed, full_size_twin, made_by_hand, verdict
from toys import toy_twin

import forebear as fb
from forebear.cli import main
from forebear.data.question import Question
from forebear.data.table import read_columns
from forebear.discovery.cost import Cost, CurvePoint, Difference
from forebear.discovery.settings import resolve
from forebear.discovery.verdict import Verdict
from forebear.report.evidence import LawEvidence
from forebear.report.kept import keep_evidence, kept_evidence
from forebear.report.page import as_data
from forebear.report.sentences import answers, because, plain, shaped_by
from forebear.report.verdicts import rows_told, verdict_told
from forebear.report.weights import pack_short
from forebear.twin.blend import BlendLaw
from forebear.twin.blend_fit import Sizes
from forebear.twin.validate import Scores, Validation

Cli = Callable[..., tuple[int, str, str]]


def sentence(found: fb.Found, target: str = "y") -> str:
    return plain(answers(found.record)[target])


def document(file: Path) -> dict[str, Any]:
    """The data inside a page."""
    text = file.read_text(encoding="utf-8")
    [block] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return json.loads(block)


@pytest.fixture(scope="module")
def found() -> fb.Found:
    """Two targets with a table; nothing was trained."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    frame["y"] = frame["a"] + rng.normal(size=400)
    frame["w"] = frame["b"] * rng.normal(size=400)
    made = made_by_hand(["y", "w"], ["a", "b", "c"], {"y": ["a"], "w": ["a", "b"]})
    return fb.Found(made.record, read_columns(frame, "rig.csv", list(frame.columns)))


@pytest.fixture(scope="module")
def twin(found: fb.Found) -> fb.Twin:
    assert found.table is not None
    return toy_twin(found.table.frame(), {"y": ["a"], "w": ["a", "b"]})


CERTIFIED = {"verdict": Verdict("certified"), "jointly": verdict(0.41, units=["c"])._replace(limit=0.0141)}
MOST = "what any other input could still explain is at most 1.4% of what is left open (95% limit)."


def unsure(*reasons: str) -> dict[str, Any]:
    return {**CERTIFIED, "verdict": Verdict("cannot tell", reasons)}


class TestSentences:
    units = ["a", "b", "c"]

    def test_ancestors(self) -> None:
        found = made_by_hand(["y"], self.units, {"y": ["a", "b"]}, **CERTIFIED)
        assert sentence(found) == f"y depends on a and b; nothing else in the table is needed: {MOST}"

    def test_no_ancestor(self) -> None:
        found = made_by_hand(["y"], self.units, {}, **CERTIFIED)
        told = "y depends on none of the candidates; its law is the same whatever they are: what any of them could "
        assert sentence(found) == told + "still explain is at most 1.4% of it (95% limit)."

    def test_no_ancestor_and_no_word_on_it(self) -> None:
        """Beside "cannot tell" nobody may say that it depends on none."""
        fields = {**CERTIFIED, "verdict": Verdict("cannot tell", ("'a' could still explain up to 19%",))}
        found = made_by_hand(["y"], self.units, {}, **fields)
        assert plain(shaped_by(found.record, "y")) == "y showed no dependence on any of the candidates."
        assert "depends on none" not in sentence(found)

    def test_everything_is_needed(self) -> None:
        found = made_by_hand(["y"], self.units, {"y": self.units}, verdict=Verdict("certified"), jointly=None)
        assert sentence(found) == "y depends on a, b and c, which is all that was offered."

    def test_cannot_tell(self) -> None:
        found = made_by_hand(["y"], self.units, {"y": ["a"]}, **unsure("'b' is only just not needed"))
        assert sentence(found) == "y depends on a, as far as these rows can tell."

    def test_something_is_missing(self) -> None:
        missing = {"verdict": Verdict("something is missing", ("c shows",)), "passes": False}
        found = made_by_hand(["y"], self.units, {"y": ["a"]}, **missing, jointly=verdict(1e-9, 0.2, ["c"]))
        told = "y depends on a, but that is not the whole story: c still shows in its law, p < 0.0001."
        assert sentence(found) == told
        found = made_by_hand(["y"], self.units, {"y": ["a"]}, **missing, jointly=verdict(1e-9, 0.2, ["b", "c"]))
        assert "b and c still show in its law" in sentence(found)

    def test_negligible(self) -> None:
        found = made_by_hand(["y"], self.units, {"y": ["a"]}, negligible=("b",), **CERTIFIED)
        assert sentence(found).endswith(f"{MOST} b shows too, but too weakly to count.")

    def test_alternatives_and_stand_ins(self) -> None:
        missing = {"verdict": Verdict("something is missing"), "passes": False}
        found = made_by_hand(["y"], self.units, {"y": ["a"]}, alternatives={("b",): {}}, **missing)
        assert "would" not in sentence(found)
        found = made_by_hand(["y"], self.units, {"y": ["a"]}, alternatives={("b", "c"): {}}, **CERTIFIED)
        assert sentence(found).endswith("So would b and c do.")
        found = made_by_hand(["y"], self.units, {"y": ["a"]}, alternatives={("b",): {}, ("c",): {}}, **CERTIFIED)
        assert sentence(found).endswith("2 other sets would do as well.")
        swap = {"alternatives": {("b",): {}, ("c",): {}}, "classes": (("a", "b", "c"),)}
        found = made_by_hand(["y"], self.units, {"y": ["a"]}, **swap, **unsure("'b', 'c' would do as well"))
        assert sentence(found) == "y depends on a (or b or c), as far as these rows can tell."

    def test_several_runs(self) -> None:
        found = made_by_hand(["y"], self.units, {"y": ["a", "b"]}, **CERTIFIED)
        three = changed(
            found,
            runs=found.runs * 3,
            choices=(*found.choices * 2, {"y": ("a",)}),
            certified=found.certified * 3,
        )
        assert sentence(three).startswith("y depends on a and b (2 of 3 runs); nothing else in the table")
        other = changed(three, choices=(found.choices[0], {"y": ("a",)}, {"y": ("a",)}))
        told = "y depends on a. The runs disagree; the evidence shown is of the first, which chose a and b."
        assert sentence(other) == told
        word, reasons = verdict_told(other.record, "y") or Verdict("")
        assert word == "cannot tell" and "the first, which chose 'a', 'b'" in reasons[0]

    def test_a_rule_without_certificate(self) -> None:
        found = made_by_hand(["y"], self.units, {"y": ["a"]}, certified=False)
        assert sentence(found).endswith("whether anything else is needed was not tested.")

    def test_kept_by_request_and_candidates(self) -> None:
        found = made_by_hand(["y", "w"], self.units, {"y": ["a"]}, **CERTIFIED)
        y = Question("y", ("a", "b"), {"a": ("a",)}, ("b",))
        told = sentence(changed(found, questions={**found.questions, "y": y}))
        assert told.startswith("y depends on a, beside b (kept by request); no other candidate is needed")


class TestBecause:
    """What stands behind a verdict is told once, and says nothing that the verdict does not."""

    units = ["a", "b", "c"]

    def told(self, found: fb.Found, evidence: LawEvidence | None = None) -> list[str]:
        return [plain(part) for part in because(found.record, "y", evidence)]

    def test_certified(self, twin: fb.Twin) -> None:
        fields = {"classes": (("a", "c"),), "negligible": ("b",), **CERTIFIED}
        found = made_by_hand(["y", "w"], self.units, {"y": ["a"], "w": ["a", "b"]}, **fields)
        scores = replace(TestVerdicts.good, coverage={0.9: 0.91}, worse_by=0.0, worse_interval=(-0.01, 0.01))
        judged = Validation({"y": scores}, np.zeros((80, 1)), 80, exact=False)
        assert self.told(found, LawEvidence(twin, judged, "rows set aside")) == [
            "Nothing else in the table is needed: all else could still explain at most 1.4% of what is left open "
            "(95% limit).",
            "b shows too, but too weakly to count.",
            "In the place of a, c would do as well.",
            "Of 80 rows set aside, 91% lie in their 90% intervals.",
            "Leaving the other inputs out costs at most 2% of the accuracy there (CRPS).",
        ]

    def test_nothing_is_borne_out_that_was_contradicted(self, twin: fb.Twin) -> None:
        found = made_by_hand(["y"], self.units, {"y": ["a"]}, **CERTIFIED)
        short = replace(TestVerdicts.good, coverage={0.9: 0.7})
        evidence = LawEvidence(twin, Validation({"y": short}, np.zeros((600, 1)), 600, exact=False), "rows set aside")
        told = verdict_told(found.record, "y", evidence)
        assert told is not None and told.word == "cannot tell"
        assert "only 70% of 600 rows set aside lie in their 90% intervals" in told.reasons[0]
        assert self.told(found, evidence) == []

    def test_without_a_certificate_or_agreement(self) -> None:
        plain_rule = made_by_hand(["y"], self.units, {"y": ["a"]}, certified=False)
        assert "makes no certificate" in self.told(plain_rule)[0]
        found = made_by_hand(["y"], self.units, {"y": ["a", "b"]}, **CERTIFIED)
        runs = {"runs": found.runs * 3, "certified": found.certified * 3}
        split = changed(found, **runs, choices=(*found.choices * 2, {"y": ("a",)}))
        assert "b was chosen in 2 of 3 runs." in self.told(split)
        other = changed(split, choices=(found.choices[0], {"y": ("a",)}, {"y": ("a",)}))
        assert self.told(other)[0].startswith("The runs disagree;")
        nobody = made_by_hand(["y"], self.units, {}, **CERTIFIED)
        assert self.told(nobody)[0].startswith("None of the inputs is needed: together they could still explain")


def test_without_a_twin_the_page_has_sentences_without_amounts(tmp_path: Path) -> None:
    made_by_hand(["y", "n"], ["a", "b"], {"y": ["a"]}).report(tmp_path / "r.html")
    y, n = document(tmp_path / "r.html")["targets"]
    told = "".join(part if isinstance(part, str) else part["name"] for part in y["headline"])
    assert told in [f"a {verb} y." for verb in ("moves", "widens or narrows", "changes the shape of")]
    assert (
        "".join(p if isinstance(p, str) else p["name"] for p in n["headline"])
        == "n showed no dependence on any of the candidates."
    )


class TestVerdicts:
    good = Scores(0.5, (0.4, 0.6), 0.1, 0.1, {}, 0.02, 0.4, 0.3, 0.0, 1.0)

    def told(self, found: fb.Found, twin: fb.Twin, **scores: Any) -> Verdict:
        judged = Validation({"y": replace(self.good, **scores)}, np.zeros((80, 1)), 80, exact=False)
        told = verdict_told(found.record, "y", LawEvidence(twin, judged, "rows set aside"))
        assert told is not None
        return told

    @pytest.fixture
    def certified(self) -> fb.Found:
        return made_by_hand(["y", "w"], ["a", "b", "c"], {"y": ["a"], "w": ["a", "b"]}, **CERTIFIED)

    @pytest.mark.parametrize(
        ("scores", "word"),
        [
            ({}, None),
            ({"independence_p_value": 0.002}, None),
            ({"independence_p_value": 9e-4}, "latents still depend"),
            ({"uniformity_p_value": 2e-4}, None),
            ({"uniformity_p_value": 9e-5}, "do not lie evenly"),
            ({"worse_by": 0.02, "worse_interval": (-0.01, 0.05)}, None),
            ({"worse_by": 0.02, "worse_interval": (0.015, 0.025)}, "on all candidates is better"),
        ],
    )
    def test_rows_held_out_may_contradict(
        self, certified: fb.Found, twin: fb.Twin, scores: dict[str, Any], word: str | None
    ) -> None:
        told = self.told(certified, twin, **scores)
        assert told.word == ("certified" if word is None else "cannot tell")
        assert len(told.reasons) == (word is not None) and (word is None or word in told.reasons[0])
        assert all("80 rows set aside" in reason for reason in told.reasons)

    def test_a_worse_verdict_stays(self, twin: fb.Twin) -> None:
        missing = {"verdict": Verdict("something is missing", ("first",)), "passes": False}
        found = made_by_hand(["y"], ["a", "b"], {"y": ["a"]}, **missing)
        word, reasons = self.told(found, twin, uniformity_p_value=1e-9)
        assert word == "something is missing" and reasons[0] == "first" and len(reasons) == 2

    def test_the_page_says_at_its_top_what_it_says_at_its_end(
        self, certified: fb.Found, twin: fb.Twin, tmp_path: Path
    ) -> None:
        rng = np.random.default_rng(0)
        rows = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
        certified.report(tmp_path / "r.html", twin, held_out=rows.assign(y=9 + rows["a"], w=rows["b"]))
        y = document(tmp_path / "r.html")["targets"][0]
        assert y["calibration"]["uniformityP"] < 1e-4
        assert y["state"] == "cannot tell" and "400 rows given to judge on do not lie evenly" in " ".join(y["why"])
        assert {"name": "a"} in y["sentence"] and y["sentence"][-1] == ", as far as these rows can tell."

    def test_summary_and_notebook(self) -> None:
        classes = {"classes": (("b", "c"),), **unsure("<b> & more")}
        found = made_by_hand(["y"], ["a", "b", "c"], {"y": ["a", "b"]}, **classes)
        assert found.summary() == "y <- a, b (or c): cannot tell"
        told = found._repr_html_()
        assert ">verdict</th>" in told and "&lt;b&gt; &amp; more" in told and "b (or c)" in told
        plain_rule = made_by_hand(["y"], ["a"], {"y": ["a"]}, certified=False)
        assert plain_rule.summary() == "y <- a" and "verdict" not in plain_rule._repr_html_()


def test_the_evidence_has_limits_costs_classes_and_the_structure_of_rows(tmp_path: Path) -> None:
    curve = tuple(CurvePoint(tuple("abc"[:n]), 1.0, share) for n, share in ((3, 1.0), (2, 0.995), (1, 0.4), (0, 0.0)))
    cost = Cost(Difference(0.01, -0.01, 0.03), Difference(0.0, -0.1, 0.1), (1.0, 0.5), (0.99, 0.5), curve)
    fields = {"cost": cost, "classes": (("a", "d"),), "rows": 30_000, "fresh": True, "deviation": 2.0}
    found = made_by_hand(["y"], list("abcd"), {"y": list("abc")}, **CERTIFIED, **fields)
    settings = {**found.settings, "rows": "ordered", "rows_why": "neighbours are alike"}
    changed(found, settings=settings).report(tmp_path / "r.html")
    data = document(tmp_path / "r.html")
    y = data["targets"][0]
    assert data["structure"] == {"kind": "ordered", "told": "ordered, because neighbours are alike"}
    assert y["state"] == "certified" and y["why"] == [] and y["classes"] == [["a", "d"]]
    assert y["certificate"]["jointly"]["limit"] == 0.0141 and y["certificate"]["margin"] == 0.075
    assert y["certificate"]["rows"][3]["limitUnits"] == 2.0 and y["certificate"]["fresh"]
    assert y["cost"]["scores"][0] == {
        "score": "log loss",
        "pruned": 1.0,
        "full": 0.99,
        "difference": 0.01,
        "low": -0.01,
        "high": 0.03,
    }
    assert y["cost"]["enough"] == {"kept": ["a", "b"], "share": 0.995} and len(y["cost"]["curve"]) == 4


@pytest.mark.parametrize(
    ("settings", "told", "asked"),
    [
        ({}, None, []),
        ({"rows": "independent", "rows_why": ""}, None, []),
        ({"rows": "machine", "rows_why": ""}, None, ["machine"]),
        ({"rows": "ordered", "rows_why": "so"}, "ordered, because so", []),
        ({"rows": "independent", "rows_why": "", "rows_asked": "independent"}, None, ["independent"]),
        (
            {"rows": "independent", "rows_why": "", "rows_drifting": ["age", "run"]},
            "independent; 'age', 'run' follow the number of the row",
            [],
        ),
    ],
)
def test_the_structure_of_rows_is_told_and_goes_into_the_call(
    found: fb.Found, settings: dict[str, Any], told: str | None, asked: list[str]
) -> None:
    from forebear.report.provenance import call, command

    other = changed(found, settings={**found.settings, **settings})
    assert rows_told(other.record) == told
    assert ("rows=" in call(other.record, other.table)) == bool(asked)
    words = (command(other.record, other.table) or "").split()
    assert [words[place + 1] for place, word in enumerate(words) if word == "--rows"] == asked


def test_edges_know_the_verdict_of_their_target(tmp_path: Path) -> None:
    found = made_by_hand(["y"], ["a", "b"], {"y": ["a"]}, **CERTIFIED)
    assert found.graph.edges["a", "y"]["verdict"] == "certified"
    for ending, read in ((".graphml", nx.read_graphml), (".json", None), (".dot", None)):
        found.save_graph(tmp_path / f"g{ending}")
        assert "certified" in (tmp_path / f"g{ending}").read_text(encoding="utf-8")
        if read is not None:
            assert read(tmp_path / f"g{ending}").edges["a", "y"]["verdict"] == "certified"
    untested = made_by_hand(["y"], ["a", "b"], {"y": ["a"]}, certified=False)
    assert untested.graph.edges["a", "y"]["verdict"] is None


def test_the_page_holds_everything(found: fb.Found, twin: fb.Twin, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    found.report(file, twin)
    data = document(file)
    y = data["targets"][0]
    assert "".join(p if isinstance(p, str) else p["name"] for p in y["sentence"]) == sentence(found)
    assert [row["unit"] for row in y["certificate"]["rows"]] == ["a", "b", "c"]
    assert y["path"]["removed"] == list(found.runs[0]["y"].removed) and len(y["path"]["nsr"]) == 4
    assert sum(y["calibration"]["pit"]) == data["judged"]["rows"] == 400
    assert "may have been fitted on" in data["judged"]["what"]
    assert list(data["twin"]["laws"]) == ["y", "w"]
    assert data["twin"]["laws"]["w"]["inputs"] == [0, 1]
    about = data["about"]
    assert about["settings"]["seed"] == 7 and len(about["data"]["hash"]) == 64
    assert "fb.discover('rig.csv', targets=['y', 'w'], seed=7)" in about["call"]
    assert about["command"].startswith("forebear discover rig.csv --target y --target w --seed 7 --out run")
    assert not [other for other in tmp_path.iterdir() if other != file]


def test_the_call_is_the_one_that_was_made(found: fb.Found) -> None:
    from forebear.report.provenance import call, command

    q = Question("y", ("a", "b", "c"), {"pair": ("a", "b")}, ("c",))
    settings = {**found.settings, "steps": 300, "rule": "MyRule", "joint": True}
    other = changed(found, questions={**found.questions, "y": q}, settings=settings)
    text = call(other.record, other.table)
    assert "keep={'y': ['c']}" in text and "groups={'pair': ['a', 'b']}" in text
    assert "rule=...," in text and "steps=300" in text
    assert command(other.record, other.table) is None
    told = command(replace(other.record, settings={**settings, "rule": "nsr-jump"}), other.table)
    assert told is not None and "--keep y=c --group pair=a,b" in told and "--set steps=300" in told


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, ""),
        ({"margin": 0.02}, "--set margin=0.02 "),
        ({"steps": 300}, "--set steps=300 "),  # from which samplers of their own follow
        ({"path": "own"}, "--set distilled=3000 --set scores=energy --set path=own "),
    ],
)
def test_what_follows_from_the_defaults_is_no_option(found: fb.Found, asked: dict[str, Any], said: str) -> None:
    from forebear.report.provenance import command

    settled = resolve("fast", asked).settled(True, asked).flat()
    told = command(replace(found.record, settings={**settled, **found.settings}), found.table)
    assert told is not None
    assert told.startswith(f"forebear discover rig.csv --target y --target w {said}--seed 7 --out run")


def test_laws_are_fitted_and_judged_on_rows_set_aside(found: fb.Found, tmp_path: Path) -> None:
    found.report(tmp_path / "r.html", seed=1, progress=False, steps=10, width=8, depth=1, ode_steps=2)
    data = document(tmp_path / "r.html")
    assert data["judged"] == {"rows": 80, "what": "rows set aside before the twins were fitted"}
    calibration = data["targets"][0]["calibration"]
    assert calibration["worseInterval"][0] <= calibration["worse"] <= calibration["worseInterval"][1]
    assert data["targets"][0]["student"] > 0 and data["twin"]["laws"]["y"]["inputs"] == [0]


def test_the_page_serves_the_law_of_a_blend(found: fb.Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the sliders compute is what the blend's student says, and the student is near the blend."""
    assert found.table is not None
    short = {"steps": 60, "width": 16, "depth": 2}
    usual = Sizes.of(400)
    small = Sizes(1, replace(usual.plain, **short), replace(usual.assisted, **short), 4)
    monkeypatch.setattr(Sizes, "of", classmethod(lambda cls, rows: small))
    usually = fb.Twin.distil
    monkeypatch.setattr(fb.Twin, "distil", lambda own, **_: usually(own, rows=1_024, steps=400, progress=False))
    blend = found.twin(progress=False)
    assert isinstance(blend.law, BlendLaw)
    found.report(tmp_path / "r.html", blend, progress=False)
    data = document(tmp_path / "r.html")
    assert list(data["twin"]["laws"]) == ["y", "w"] and data["judged"]["rows"] == 80
    assert 0 < data["targets"][0]["student"] < 0.2, "Wasserstein-1 to the blend, in deviations"


def test_no_twin(found: fb.Found, tmp_path: Path) -> None:
    found.report(tmp_path / "a.html", twin=False)
    data = document(tmp_path / "a.html")
    assert data["twin"] is None and data["hasTable"] and data["targets"][0]["calibration"] is None
    fb.Found(found.record).report(tmp_path / "b.html")
    data = document(tmp_path / "b.html")
    assert data["twin"] is None and not data["hasTable"] and data["about"]["command"] is None


def test_nothing_in_the_data_is_markup(tmp_path: Path) -> None:
    found = made_by_hand([HOSTILE_TARGET, "\ud800"], [HOSTILE_INPUT, "b"], {HOSTILE_TARGET: [HOSTILE_INPUT]})
    found.report(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert document(tmp_path / "r.html")["targets"][0]["name"] == HOSTILE_TARGET
    body = text.split("</style>")[1]
    assert "hacked=1</" not in body and "<img" not in body and "\u2028" not in text and "\u2029" not in text
    # The blocks are those of the template and no others.
    assert body.count("<script") == body.count("</script") == 9
    for sign in "<>&\u2028\u2029":
        assert sign not in as_data({"x": sign})


def test_the_policy_allows_what_is_in_the_page_and_nothing_else(found: fb.Found, tmp_path: Path) -> None:
    found.report(tmp_path / "r.html", twin=False)
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    policy = html.unescape(re.findall(r'Content-Security-Policy" content="(.*?)"', text)[0])
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "http" not in policy
    blocks = re.findall(r"<script>(.*?)</script>", text, re.S) + re.findall(r"<style>(.*?)</style>", text, re.S)
    assert len(blocks) == 9
    for block in blocks:
        assert base64.b64encode(hashlib.sha256(block.encode()).digest()).decode() in policy
        assert "innerHTML" not in block and "insertAdjacentHTML" not in block and "document.write" not in block
    assert not re.findall(r'(?:src|href)="(?!#)', text.split("<script>")[0])


def test_two_hundred_targets_fit(tmp_path: Path) -> None:
    targets, inputs = [f"target {i}" for i in range(200)], [f"input {i}" for i in range(20)]
    ancestors = {t: inputs[i % 17 : i % 17 + i % 4] for i, t in enumerate(targets)}
    found = made_by_hand(targets, inputs, ancestors)
    found.report(tmp_path / "r.html", full_size_twin(targets, inputs, ancestors))
    assert (tmp_path / "r.html").stat().st_size < 5_000_000


def test_sixteen_bits_are_close() -> None:
    weights = np.random.default_rng(0).normal(size=(48, 25)) * np.logspace(-3, 2, 25)
    packed = pack_short(weights)
    short = np.frombuffer(base64.b64decode(packed["data"]), "<i2").reshape(48, 25)
    scale = np.frombuffer(base64.b64decode(packed["scale"]["data"]), "<f4")
    assert np.abs(short * scale - weights).max(axis=0) == pytest.approx(0, abs=2e-5 * np.abs(weights).max())
    assert (np.abs(short * scale - weights) < 2e-5 * np.abs(weights).max(axis=0)).all()


def test_the_same_page_twice(found: fb.Found, twin: fb.Twin, tmp_path: Path) -> None:
    found.report(tmp_path / "a.html", twin)
    found.report(tmp_path / "b.html", twin)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_page_is_whole_or_the_old_one_stays(
    found: fb.Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "r.html"
    file.write_text("the old one", encoding="utf-8")

    def fail(*paths: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(fb.InputError, match="the disk is full"):
        found.report(file, twin=False)
    assert file.read_text(encoding="utf-8") == "the old one" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("file", "options", "message"),
    [
        ("report.pdf", {}, "the ending must be .html"),
        ("none/report.html", {}, "there is no folder .*none: make it first"),
        (".html", {}, "the ending must be .html"),
        ("r.html", {"twin": "yes"}, "twin must be a twin, True, False or None; got 'yes'"),
        ("r.html", {"stesp": 3}, "unknown setting 'stesp'. Did you mean 'steps'?"),
    ],
)
def test_bad_input(found: fb.Found, tmp_path: Path, file: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(fb.InputError, match=message):
        found.report(tmp_path / file, **options)
    assert not list(tmp_path.iterdir())


def test_a_twin_that_does_not_fit(found: fb.Found, twin: fb.Twin, tmp_path: Path) -> None:
    assert found.table is not None
    file = tmp_path / "r.html"
    with pytest.raises(fb.InputError, match="twin has the targets"):
        found.report(file, toy_twin(found.table.frame(), {"y": ["a"]}))
    with pytest.raises(fb.InputError, match="twin is joint"):
        fb.Found(found.record).report(file, replace(twin, joint=True))
    with pytest.raises(fb.InputError, match="saved without its table"):
        fb.Found(found.record).report(file, twin=True)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(list(arguments))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def test_the_command_uses_the_twin_of_the_run(cli: Cli, found: fb.Found, twin: fb.Twin, tmp_path: Path) -> None:
    found.save(tmp_path / "run")
    twin.save(tmp_path / "run" / "twin")
    status, out, err = cli("report", "run")
    assert (status, err) == (0, "") and "The report is in run/report.html" in out
    assert document(tmp_path / "run" / "report.html")["twin"] is not None
    assert found.table is not None
    found.table.frame().head(50).to_csv(tmp_path / "new.csv", index=False)
    assert cli("report", "run", "--out", "r.html", "--held-out", "new.csv")[0] == 0
    assert document(tmp_path / "r.html")["judged"] == {"rows": 50, "what": "rows given to judge on"}
    status, out, err = cli("report", "run", "--no-laws", "--out", "plain.html")
    assert status == 0 and document(tmp_path / "plain.html")["twin"] is None


def test_what_was_fitted_is_kept(
    cli: Cli, found: fb.Found, twin: fb.Twin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found.table is not None
    told = LawEvidence(twin, twin.validate(found.table.frame().head(80), full=twin), "rows set aside")
    fits: list[int] = []

    def fit(*arguments: Any, seed: int, **options: Any) -> LawEvidence:
        fits.append(seed)
        return told

    monkeypatch.setattr("forebear.api.pages.fitted_evidence", fit)
    found.save(tmp_path / "run")
    status, _, err = cli("report", "run", "--out", "a.html")
    assert status == 0 and "fitting the laws" in err
    assert cli("report", "run", "--out", "b.html")[2] == "" and fits == [0]
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    cli("report", "run", "--seed", "3", "--out", "c.html")
    changed(found, seconds=2.0).save(tmp_path / "run")
    cli("report", "run", "--seed", "3", "--out", "c.html")
    (tmp_path / "run" / "report" / "checks.safetensors").write_bytes(b"broken")
    cli("report", "run", "--seed", "3", "--out", "c.html")
    assert fits == [0, 3, 3, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "nowhere: no such run folder"),
        (("empty",), "empty: there is no finished run in this folder"),
        (("run", "--out", "r.txt"), "--out r.txt: the ending must be .html"),
        (("run", "--out", "no/r.html"), "--out no/r.html: there is no folder no: make it first"),
        (("run", "--out", "folder.html"), "--out folder.html: this is a folder: name a file in it"),
        (("run", "--held-out", "none.csv"), "none.csv: no such file"),
        (("run", "--seed", "-1"), "--seed"),
        ((), "RUN"),
    ],
)
def test_bad_input_is_told_in_one_line(
    cli: Cli, found: fb.Found, twin: fb.Twin, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder.html").mkdir()
    found.save(tmp_path / "run")
    twin.save(tmp_path / "run" / "twin")
    status, out, err = cli("report", *arguments)
    assert (status, out) == (2, "") and message in err and err.count("\n") == 1
    assert not list(tmp_path.rglob("report.html"))


@pytest.mark.parametrize("ending", ["dot", "graphml", "json"])
def test_the_graph_goes_to_other_programs(tmp_path: Path, ending: str) -> None:
    found = made_by_hand(["y", 'q"\\\x01'], ["a", "b"], {"y": ["a"], 'q"\\\x01': ["a", "b"]}, certified=False)
    file = tmp_path / f"g.{ending}"
    found.save_graph(file)
    if ending == "dot":
        text = file.read_text(encoding="utf-8")
        assert '"a" -> "y" [' in text and '"q\\"\\\\\x01" [shape=box];' in text and "None" not in text
        return
    read = nx.read_graphml(file) if ending == "graphml" else None
    graph = nx.node_link_graph(json.loads(file.read_text()), edges="edges") if read is None else read
    assert graph.number_of_edges() == 3 and graph.edges["a", "y"]["frequency"] == 1.0
    assert graph.nodes["y"]["target"] is True and "p_value" not in graph.edges["a", "y"]


def test_graph_refusals(found: fb.Found, tmp_path: Path) -> None:
    with pytest.raises(fb.InputError, match="the ending must be .dot, .graphml or .json"):
        found.save_graph(tmp_path / "g.png")
    with pytest.raises(fb.InputError, match="there is no folder"):
        found.save_graph(tmp_path / "no" / "g.dot")
    with pytest.raises(fb.InputError, match="Did you mean 'effect'"):
        found.adjacency("efect")


def test_adjacency(found: fb.Found) -> None:
    assert found.adjacency().to_dict() == {"y": {"a": 1, "b": 0, "c": 0}, "w": {"a": 1, "b": 1, "c": 0}}
    weights = found.adjacency("effect")
    assert weights.loc["a", "y"] == 0.4 and np.isnan(weights.loc["c", "y"])


def test_the_axis_of_scores_says_what_they_are_shares_of(found: fb.Found) -> None:
    assert found.plot_scores("y").get_xlabel() == "share of the signal"
    newer = changed(found, settings={**found.record.settings, "scores": "variation"})
    assert newer.plot_scores("y").get_xlabel() == "share of the fit's variation"


def test_figures_take_and_return_an_axis(found: fb.Found, twin: fb.Twin) -> None:
    assert found.table is not None
    told = twin.validate(found.table.frame().head(60))
    rows, data = found.table.frame(["a", "b"]).head(2), found.table.frame()
    draw: list[Callable[..., Any]] = [
        lambda ax: found.plot_scores("y", ax=ax),
        lambda ax: twin.plot_law(rows, "y", ax=ax),
        lambda ax: twin.plot_fan("a", "w", data=data, ax=ax),
        lambda ax: found.plot_fan("w", "b", twin=twin, given={"a": 1.0}, ax=ax),
        lambda ax: told.plot_calibration(ax=ax),
        lambda ax: told.plot_calibration("w", ax=ax),
    ]
    for each in draw:
        axis = plt.subplots()[1]
        assert each(axis) is axis and each(None) is not axis
        plt.close("all")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f, t: f.plot_scores("z"), "'z' is not a target"),
        (lambda f, t: t.plot_law({"a": [0.0], "b": [0.0]}), "target: this twin has several"),
        (lambda f, t: t.plot_law({"a": [0.0], "b": [0.0]}, "z"), "target: 'z' is not one of this twin"),
        (lambda f, t: t.plot_fan("b", "y"), "'b' does not shape 'y'"),
        (lambda f, t: t.plot_fan("z", "w"), "'z' is not an input of this twin"),
        (lambda f, t: t.plot_fan("a", "w", given={"q": 1.0}), "given: 'q' is not an input"),
        (lambda f, t: t.plot_fan("a", "w", given=[1.0]), "given must be a dict"),
        (lambda f, t: t.plot_fan("a", "w", data={"a": [1.0]}), "data: no column 'w'"),
        (lambda f, t: f.plot_fan("z", twin=t), "'z' is not a target"),
        (lambda f, t: f.plot_fan("y", twin=t, ax=plt.subplots()[1]), "ax: one axis holds one chart"),
        (lambda f, t: f.sentences(3), "twin must be a twin or None; got 3"),
        (lambda f, t: f.sentences(full_size_twin(["z"], ["a"], {"z": ["a"]})), "twin has the targets"),
        (lambda f, t: t.plot_law({"a": [0.0] * 9, "b": [0.0] * 9}, "y"), "a figure shows 1 to 5 rows"),
    ],
)
def test_figures_refuse(found: fb.Found, twin: fb.Twin, call: Callable[..., Any], message: str) -> None:
    with pytest.raises(fb.InputError, match=message):
        call(found, twin)
    plt.close("all")


def test_what_is_kept_for_the_next_page_comes_back_with_its_joint_part(twin: fb.Twin, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(60, 4)), columns=["a", "b", "y", "w"])
    told = LawEvidence(twin, twin.validate(rows), "these rows", replace(twin, joint=True))
    keep_evidence(told, tmp_path, {"seed": 0})
    again = kept_evidence(tmp_path, {"seed": 0})
    assert again is not None and again.joint is not None and again.joint.joint and not again.twin.joint
    assert kept_evidence(tmp_path, {"seed": 1}) is None
