"""Which laws are the same in all regimes? The regime is a candidate like any other, and the certificate tells.

A law that is the same in all regimes depends on the regime through its inputs alone: given them, the latents do not
know which regime a row is of. Where they do, it is another law, and the regime is one of its ancestors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import networkx as nx
import pandas as pd

from forebear.discovery.certificate import Certificate
from forebear.discovery.multiple import adjusted
from forebear.discovery.record import Discovery
from forebear.errors import InputError, listed

SAME, CHANGES, CANNOT_TELL = "the same", "changes", "cannot tell"
NEEDED, NOT_NEEDED = "needed", "not needed"
LEVEL = 0.05
"""of the adjusted p-value, for the chance of naming any law that does not change"""


def regime_of(found: Discovery) -> str:
    """The column that tells regimes apart, or an `InputError`."""
    regime = found.settings.get("regime")
    if regime is None:
        raise InputError("no regimes were asked for: discover with regime=, the column that tells them apart")
    return str(regime)


def regime_table(found: Discovery) -> pd.DataFrame:
    """A row per target; see `Found.regimes`."""
    regime, certificates = regime_of(found), found.certificates()
    p_values = {target: _p_value(one, regime) for target, one in certificates.items() if regime in one.tests}
    known = {target: p_value for target, p_value in p_values.items() if not math.isnan(p_value)}
    raised = adjusted(known, "holm") if known else {}
    rows = {}
    for target, certificate in certificates.items():
        if regime not in certificate.tests:
            continue
        result, corrected = certificate.tests[regime], raised.get(target, math.nan)
        word, why = _told(certificate, regime, corrected)
        limit = math.nan if regime in certificate.kept else result.limit
        rows[target] = {
            "law": word,
            "p_value": p_values[target],
            "adjusted": corrected,
            "effect": result.effect,
            "limit": limit,
            "why": why,
        }
    columns = ["law", "p_value", "adjusted", "effect", "limit", "why"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("target")


def _p_value(certificate: Certificate, regime: str) -> float:
    """From rows that had no part in choosing, where there are any, and from a test of the tails alone: that is on
    all rows, and no set was chosen by it."""
    told = float(certificate.fresh_p.get(regime, certificate.tests[regime].p_value))
    if regime not in certificate.tails:
        return told
    return min(1.0, 2 * min(certificate.tails[regime], 1.0 if math.isnan(told) else told))


def _told(certificate: Certificate, regime: str, corrected: float) -> tuple[str, str]:
    others = sorted({name for names in certificate.classes if regime in names for name in names} - {regime})
    if others:
        return CANNOT_TELL, f"{listed(others)} can stand in for '{regime}', and the other way round"
    if regime in certificate.kept:
        if corrected <= LEVEL:
            return CHANGES, ""
        return (
            CANNOT_TELL,
            f"'{regime}' was kept, but with p = {corrected:.2g} over all targets that may be by chance",
        )
    if corrected <= LEVEL and 2 * certificate.tails.get(regime, 1.0) <= LEVEL:
        return CHANGES, f"in the tails alone: too little for '{regime}' to be an input"
    limit = certificate.tests[regime].limit
    if limit <= certificate.margin:
        return SAME, ""
    return (
        CANNOT_TELL,
        f"'{regime}' could still explain {limit:.0%} of what is left open (margin {certificate.margin:.0%})",
    )


def inputs_table(parts: Mapping[str, Discovery], target: str) -> pd.DataFrame:
    """A row per input, a column per regime: needed there, not needed, or cannot tell."""
    return pd.DataFrame({label: _inputs(part, target) for label, part in parts.items()}).rename_axis("input")


def _inputs(part: Discovery, target: str) -> dict[str, str]:
    certificate = part.certificates()[target]
    found = {}
    for name, result in certificate.tests.items():
        clear = result.limit <= certificate.margin and certificate.passes
        found[name] = NEEDED if name in certificate.kept else NOT_NEEDED if clear else CANNOT_TELL
    return found


def only_somewhere(
    inputs: pd.DataFrame, joined: Mapping[tuple[str, ...], Mapping[str, str]] | None = None
) -> dict[str, tuple[str, ...]]:
    """Inputs that are needed in some regimes and surely not in all the others -> the regimes that need them.

    `joined` has the words for several regimes together: where each of the others alone cannot tell, they may.

    >>> table = pd.DataFrame({"a": ["needed", "needed"], "b": ["not needed", "cannot tell"]}, index=["x", "z"])
    >>> only_somewhere(table.assign(c="not needed"))
    {'x': ('a',)}
    >>> only_somewhere(table.assign(c="not needed"), {("b", "c"): {"z": "not needed"}})
    {'x': ('a',), 'z': ('a',)}
    """
    found = {}
    for name, needed, rest, sure in _somewhere(inputs):
        if sure or (joined or {}).get(rest, {}).get(name) == NOT_NEEDED:
            found[name] = needed
    return found


def unsure_elsewhere(inputs: pd.DataFrame) -> set[tuple[str, ...]]:
    """Regimes that have to be asked together: an input that others need is not needed in any of them, as far as each
    alone can tell.

    >>> table = pd.DataFrame({"a": ["needed", "needed"], "b": ["not needed", "cannot tell"]}, index=["x", "z"])
    >>> unsure_elsewhere(table.assign(c="not needed"))
    {('b', 'c')}
    """
    return {rest for _, _, rest, sure in _somewhere(inputs) if not sure and len(rest) > 1}


def _somewhere(inputs: pd.DataFrame) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...], bool]]:
    """Inputs that some regimes need, and others do not seem to: which do, which do not, and whether that is sure."""
    for name, row in inputs.iterrows():
        words = {str(label): word for label, word in row.items() if isinstance(word, str)}
        needed = tuple(label for label, word in words.items() if word == NEEDED)
        rest = tuple(str(label) for label in inputs.columns if str(label) not in needed)
        if needed and rest and len(words) == len(inputs.columns):
            yield str(name), needed, rest, all(words[label] == NOT_NEEDED for label in rest)


def regime_graph(parts: Mapping[str, Discovery]) -> nx.DiGraph:
    """All edges of all regimes; an edge has `regimes`, those in which its input is needed, their share as
    `frequency`, and `everywhere`."""
    graph = nx.DiGraph()
    for part in parts.values():
        for target, question in part.questions.items():
            graph.add_nodes_from([*question.always, *question.candidates, target])
    for label, part in parts.items():
        for target, ancestors in part.ancestors.items():
            for name in ancestors:
                known = graph.edges[name, target]["regimes"] if graph.has_edge(name, target) else ()
                graph.add_edge(name, target, regimes=(*known, label))
    for _, _, edge in graph.edges(data=True):
        share = len(edge["regimes"]) / len(parts)
        edge |= {"everywhere": share == 1.0, "frequency": share, "by_request": False}
    return graph
