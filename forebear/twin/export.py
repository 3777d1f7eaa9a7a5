"""Twins as files for other programs: the ending of a file's name says which exporter writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from forebear.errors import InputError, near_miss
from forebear.storage.files import check_output
from forebear.twin.fmu import FmuExporter
from forebear.twin.onnx_graph import OnnxExporter, write_graph
from forebear.twin.plain_c import CExporter

if TYPE_CHECKING:
    from forebear.twin.twin import Twin


class Exporter(Protocol):
    """Writes twins in one format. What it imports beyond forebear it imports in `export`."""

    @property
    def ending(self) -> str:
        """Of the names of its files, such as ".onnx"."""
        ...

    @property
    def needs(self) -> str | None:
        """The extra of forebear that brings what it imports; None where nothing more is needed."""
        ...

    def export(self, twin: Twin, file: Path) -> None:
        """Write the file whole or not at all; refuse a twin that the format cannot hold, in one line.

        A format of one pass through a network writes `twin.student`.
        """
        ...


EXPORTERS: dict[str, Exporter] = {}
"""by ending"""


def register(exporter: Exporter) -> None:
    """Let `twin.export` write files with this ending, here and in every program that imports the module of yours.

    >>> register(OnnxExporter())
    >>> sorted(EXPORTERS)
    ['.c', '.fmu', '.onnx']
    """
    EXPORTERS[exporter.ending] = exporter


register(OnnxExporter())
register(CExporter())
register(FmuExporter())


def export(twin: Twin, file: str | Path, **options: Any) -> None:
    """Write a twin in the format that the file's ending names; its exporter may have options, as fields."""
    place = check_output(file, tuple(EXPORTERS))
    exporter = _with_options(EXPORTERS[place.suffix.lower()], options)
    try:
        exporter.export(twin, place)
    except ModuleNotFoundError as missing:
        if exporter.needs is None:
            raise
        told = f"{file}: this format needs the package {missing.name}"
        raise InputError(f"{told}: run `pip install 'forebear[{exporter.needs}]'`") from None


def _with_options(exporter: Exporter, options: Mapping[str, Any]) -> Exporter:
    """The exporter with these fields.

    >>> _with_options(CExporter(), {"fmi": "2.0"})
    Traceback (most recent call last):
    forebear.errors.InputError: 'fmi' is not an option of .c files, which have none
    """
    known = [field.name for field in fields(exporter)] if is_dataclass(exporter) else []
    for name in options:
        if name not in known:
            told = near_miss(name, known) if known else ""
            which = f": {told}" if known else ", which have none"
            raise InputError(f"'{name}' is not an option of {exporter.ending} files{which}")
    return cast(Exporter, replace(cast(Any, exporter), **options)) if options else exporter


def export_onnx(twin: Twin, file: str | Path) -> None:
    """Write a distilled twin to a file of any name, which is an ONNX graph."""
    try:
        import onnx
    except ModuleNotFoundError:
        raise InputError("export_onnx needs the package onnx: run `pip install 'forebear[onnx]'`") from None
    write_graph(onnx, twin, Path(file))
