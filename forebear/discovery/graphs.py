"""The graph of a result for other programs: a table, DOT, GraphML and JSON."""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from forebear.discovery.found import Found
from forebear.errors import InputError, near_miss
from forebear.storage.files import write_bytes

WEIGHTS = ("frequency", "effect", "score", "p_value")
ENDINGS = (".dot", ".graphml", ".json")
# XML has no place for these, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def adjacency(found: Found, weight: str | None = None) -> pd.DataFrame:
    """The work of `Found.adjacency`.

    >>> from forebear.data.question import Question
    >>> from forebear.discovery.distil import Lengthscales
    >>> from forebear.discovery.path import Path
    >>> path = Path(("a", "b"), ("b", "a"), (0.1, 0.1, 0.9), np.ones((3, 2)), (1.0,) * 3, Lengthscales({}, 1.0))
    >>> question = Question("y", ("a", "b"), {"a": ("a",), "b": ("b",)}, ())
    >>> found = Found({"y": question}, ({"y": path},), ({"y": ("a",)},), ({},), {"rule": "nsr-jump"}, 0.0)
    >>> found.adjacency()
       y
    a  1
    b  0
    """
    if weight is not None and weight not in WEIGHTS:
        raise InputError(f"weight: an edge has no '{weight}'. {near_miss(weight, WEIGHTS)}")
    rows = list(dict.fromkeys(unit for target in found.targets for unit in found._places(target)))
    table = pd.DataFrame(0 if weight is None else np.nan, index=rows, columns=list(found.targets))
    for unit, target, edge in found.graph.edges(data=True):
        value = 1 if weight is None else edge[weight]
        table.loc[unit, target] = np.nan if value is None else value
    return table


def save_graph(found: Found, file: str | Path) -> None:
    """The work of `Found.save_graph`."""
    place = Path(file)
    writers = {".dot": _dot, ".graphml": _graphml, ".json": _json}
    if place.suffix.lower() not in writers:
        raise InputError(f"{file}: the ending must be .dot, .graphml or .json")
    if place.is_dir():
        raise InputError(f"{file}: this is a folder: name a file in it")
    if not place.parent.is_dir():
        raise InputError(f"{file}: there is no folder {place.parent}: make it first")
    write_bytes(place, writers[place.suffix.lower()](plain_graph(found)))
    place.chmod(0o644)


def plain_graph(found: Found) -> nx.DiGraph:
    """`Found.graph` without attributes that are None, which no format knows, and with `target` at every node."""
    graph = nx.DiGraph()
    for name in found.graph:
        graph.add_node(name, target=name in found.questions)
    for unit, target, edge in found.graph.edges(data=True):
        graph.add_edge(unit, target, **{name: value for name, value in edge.items() if value is not None})
    return graph


def _json(graph: nx.DiGraph) -> bytes:
    return json.dumps(nx.node_link_data(graph, edges="edges"), indent=1).encode()


def _graphml(graph: nx.DiGraph) -> bytes:
    clean = nx.relabel_nodes(graph, {name: _NOT_XML.sub("\ufffd", str(name)) for name in graph})
    content = BytesIO()
    nx.write_graphml(clean, content)
    return content.getvalue()


def _dot(graph: nx.DiGraph) -> bytes:
    lines = ["digraph {", "  rankdir=LR;"]
    for name, node in graph.nodes(data=True):
        lines.append(f"  {_quoted(name)} [shape={'box' if node['target'] else 'ellipse'}];")
    for unit, target, edge in graph.edges(data=True):
        attributes = ", ".join(f"{name}={_quoted(str(value))}" for name, value in edge.items())
        lines.append(f"  {_quoted(unit)} -> {_quoted(target)} [{attributes}];")
    return "\n".join([*lines, "}", ""]).encode("utf-8", "replace")


def _quoted(text: str) -> str:
    r"""A name in DOT: quotes are escaped, and a backslash doubled so that it is no escape of its own.

    >>> print(_quoted('say "a\\b"'))
    "say \"a\\b\""
    """
    doubled = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{doubled}"'.replace("\n", " ").replace("\0", " ")
