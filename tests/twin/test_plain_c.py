"""Twins as C: compiled without a warning, the numbers are those of the twin, whatever the kinds of its columns."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mixed import mixed_twin
from native import STRICT, Law, compiler
from quick import TINY
from scipy.stats import kstest
from toys import toy_twin

import forebear as fb
from forebear.twin.counted import counted_latents
from forebear.twin.plain_c import c_source
from forebear.twin.twin import Twin


@pytest.fixture(scope="module", params=[False, True], ids=["separate", "joint"])
def student(request: pytest.FixtureRequest) -> Twin:
    return mixed_twin(request.param).distil(rows=256, steps=60, progress=False)


def test_the_numbers_are_those_of_the_twin(student: Twin, tmp_path: Path) -> None:
    student.export(tmp_path / "law.c")
    law = Law(tmp_path / "law.c", 4)
    x = student.rows[:500]
    z = 1.5 * np.random.default_rng(1).normal(size=(len(x), 4))
    assert np.isnan(x).any(axis=0).tolist() == [True, False, True, False, False]
    assert [target.dequantiser.kind for target in student.outputs] == ["continuous", "atoms", "lattice", "lattice"]
    ours, theirs = student.at_latents(x, z[None])[0], law.push(x, z)
    error = np.abs(ours - theirs) / [target.scale for target in student.outputs]
    # A latent within rounding of the border of a cell may fall to the other side of it.
    assert (error > 1e-5).mean() <= 1e-3 and (ours != 0).any(axis=0).all()
    far = np.where(np.isnan(x), np.nan, x + [9, 0, 0, 0, -5])
    np.testing.assert_allclose(law.outside(x[:50]), np.zeros(50), atol=1e-12)
    known = ~np.isnan(far).any(axis=1)
    np.testing.assert_allclose(law.outside(far[known]), student.outside(far[known]), rtol=1e-9)


def test_what_is_not_known_is_not_made_up(student: Twin, tmp_path: Path) -> None:
    """An angle whose cells are never missing has no meaning as NaN."""
    student.export(tmp_path / "law.c")
    x = student.rows[:1].copy()
    x[0, 1] = np.nan
    assert np.isnan(Law(tmp_path / "law.c", 4).push(x, np.zeros((1, 4)))).all()


def test_noise_is_standard_normal_and_the_same_in_python(tmp_path: Path) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)), columns=["a", "y", "u", "v"])
    toy_twin(frame, {"y": ("a",), "u": ("a",), "v": ("a",)}).export(tmp_path / "law.c")
    law = Law(tmp_path / "law.c", 3)
    for seed, draw in ((0, 0), (7, 123), (2**40, 2**33)):
        # The mathematics libraries of C and numpy may differ in the last digit.
        np.testing.assert_allclose(law.latents(seed, draw), counted_latents(seed, draw, 1, 3)[0], rtol=1e-13)
    z = counted_latents(3, 0, 40_000, 3)
    assert kstest(z.ravel(), "norm").pvalue > 1e-3
    assert np.abs(np.corrcoef(z.T) - np.eye(3)).max() < 0.02 and abs(np.corrcoef(z[1:, 0], z[:-1, 0])[0, 1]) < 0.02
    neighbours = np.array([counted_latents(seed, 0, 1, 1)[0, 0] for seed in range(2_000)])
    assert kstest(neighbours, "norm").pvalue > 1e-3


def test_it_needs_nothing_and_two_files_can_share_it(tmp_path: Path) -> None:
    """No memory is asked for, nothing but two headers and the mathematics library is used, and the header part alone
    may be included elsewhere."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "y"])
    twin = toy_twin(frame, {"y": ("a",)})
    twin.export(tmp_path / "my law.c")
    source = (tmp_path / "my law.c").read_text(encoding="utf-8")
    assert set(re.findall(r"#include <(.*)>", source)) == {"stdint.h", "math.h", "stddef.h"}
    assert not re.search(r"\b(malloc|calloc|free|printf)\b", source)
    (tmp_path / "main.c").write_text(
        "#define MY_LAW_HEADER\n"
        '#include "my law.c"\n#include <stdio.h>\n'
        "int main(void)\n{\n    double x[] = {0.5}, z[] = {-1.0}, y[1];\n    my_law_push(x, z, y);\n"
        '    printf("%.17g\\n", y[0]);\n    return 0;\n}\n'
    )
    command = [compiler(), *STRICT, "-o", "main", "main.c", "my law.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    told = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert float(told) == pytest.approx(twin.at_latents(np.array([[0.5]]), np.full((1, 1, 1), -1.0)).item(), rel=1e-5)


def test_a_twin_without_inputs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=300), "y": rng.normal(size=300)})
    found = fb.discover(
        table, "y", rule=lambda path: (), sampler="gaussian", distilled=40, nugget=1.0, lengthscale=1.0
    )
    twin = found.twin(law="flow", **TINY).distil(rows=64, steps=20, progress=False)
    assert twin.inputs == ()
    twin.export(tmp_path / "law.c")
    z = rng.normal(size=(20, 1))
    ours = twin.at_latents(np.zeros((20, 0)), z[None])[0]
    np.testing.assert_allclose(Law(tmp_path / "law.c", 1).push(np.zeros((20, 0)), z), ours, atol=1e-5)


def test_a_flow_is_distilled_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "y"])
    student = toy_twin(frame, {"y": ("a",)})
    flow = _tiny_flow(frame)
    monkeypatch.setattr(Twin, "distil", lambda self, **options: student)
    flow.export(tmp_path / "law.c")
    assert (tmp_path / "law.c").read_text(encoding="utf-8") == c_source(student, "law")


def _tiny_flow(frame: pd.DataFrame) -> Twin:
    found = fb.discover(
        frame, "y", rule=lambda path: ("a",), sampler="gaussian", distilled=30, nugget=1.0, lengthscale=1.0, **TINY
    )
    return found.twin(law="flow", **TINY)


def test_the_comment_says_what_is_in_it(student: Twin) -> None:
    source = c_source(student, "law")
    about = source[: source.index("#ifndef")]
    assert about.count("*/") == about.count("/*") == 1
    for told in ("x[1]  angle: an angle of period 360", "cells may be missing (NaN)", "0 = u, 1 = v, 2 = w"):
        assert told in about
