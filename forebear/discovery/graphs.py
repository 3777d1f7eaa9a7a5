"""The graph of a result: for networkx, as a table, and as DOT, GraphML and JSON for other programs."""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from forebear.discovery.action import Action
from forebear.discovery.record import Discovery
from forebear.errors import InputError, near_miss
from forebear.storage.files import check_output, write_bytes

WEIGHTS = ("frequency", "effect", "score", "p_value")
# XML has no place for these, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def graph_of(found: Discovery) -> nx.DiGraph:
    """An edge from every ancestor to its target, with attributes score, p_value, effect, frequency, by_request, acts
    (what the input mostly does to the law: location, scale, shape or dependence) and verdict, which is that of the
    target."""
    graph = nx.DiGraph()
    frequencies = found.frequencies
    for target, question in found.questions.items():
        graph.add_nodes_from([*question.always, *question.candidates, target])
    for target, ancestors in found.ancestors.items():
        scores, certificate = found.first_scores(target), found.certificate(target)
        for candidate in ancestors:
            kept = candidate in found.questions[target].always
            result = None if certificate is None else certificate.tests.get(candidate)
            graph.add_edge(
                candidate,
                target,
                score=scores.get(candidate),
                p_value=None if result is None else result.p_value,
                effect=None if result is None else result.effect,
                frequency=1.0 if kept else frequencies[target][candidate],
                by_request=kept,
                acts=None if certificate is None else _acts(certificate.actions.get(candidate)),
                verdict=None if certificate is None else certificate.verdict.word,
            )
    return graph


def _acts(action: Action | None) -> str | None:
    """The largest of the shares; None where nothing was seen."""
    if action is None or not any(action):
        return None
    return max(Action._fields, key=lambda side: getattr(action, side))


def adjacency(found: Discovery, weight: str | None = None) -> pd.DataFrame:
    """The graph as a table: a row per input, a column per target; 1 for an ancestor, 0 otherwise.

    With `weight`, an attribute of the edges, its value in place of 1, and NaN where there is no edge.

    >>> from forebear.data.question import Question
    >>> from forebear.discovery.embed import Lengthscales
    >>> from forebear.discovery.path import Path
    >>> path = Path(("a", "b"), ("b", "a"), (0.1, 0.1, 0.9), np.ones((3, 2)), (1.0,) * 3, Lengthscales({}, 1.0))
    >>> question = Question("y", ("a", "b"), {"a": ("a",), "b": ("b",)}, ())
    >>> adjacency(Discovery({"y": question}, ({"y": path},), ({"y": ("a",)},), ({},), {"rule": "nsr-jump"}, 0.0))
       y
    a  1
    b  0
    """
    if weight is not None and weight not in WEIGHTS:
        raise InputError(f"weight: an edge has no '{weight}'. {near_miss(weight, WEIGHTS)}")
    table = pd.DataFrame(0 if weight is None else np.nan, index=list(found.inputs()), columns=list(found.targets))
    for candidate, target, edge in graph_of(found).edges(data=True):
        value = 1 if weight is None else edge[weight]
        table.loc[candidate, target] = np.nan if value is None else value
    return table


def save_graph(found: Discovery, file: str | Path) -> None:
    """Write the graph as .dot, .graphml or .json."""
    writers = {".dot": _dot, ".graphml": _graphml, ".json": _json}
    place = check_output(file, tuple(writers))
    write_bytes(place, writers[place.suffix.lower()](_plain_graph(found)))


def _plain_graph(found: Discovery) -> nx.DiGraph:
    """The graph without attributes that are None, which no format knows, and with `target` at every node."""
    whole, graph = graph_of(found), nx.DiGraph()
    for name in whole:
        graph.add_node(name, target=name in found.questions)
    for candidate, target, edge in whole.edges(data=True):
        graph.add_edge(candidate, target, **{name: value for name, value in edge.items() if value is not None})
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
    for candidate, target, edge in graph.edges(data=True):
        attributes = ", ".join(f"{name}={_quoted(str(value))}" for name, value in edge.items())
        lines.append(f"  {_quoted(candidate)} -> {_quoted(target)} [{attributes}];")
    return "\n".join([*lines, "}", ""]).encode("utf-8", "replace")


def _quoted(text: str) -> str:
    r"""A name in DOT: quotes are escaped, and a backslash doubled so that it is no escape of its own.

    >>> print(_quoted('say "a\\b"'))
    "say \"a\\b\""
    """
    doubled = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{doubled}"'.replace("\n", " ").replace("\0", " ")
