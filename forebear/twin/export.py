"""Twins as files for other programs: the ending of a file's name says which exporter writes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from forebear.errors import InputError
from forebear.storage.files import check_output
from forebear.twin.onnx_graph import OnnxExporter

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
        """Write the file whole or not at all; refuse a twin that the format cannot hold, in one line."""
        ...


EXPORTERS: dict[str, Exporter] = {}
"""by ending"""


def register(exporter: Exporter) -> None:
    """Let `twin.export` write files with this ending, here and in every program that imports the module of yours.

    >>> register(OnnxExporter())
    >>> sorted(EXPORTERS)
    ['.onnx']
    """
    EXPORTERS[exporter.ending] = exporter


register(OnnxExporter())


def export(twin: Twin, file: str | Path) -> None:
    """Write a twin in the format that the file's ending names."""
    place = check_output(file, tuple(EXPORTERS))
    exporter = EXPORTERS[place.suffix.lower()]
    try:
        exporter.export(twin, place)
    except ModuleNotFoundError as missing:
        if exporter.needs is None:
            raise
        told = f"{file}: this format needs the package {missing.name}"
        raise InputError(f"{told}: run `pip install 'forebear[{exporter.needs}]'`") from None


def export_onnx(twin: Twin, file: str | Path) -> None:
    """As `export` to a file of any name, which is an ONNX graph."""
    try:
        OnnxExporter().export(twin, Path(file))
    except ModuleNotFoundError:
        raise InputError("export_onnx needs the package onnx: run `pip install 'forebear[onnx]'`") from None
