"""The laws of a page from the twins of its result, and kept in the run folder for the next page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from forebear.api.twins import KeptTwin, Recipe, fingerprint_of, kept_twin, recipe_of
from forebear.errors import InputError, check_whole
from forebear.report.evidence import LawEvidence, check_targets, fitted_evidence, given_evidence
from forebear.report.kept import keep_evidence, kept_evidence
from forebear.storage.records import to_record
from forebear.twin.twin import Twin

if TYPE_CHECKING:
    from forebear.api.found import Found


def law_evidence(
    found: Found,
    twin: Twin | bool | None,
    *,
    held_out: Any = None,
    seed: int = 0,
    progress: bool | None = None,
    settings: Mapping[str, Any] | None = None,
) -> LawEvidence | None:
    """What a page says beside the discovery itself; None when there is to be no twin.

    None and True take the result's own twin, True insisting on the table. A twin that is given is distilled if it is
    not yet; beside a joint one, which has no law of a single target, the result's own is needed.
    """
    check_whole("seed", seed, 0)
    recipe = recipe_of(found.record, True, False, None, seed, settings or {}, _sampler(found))
    if twin is False or (twin is None and found.table is None):
        return None
    if twin is not None and not isinstance(twin, Twin | bool):
        raise InputError(f"twin must be a twin, True, False or None; got {twin!r}")
    options: dict[str, Any] = {"held_out": held_out, "seed": seed, "progress": progress}
    if isinstance(twin, Twin) and not twin.joint:
        return given_evidence(found.record, found.table, twin, weights=found.structure.weights, **options)
    return own_evidence(found, recipe, joint=twin if isinstance(twin, Twin) else None, **options)


def own_evidence(
    found: Found,
    recipe: Recipe,
    *,
    held_out: Any = None,
    seed: int = 0,
    progress: bool | None = None,
    joint: Twin | None = None,
    before: Callable[[], None] = lambda: None,
) -> LawEvidence:
    """From the twins of the result by this recipe, or from what an earlier page of theirs has kept.

    `before` is called when there is work to do.
    """
    if joint is not None:
        check_targets(found.record, joint)
    if found.table is None and joint is not None:
        raise InputError(
            "twin is joint, and the laws of single targets need twins of their own, for which this result lacks its "
            "table: pass found.twin(joint=False)"
        )
    if found.table is None:
        raise InputError("this result was saved without its table: pass a twin, or twin=False for a page without one")
    folder = None if found.folder is None or held_out is not None or joint is not None else found.folder
    result = None if folder is None else fingerprint_of(folder)
    identity = {"found": result, "seed": seed, "twin": to_record(recipe._replace(pruned=True, joint=False))}
    told = None if folder is None or result is None else kept_evidence(folder / "report", identity)
    if told is not None:
        return told
    before()

    def twins(*, pruned: bool, joint: bool) -> Twin:
        return found.twins.get(recipe._replace(pruned=pruned, joint=joint), found.folder, progress)

    told = fitted_evidence(
        found.record,
        found.table,
        twins,
        held_out=held_out,
        seed=seed,
        progress=progress,
        joint=joint,
        weights=found.structure.weights,
    )
    if folder is not None and result is not None:
        keep_evidence(told, folder / "report", identity)
    return told


def kept_laws(found: Found, *, held_out: Any, seed: int, before: Callable[[], None]) -> LawEvidence | None:
    """For `forebear report`: from the twin that the run keeps, however it was made, or from one that is made now."""
    recipe = None if found.folder is None else KeptTwin(found.folder).recipe()
    # One that was put there by hand; or any, where no other can be made.
    by_hand = recipe is None or found.table is None
    twin = kept_twin(found.folder) if found.folder is not None and by_hand else None
    if twin is not None and not twin.joint:
        weights = found.structure.weights
        return given_evidence(found.record, found.table, twin, held_out=held_out, seed=seed, weights=weights)
    if found.table is None:
        return None
    usual = recipe_of(found.record, True, False, None, 0, {}, _sampler(found))
    wanted = (recipe or usual)._replace(sampler=usual.sampler)
    return own_evidence(found, wanted, held_out=held_out, seed=seed, joint=twin, before=before)


def _sampler(found: Found) -> str:
    """Of the twin behind a page: that of the discovery where it can be distilled, as a page needs it, else flow."""
    own = str(found.settings.get("sampler", "flow"))
    return own if own in _DISTILLED else "flow"


# A mean has no law to distil; whether a sampler of the user's own has one, nobody can tell.
_DISTILLED = ("flow", "gaussian")
