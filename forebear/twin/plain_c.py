"""A distilled twin as plain C: one file, no runtime, no memory asked for; for controllers, and for any language.

What every such file does is in `c/law.c`; this fills in the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from forebear.data.scaling import ColumnCode
from forebear.storage.files import write_bytes
from forebear.twin.spline import LEAST_SLOPE, LEAST_STEP, SplineModel
from forebear.version import __version__

if TYPE_CHECKING:
    from forebear.twin.twin import Target, Twin

PARTS = Path(__file__).parent / "c"
"""the C that is the same for every twin"""
_CURVES = {"line": "LINE", "cos": "COSINE", "sin": "SINE", "equal": "EQUAL", "step": "STEP", "missing": "MISSING"}
_PER_LINE = 12


@final
class CExporter:
    """One C99 file, whose functions begin with the name of the file."""

    ending = ".c"
    needs = None

    def export(self, twin: Twin, file: Path) -> None:
        """Write the source of a distilled twin, or of the student of another."""
        write_bytes(file, c_source(twin.student, identifier(file.stem)).encode())


def identifier(text: str) -> str:
    """A name that C takes, as near as may be.

    >>> identifier("my twin-2"), identifier("2nd")
    ('my_twin_2', 'twin_2nd')
    """
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return name if name[:1].isalpha() else f"twin_{name}"


def c_source(twin: Twin, name: str) -> str:
    """The source of a distilled twin, its functions beginning with `name`."""
    assert isinstance(twin.model, SplineModel), "a twin's student is a spline"
    sizes = [len(twin.model.networks.weights[0][0]), *(bias.shape[1] for bias in twin.model.networks.biases)]
    filled = {
        "about": _about(twin, name),
        "name": name,
        "NAME": name.upper(),
        "inputs": len(twin.inputs),
        "targets": len(twin.targets),
        "input_names": _listed(map(quoted, twin.inputs), '""'),
        "target_names": _listed(map(quoted, twin.targets), '""'),
        "features": sum(column.width for column in twin.columns),
        "layers": len(sizes) - 1,
        "steps": sizes[-1] // 2,
        "widest": max(sizes),
        "in_turn": int(twin.model.autoregressive),
        "tables": "\n".join(_tables(twin, twin.model, sizes)),
    }
    return fill((PARTS / "law.c").read_text(encoding="utf-8"), filled)


def fill(text: str, filled: Mapping[str, Any]) -> str:
    """The text with `@word@` replaced.

    >>> fill("int @a@ = @b@;", {"a": "x", "b": 3})
    'int x = 3;'
    """
    return re.sub(r"@(\w+)@", lambda match: str(filled[match[1]]), text)


def quoted(text: str) -> str:
    """A string of C: UTF-8, with everything that C could read otherwise written as octal.

    >>> print(quoted('5" ü'))
    "5\\042 \\303\\274"
    """
    plain = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.,:;()[]{}<>=+*/^!#$%&'|~@")
    data = text.encode("utf-8", "replace")
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in data) + '"'


def table(kind: str, name: str, values: Iterable[Any]) -> str:
    """An array of C; one of nothing holds a 0, as C has no empty ones.

    >>> print(table("double", "a", [1.5, np.inf]))
    static const double a[] = {1.5, INFINITY};
    """
    told = [_number(value, kind) for value in values] or ["0"]
    lines = [", ".join(told[start : start + _PER_LINE]) for start in range(0, len(told), _PER_LINE)]
    body = lines[0] if len(lines) == 1 else "\n    " + ",\n    ".join(lines) + "\n"
    return f"static const {kind} {name}[] = {{{body}}};"


def _number(value: Any, kind: str) -> str:
    if kind == "int":
        return str(int(value))
    if not np.isfinite(value):
        return "NAN" if np.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
    told = f"{float(value):.9g}" if kind == "float" else repr(float(value))
    return told if set(told) & set(".e") else f"{told}.0"


def _listed(texts: Iterable[str], nothing: str) -> str:
    return ", ".join(texts) or nothing


def _tables(twin: Twin, model: SplineModel, sizes: Sequence[int]) -> list[str]:
    """Everything that differs between twins."""
    found = [
        f"static const double REACH = {float(model.reach)!r}, LEAST_STEP = {LEAST_STEP!r}, LEAST_SLOPE = "
        f"{LEAST_SLOPE!r};",
        *_targets(twin.outputs),
        table("int", "sizes", sizes),
    ]
    low, high = twin.ends
    scales = [column.scale for column in twin.columns]
    found += [table("double", name, v) for name, v in (("lowest", low), ("highest", high), ("scales", scales))]
    features = [_feature(i, column) for i, column in enumerate(twin.columns)]
    body = ",\n    ".join(line for lines in features for line in lines) or "{0, 0, 0, 0.0, 1.0, 0.0}"
    found.append(f"static const Feature features[] = {{\n    {body}\n}};")
    for kind in ("weights", "biases"):
        layers = [np.asarray(layer, np.float32).ravel() for layer in getattr(model.networks, kind)]
        found += [table("float", f"{kind}_{i}", layer) for i, layer in enumerate(layers)]
        names = ", ".join(f"{kind}_{i}" for i in range(len(layers)))
        found.append(f"static const float *const {kind}[] = {{{names}}};")
    return found


def _feature(place: int, column: ColumnCode) -> list[str]:
    return [
        f"{{{place}, {_CURVES[own.curve]}, {int(column.gaps)}, "
        + ", ".join(_number(value, "double") for value in (own.centre, own.scale, own.factor))
        + "}"
        for own in column.features
    ]


def _targets(targets: Sequence[Target]) -> list[str]:
    """The cells of each target, and the record that points at them."""
    found, records = [], []
    for i, target in enumerate(targets):
        cells = target.collapser
        names = ["NULL"] * 4
        if cells.kind != "continuous":
            words = ("values", "low", "high", "shift")
            names = [f"{word}_{i}" for word in words]
            found += [table("double", n, getattr(cells, word)) for n, word in zip(names, words, strict=True)]
        scaling = ", ".join(_number(value, "double") for value in (target.centre, target.scale))
        records.append(f"{{{cells.kind.upper()}, {len(cells.values)}, {scaling}, {', '.join(names)}}}")
    return [*found, "static const Target targets[] = {\n    " + ",\n    ".join(records) + "\n};"]


def _about(twin: Twin, name: str) -> str:
    """The comment at the top: what goes in, what comes out."""
    lines = [
        f"{name}: a digital twin, written by forebear {__version__}. C99; needs the mathematics library (-lm) alone.",
        "",
        "Inputs x:",
        *(f"  x[{i}]  {_column(twin, i)}" for i in range(len(twin.inputs))),
        "Targets y, each from a latent z of its own" + (", in this order:" if twin.joint else ":"),
        *(f"  y[{i}]  {_target(twin, i)}" for i in range(len(twin.targets))),
        *_errors(twin.distillation or {}),
        "",
        f"{name}_push is the law, {name}_outside how far inputs lie beyond the data, {name}_latents its noise.",
        "Do not compile it with -ffast-math, which cannot tell missing cells.",
    ]
    return "\n".join(f" * {line}".rstrip() for line in map(_in_comment, lines))


def _column(twin: Twin, place: int) -> str:
    column, known = twin.columns[place], twin.ranges[place]
    parts = [*_unit(twin, column.name)]
    if column.levels:
        parts.append(coded(column.levels))
    elif column.period:
        parts.append(f"an angle of period {column.period:g}")
    elif known is not None:
        parts.append(f"between {known.low:g} and {known.high:g} in the data")
    parts += ["cells may be missing (NaN)"] if column.gaps else []
    return f"{column.name}: {'; '.join(parts)}" if parts else column.name


def _target(twin: Twin, place: int) -> str:
    target = twin.outputs[place]
    told = coded(target.levels) if target.levels else target.dequantiser.taken_for
    inputs = ", ".join(twin.ancestors[target.name]) or "nothing"
    return f"{target.name}: {'; '.join([*_unit(twin, target.name), told])}; depends on {inputs}"


def _unit(twin: Twin, name: str) -> list[str]:
    return [f"in {twin.units[name]}"] if name in twin.units else []


def coded(levels: Sequence[object]) -> str:
    """Codes and their labels.

    >>> coded(["red", "blue"])
    '0 = red, 1 = blue'
    """
    return ", ".join(f"{code} = {label}" for code, label in enumerate(levels))


def _errors(told: Mapping[str, Any]) -> list[str]:
    if not told:
        return []
    found = [f"{target}: {own['w1']:.4f}" for target, own in told.items()]
    return [f"Distilled; mean distance to the law before (Wasserstein-1, in deviations): {', '.join(found)}"]


def _in_comment(line: str) -> str:
    """Nothing may end the comment, or begin another in it."""
    plain = " ".join(line.splitlines()).replace("*/", "* /").replace("/*", "/ *")
    return "".join(mark if mark.isprintable() else "?" for mark in plain).replace("??", "? ?")
