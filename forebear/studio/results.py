"""A finished run in a few words and numbers, for the page and for comparing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forebear.discovery.record import Discovery, load_discovery
from forebear.report.verdicts import limit_text, rows_told, verdict_told


def summary(folder: Path) -> dict[str, Any]:
    """Targets with what shapes them, verdicts and limits; the settings; what went otherwise than asked."""
    found = load_discovery(folder)
    return {
        "targets": [target_told(found, target) for target in found.targets],
        "settings": {name: value for name, value in found.settings.items()},
        "seconds": round(found.seconds, 1),
        "notes": list(found.notes),
        "structure": rows_told(found) or str(found.settings.get("rows", "independent")),
        "table": None if found.use is None else {"rows": found.use.rows, "used": found.use.used},
    }


def target_told(found: Discovery, target: str) -> dict[str, Any]:
    """One target: what shapes it and how, the verdict with its reasons, and what the rest could still explain."""
    certificate, verdict = found.certificate(target), verdict_told(found, target)
    acts = {} if certificate is None else {str(n): str(w) for n, w in certificate.actions_frame()["acts"].items()}
    return {
        "name": target,
        "ancestors": [{"name": name, "acts": acts.get(name, "")} for name in found.ancestors[target]],
        "verdict": "" if verdict is None else verdict.word,
        "reasons": [] if verdict is None else list(verdict.reasons),
        "limit": "" if certificate is None else limit_text(certificate),
        "classes": [] if certificate is None else [list(names) for names in certificate.classes],
    }
