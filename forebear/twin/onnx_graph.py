"""A distilled twin as an ONNX graph: raw inputs and latents in, raw targets out, with no forebear in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from forebear.data.scaling import Encoder
from forebear.errors import InputError
from forebear.flow.network import Network
from forebear.kinds.kind import Feature
from forebear.storage.files import write_bytes
from forebear.twin.encode import OutputCode
from forebear.twin.spline import LEAST_SLOPE, LEAST_STEP, SplineModel

if TYPE_CHECKING:
    from forebear.twin.twin import Twin

# 17 is old enough for every runtime in use; the graph needs nothing newer.
_OPSET, _IR = 17, 8


class _Graph:
    """Nodes and constants in the order they were made; values are known by their names."""

    def __init__(self, onnx: Any):
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Add a node and name its value; arrays and numbers among its inputs become constants."""
        name = f"{operator.lower()}_{len(self.nodes)}"
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        self.nodes.append(self.onnx.helper.make_node(operator, names, [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        """A constant: whole numbers as int64, all others as float32."""
        array = np.asarray(value)
        array = array.astype(np.int64 if array.dtype.kind in "iu" else np.float32)
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def columns(self, values: str, start: int, stop: int) -> str:
        """Columns start … stop - 1 of a matrix."""
        return self("Slice", values, np.array([start]), np.array([stop]), np.array([1]))

    def count(self, condition: str) -> str:
        """How many of each row hold, as a column (rows, 1) of whole numbers."""
        return self("ReduceSum", self("Cast", condition, to=self.onnx.TensorProto.INT64), np.array([1]), keepdims=1)


@final
@dataclass(frozen=True)
class OnnxExporter:
    """Its graph takes x (rows, inputs) and z (rows, targets) and gives y (rows, targets), all float32."""

    others: Sequence[Twin] = ()
    """further trainings of the same twin: y then is (trainings, rows, targets), this twin's first, all at the same x
    and z"""

    ending = ".onnx"
    needs = "onnx"

    def export(self, twin: Twin, file: Path) -> None:
        """Write the graph of a distilled twin, or of the student of another."""
        import onnx

        own = self.others
        if isinstance(own, str) or not isinstance(own, Sequence) or not all(hasattr(one, "student") for one in own):
            raise InputError(f"others must be a list of twins, further trainings of this one; got {own!r}")
        for number, one in enumerate(own, 2):
            if (one.inputs, one.targets) != (twin.inputs, twin.targets):
                raise InputError(
                    f"others: training {number} has {_asked(one)}, and the first {_asked(twin)}: export them alone"
                )
        write_graph(onnx, twin.student, file, [one.student for one in own])


def _asked(twin: Twin) -> str:
    return f"{', '.join(twin.targets)} given {', '.join(twin.inputs) or 'nothing'}"


def write_graph(onnx: Any, twin: Twin, file: Path, others: Sequence[Twin] = ()) -> None:
    """Write the graph of a distilled twin, and of others beside it, with the package onnx."""
    graph = _Graph(onnx)
    if others:
        each = [graph("Unsqueeze", _drawn(graph, one), np.array([0])) for one in (twin, *others)]
        graph.nodes.append(onnx.helper.make_node("Concat", each, ["y"], axis=0))
    else:
        graph.nodes.append(onnx.helper.make_node("Identity", [_drawn(graph, twin)], ["y"]))
    write_bytes(file, _model(graph, twin, 1 + len(others)).SerializeToString())


def _drawn(graph: _Graph, twin: Twin) -> str:
    """y (rows, targets) of one twin."""
    if not isinstance(twin.model, SplineModel):
        raise InputError("only a distilled twin can be exported to ONNX: call twin.distil() first")
    core = twin.core().params
    features = _features(graph, twin.encoder)
    return graph("Concat", *_raw(graph, core.outputs, _targets(graph, twin.model, features)), axis=1)


def _model(graph: _Graph, twin: Twin, trainings: int) -> Any:
    onnx = graph.onnx
    several = [trainings] if trainings > 1 else []
    shapes: dict[str, list[Any]] = {
        "x": ["rows", len(twin.inputs)],
        "z": ["rows", len(twin.targets)],
        "y": [*several, "rows", len(twin.targets)],
    }
    x, z, y = (
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()
    )
    made = onnx.helper.make_graph(graph.nodes, "twin", [x, z], [y], graph.constants)
    opset = onnx.helper.make_opsetid("", _OPSET)
    model = onnx.helper.make_model(made, opset_imports=[opset], ir_version=_IR, producer_name="forebear")
    about = {"inputs": twin.inputs, "targets": twin.targets}
    onnx.helper.set_model_props(model, {name: "\n".join(names) for name, names in about.items()})
    onnx.checker.check_model(model)
    return model


def _features(graph: _Graph, encoder: Encoder) -> str:
    """As the encoder has it, feature by feature."""
    parts = []
    for i, code in enumerate(encoder.codes):
        column = graph.columns("x", i, i + 1)
        parts += [_where_known(graph, column, feature, code.gaps) for feature in code.features]
    # No inputs: a matrix of no columns with as many rows as there are latents.
    return graph("Concat", *parts, axis=1) if parts else graph.columns("z", 0, 0)


def _where_known(graph: _Graph, column: str, feature: Feature, gaps: bool) -> str:
    """A feature, 0 where the cell is missing."""
    value = _feature(graph, column, feature)
    return graph("Where", graph("IsNaN", column), 0.0, value) if gaps and feature.curve != "missing" else value


def _feature(graph: _Graph, column: str, feature: Feature) -> str:
    """`forebear.kinds.kind.curve` as nodes."""
    if feature.curve == "line":
        value = graph("Div", graph("Sub", column, feature.centre), feature.scale)
    elif feature.curve in ("cos", "sin"):
        turn = graph("Mul", graph("Sub", column, feature.centre), 2 * np.pi / feature.scale)
        value = graph("Cos" if feature.curve == "cos" else "Sin", turn)
    elif feature.curve == "missing":
        return graph("Cast", graph("IsNaN", column), to=graph.onnx.TensorProto.FLOAT)
    else:
        compare = "Equal" if feature.curve == "equal" else "GreaterOrEqual"
        value = graph("Cast", graph(compare, column, feature.centre), to=graph.onnx.TensorProto.FLOAT)
    return value if feature.factor == 1 else graph("Mul", value, feature.factor)


def _targets(graph: _Graph, model: SplineModel, features: str) -> list[str]:
    """Standardised targets, a column (rows, 1) each."""
    columns: list[str] = []
    count = model.networks.weights[0].shape[0]
    for i in range(count):
        seen = features
        if model.autoregressive:
            later = [graph("Mul", graph.columns("z", j, j + 1), 0.0) for j in range(i, count)]
            seen = graph("Concat", features, *columns, *later, axis=1)
        outputs = _network(graph, model.networks, i, seen)
        columns.append(_spline(graph, outputs, graph.columns("z", i, i + 1), model))
    return columns


def _network(graph: _Graph, networks: Network, i: int, hidden: str) -> str:
    layers = list(zip(networks.weights, networks.biases, strict=True))
    for place, (weight, bias) in enumerate(layers):
        hidden = graph("Add", graph("MatMul", hidden, weight[i]), bias[i])
        if place < len(layers) - 1:
            hidden = graph("Mul", hidden, graph("Sigmoid", hidden))
    return hidden


def _spline(graph: _Graph, outputs: str, z: str, model: SplineModel) -> str:
    """`Spline.of` and its value at z."""
    g, reach = graph, model.reach
    count = model.networks.biases[-1].shape[1] // 2
    share = g("Mul", g("Softmax", g.columns(outputs, 1, count + 1), axis=1), 1 - count * LEAST_STEP)
    across = g("Mul", g("Add", share, LEAST_STEP), 2 * reach)
    rises = g("Add", g("Elu", g.columns(outputs, count + 1, 2 * count + 1)), 1 + LEAST_SLOPE)
    up = g("Mul", rises, 2 * reach / count)
    before = np.triu(np.ones((count, count + 1)), 1)
    chords = g("Div", up, across)
    late, early = g.columns(chords, 1, count), g.columns(chords, 0, count - 1)
    middle = g("Div", g("Mul", g("Mul", late, early), 2.0), g("Add", late, early))
    slopes = g("Concat", g.columns(chords, 0, 1), middle, g.columns(chords, count - 1, count), axis=1)
    points = g("Sub", g("MatMul", across, before), reach)
    heights = g("Add", g("MatMul", up, before - before[:, [count // 2]]), g.columns(outputs, 0, 1))

    here = g.count(g("GreaterOrEqual", z, g.columns(points, 1, count)))
    after = g("Add", here, 1)
    left, low, chord, start = (g("GatherElements", v, here, axis=1) for v in (points, heights, chords, slopes))
    right, high, end = (g("GatherElements", v, after, axis=1) for v in (points, heights, slopes))
    return _piece(g, z, left, right, low, high, chord, start, end)


def _piece(g: _Graph, z: str, left: str, right: str, low: str, high: str, chord: str, start: str, end: str) -> str:
    """The rational quadratic between two points, and straight lines beyond them."""
    share = g("Clip", g("Div", g("Sub", z, left), g("Sub", right, left)), 0.0, 1.0)
    both = g("Mul", share, g("Sub", 1.0, share))
    bend = g("Sub", g("Add", start, end), g("Mul", chord, 2.0))
    below = g("Add", chord, g("Mul", bend, both))
    above = g("Add", g("Mul", chord, g("Mul", share, share)), g("Mul", start, both))
    inside = g("Add", low, g("Div", g("Mul", g("Sub", high, low), above), below))
    tails = g("Mul", start, g("Min", g("Sub", z, left), 0.0)), g("Mul", end, g("Max", g("Sub", z, right), 0.0))
    return g("Add", inside, g("Add", *tails))


def _raw(graph: _Graph, code: OutputCode, columns: list[str]) -> list[str]:
    """Back to the data's units, lattices and atoms, as `OutputCode` has it."""
    found = []
    for i, (y, table) in enumerate(zip(columns, code.targets, strict=True)):
        raw = graph("Add", graph("Mul", y, code.scale[i]), code.centre[i])
        if table.kind != "continuous":
            passed = graph.count(graph("GreaterOrEqual", y, np.asarray(table.high)[None]))
            here = graph("Min", passed, len(table.values) - 1)
            value = graph("Gather", np.asarray(table.values), here, axis=0)
            if table.kind == "atoms":
                inside = graph("GreaterOrEqual", y, graph("Gather", np.asarray(table.low), here, axis=0))
                atom = graph("And", inside, graph("Less", passed, len(table.values)))
                moved = graph("Sub", raw, graph("Gather", np.asarray(table.shift), passed, axis=0))
                value = graph("Where", atom, value, moved)
            raw = value
        found.append(raw)
    return found
