"""A twin as an FMU, which simulators of many makes can load: FMI 3.0 or 2.0, co-simulation, its sources inside."""

from __future__ import annotations

import hashlib
import io
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from forebear.errors import InputError, check_fields, one_of, positive
from forebear.storage.files import write_bytes
from forebear.twin.dynamics import Dynamics, Plan
from forebear.twin.fmu_variables import Variables, plan_of, start_places, variables_of
from forebear.twin.fmu_xml import build_description, model_description
from forebear.twin.plain_c import PARTS, c_source, identifier, quoted, table

if TYPE_CHECKING:
    from forebear.twin.twin import Twin

VERSIONS = ("3.0", "2.0")
_CHANGES = {"time": "NEVER", "output": "NEVER", "fixed": "EARLY", "tunable": "ALWAYS", "input": "ALWAYS"}
_COMPILERS = ("cc", "gcc", "clang")
# The order of operations is that of the source: results are the same with every compiler that keeps to the standard.
_FLAGS = ("-std=c99", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden")


@final
@dataclass(frozen=True)
class FmuExporter:
    """Writes a one-step FMU, which draws at each step given its inputs, or a rollout, which holds a state."""

    fmi: str = "3.0"
    """version of the standard: 3.0 or 2.0, as a string"""
    step: float = 1.0
    """time that one step of a rollout takes, in the unit of the simulation; a parameter of the FMU too"""
    rollout: bool | None = None
    """whether it moves through time; None: it does when the names of the twin's columns say how"""
    dynamics: Dynamics | None = None
    """what the columns mean, where their names do not say it"""
    binary: bool = True
    """compile a binary for this machine; without one the FMU holds sources alone, and many importers compile them"""

    ending = ".fmu"
    needs = None

    def __post_init__(self) -> None:
        check_fields(self, {"fmi": one_of(*VERSIONS), "step": positive()}, word="")

    def export(self, twin: Twin, file: Path) -> None:
        """Write the FMU of a distilled twin, or of the student of another."""
        plan = plan_of(twin, self.rollout, self.dynamics)
        compiler = find_compiler(str(file)) if self.binary else ""
        twin = twin.student
        variables = variables_of(twin, plan, self.step)
        name = identifier(file.stem)
        sources = {"law.c": c_source(twin, "law"), "model.h": _model(twin, plan, variables)}
        for part in ("fmu.c", f"fmi{self.fmi[0]}.c"):
            sources[part] = (PARTS / part).read_text(encoding="utf-8")
        token = _token(sources)
        sources["model.h"] += f"#define MODEL_NAME {quoted(name)}\n#define MODEL_TOKEN {quoted(token)}\n"
        about = _about(twin, plan)
        files = {f"sources/{one}": text.encode() for one, text in sources.items()}
        files["modelDescription.xml"] = model_description(
            variables, name, token, self.fmi, self.step, about, direct=plan is None
        )
        if self.fmi == "3.0":
            files["sources/buildDescription.xml"] = build_description(name)
        if self.binary:
            files[_place(self.fmi, name)] = compiled(sources, f"fmi{self.fmi[0]}.c", compiler, str(file))
        write_bytes(file, _zipped(files))


def _about(twin: Twin, plan: Plan | None) -> str:
    if plan is None:
        return f"Digital twin of {', '.join(twin.targets)}: a draw at each step"
    return f"Digital twin that moves {', '.join(plan.state)}"


def _token(sources: Mapping[str, str]) -> str:
    return "{" + hashlib.sha256("\n".join(sources.values()).encode()).hexdigest()[:32] + "}"


def _model(twin: Twin, plan: Plan | None, variables: Variables) -> str:
    """model.h: numbers of variables, their types and start values, and how the twin moves."""
    count, starts = len(variables.all), variables.places["STARTS"]
    sizes = {"VARIABLES": count, "STARTS_COUNT": count - starts, "INPUTS_SEEN": "LAW_INPUTS"}
    sizes |= {"TARGETS_DRAWN": "LAW_TARGETS", "LAGS": 0, "MOMENT": 1, "STATES": 1}
    if plan is not None:
        sizes |= {"LAGS": plan.lags, "MOMENT": len(plan.variables), "STATES": len(plan.state)}
    groups = {**variables.places, **sizes}
    lines = [
        "/* What differs between twins; see fmu.c. */",
        f"#define ROLLOUT {int(plan is not None)}",
        "#define MODEL_PUSH law_push",
        "#define MODEL_OUTSIDE law_outside",
        "#define MODEL_LATENTS law_latents",
        "enum { " + ", ".join(f"{word} = {number}" for word, number in groups.items()) + " };",
        "enum { NONE, REAL, INTEGER, BOOLEAN, ENUMERATION };",
        "enum { NEVER, EARLY, ALWAYS };",
        f"static const int types[] = {{{', '.join(one.type for one in variables.all)}}};",
        f"static const int changes[] = {{{', '.join(_CHANGES[one.role] for one in variables.all)}}};",
        table("double", "start_values", [one.start for one in variables.all]),
    ]
    return "\n".join([*lines, *([] if plan is None else _movement(plan))]) + "\n"


def _movement(plan: Plan) -> list[str]:
    width = len(plan.variables)
    periods, begins = np.array(plan.turns, float).reshape(-1, 2).T
    return [
        table("int", "input_places", [lag * width + place for lag, place in plan.places]),
        table("int", "start_places", [lag * width + place for lag, place in start_places(plan)]),
        table("int", "movers", plan.movers),
        table("int", "added", plan.added),
        table("double", "periods", periods),
        table("double", "turn_begins", begins),
    ]


def _place(version: str, name: str) -> str:
    """Where importers look for the binary of this platform."""
    system = {"linux": "linux", "darwin": "darwin", "win32": "windows"}.get(sys.platform, sys.platform)
    ending = {"darwin": ".dylib", "windows": ".dll"}.get(system, ".so")
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64", "i386": "x86", "i686": "x86"}.get(machine, machine)
    if version == "3.0":
        return f"binaries/{machine}-{system}/{name}{ending}"
    bits = "64" if sys.maxsize > 2**32 else "32"
    return f"binaries/{'win' if system == 'windows' else system}{bits}/{name}{ending}"


def find_compiler(what: str) -> str:
    """The one that the variable CC names, or one that is there."""
    named = os.environ.get("CC")
    compiler = next(filter(None, map(shutil.which, [named] if named else _COMPILERS)), None)
    if compiler is None:
        asked = f"CC={named} is not there" if named else "there is no C compiler (cc, gcc or clang)"
        raise InputError(f"{what}: {asked}: install one, or export sources alone with binary=False (--no-binary)")
    return compiler


def compiled(sources: Mapping[str, str], main: str, compiler: str, what: str) -> bytes:
    """The shared library that the compiler makes of the sources, of which `main` includes the others."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        command = [compiler, *_FLAGS, "-o", "library", main, "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[:200])
            raise InputError(
                f"{what}: the C compiler {compiler} failed ({first}): name another in the variable CC, or export "
                "sources alone with binary=False (--no-binary)"
            )
        return (Path(folder) / "library").read_bytes()


def _zipped(files: Mapping[str, bytes]) -> bytes:
    """The same files give the same bytes: no times, and always in one order."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files, key=lambda one: (one != "modelDescription.xml", one)):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, files[name])
    return stream.getvalue()
