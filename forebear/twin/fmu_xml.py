"""What an FMU says of itself: modelDescription.xml of FMI 3.0 and 2.0, and how to build its sources."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree as Xml

from forebear.twin.fmu_variables import Levels, Variable, Variables, cleaned
from forebear.version import __version__

_TYPES = {
    "3.0": {"REAL": "Float64", "INTEGER": "Int64", "BOOLEAN": "Boolean", "ENUMERATION": "Enumeration"},
    "2.0": {"REAL": "Real", "INTEGER": "Integer", "BOOLEAN": "Boolean", "ENUMERATION": "Enumeration"},
}
_CAUSALITY = {"time": "independent", "fixed": "parameter", "tunable": "parameter"}
MISSING = "missing"
"""the item of an enumeration that stands for a missing cell, with the value -1"""


def model_description(
    variables: Variables, name: str, token: str, version: str, step: float, about: str, direct: bool
) -> bytes:
    """The description of a model with these variables.

    Arguments:
        name: of the model and of its binary.
        token: what an importer must hand back, so that description and binary belong together.
        direct: whether outputs depend on inputs at once; otherwise they do a step later.
    """
    three = version == "3.0"
    root = Xml.Element(
        "fmiModelDescription",
        {
            "fmiVersion": version,
            "modelName": name,
            "instantiationToken" if three else "guid": token,
            "description": _text(about),
            "generationTool": f"forebear {__version__}",
            "variableNamingConvention": "flat",
        },
    )
    state = (
        ("canGetAndSetFMUState", "canSerializeFMUState")
        if three
        else (
            "canGetAndSetFMUstate",
            "canSerializeFMUstate",
        )
    )
    can = {one: "true" for one in ("canHandleVariableCommunicationStepSize", *state)}
    interface = Xml.SubElement(root, "CoSimulation", {"modelIdentifier": name, **can})
    if not three:
        Xml.SubElement(Xml.SubElement(interface, "SourceFiles"), "File", {"name": "fmi2.c"})
    _units(root, variables)
    types = _enumerations(root, variables, three)
    Xml.SubElement(root, "DefaultExperiment", {"startTime": "0.0", "stepSize": repr(step)})
    _variables(root, variables, types, version)
    _structure(root, variables, three, direct)
    Xml.indent(root)
    return Xml.tostring(root, "utf-8", xml_declaration=True) + b"\n"


def build_description(name: str) -> bytes:
    """How FMI 3.0 tells importers to compile the sources."""
    root = Xml.Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    build = Xml.SubElement(root, "BuildConfiguration", {"modelIdentifier": name})
    sources = Xml.SubElement(build, "SourceFileSet", {"language": "C99"})
    Xml.SubElement(sources, "SourceFile", {"name": "fmi3.c"})
    Xml.indent(root)
    return Xml.tostring(root, "utf-8", xml_declaration=True) + b"\n"


def _text(text: str) -> str:
    return "".join(mark if mark.isprintable() else " " for mark in text)


def _units(root: Xml.Element, variables: Variables) -> None:
    units = dict.fromkeys(_text(one.unit) for one in variables.all if one.unit)
    if units:
        place = Xml.SubElement(root, "UnitDefinitions")
        for unit in units:
            Xml.SubElement(place, "Unit", {"name": unit})


def _enumerations(root: Xml.Element, variables: Variables, three: bool) -> Mapping[tuple[Levels, bool], str]:
    """A type for each list of labels; its name."""
    kinds = dict.fromkeys((one.levels, one.gaps) for one in variables.all if one.type == "ENUMERATION")
    if not kinds:
        return {}
    place = Xml.SubElement(root, "TypeDefinitions")
    names = {}
    for number, kind in enumerate(kinds, 1):
        names[kind] = f"labels {number}"
        attributes = {"name": names[kind]}
        if three:
            items = Xml.SubElement(place, "EnumerationType", attributes)
        else:
            items = Xml.SubElement(Xml.SubElement(place, "SimpleType", attributes), "Enumeration")
        levels, gaps = kind
        labels = cleaned([*map(str, levels), *([MISSING] if gaps else [])])
        codes = [*range(len(levels)), *([-1] if gaps else [])]
        for label, code in zip(labels, codes, strict=True):
            Xml.SubElement(items, "Item", {"name": label, "value": str(code)})
    return names


def _variables(
    root: Xml.Element, variables: Variables, types: Mapping[tuple[Levels, bool], str], version: str
) -> None:
    place = Xml.SubElement(root, "ModelVariables")
    names = cleaned([one.name for one in variables.all])
    for number, (name, one) in enumerate(zip(names, variables.all, strict=True)):
        about = {"name": name, "valueReference": str(number), "description": _text(one.about), **_kind(one, version)}
        own = _own(one, types)
        if version == "3.0":
            Xml.SubElement(place, _TYPES[version][one.type], {**about, **own})
        elif one.role != "time":
            variable = Xml.SubElement(place, "ScalarVariable", about)
            Xml.SubElement(variable, _TYPES[version][one.type], own)


def _kind(one: Variable, version: str) -> dict[str, str]:
    """Causality, and when it may change."""
    variability = one.role
    if one.role in ("time", "input"):
        variability = "continuous" if one.type == "REAL" else "discrete"
    elif one.role == "output":
        variability = "discrete"
    told = {"causality": _CAUSALITY.get(one.role, one.role), "variability": variability}
    initial = {"output": "calculated", "fixed": "exact", "tunable": "exact"}.get(one.role)
    return told if initial is None else {**told, "initial": initial}


def _own(one: Variable, types: Mapping[tuple[Levels, bool], str]) -> dict[str, str]:
    """What depends on the type: labels, unit, range, start."""
    told = {}
    if one.type == "ENUMERATION":
        told["declaredType"] = types[one.levels, one.gaps]
    if one.unit:
        told["unit"] = _text(one.unit)
    if one.range is not None and one.type == "REAL":
        told |= {"min": repr(float(one.range.low)), "max": repr(float(one.range.high))}
    if one.type == "INTEGER":
        told["min"] = "0"
    if one.role not in ("time", "output"):
        number = "false" if one.type == "BOOLEAN" else repr(one.start) if one.type == "REAL" else str(int(one.start))
        told["start"] = number
    return told


def _structure(root: Xml.Element, variables: Variables, three: bool, direct: bool) -> None:
    """Outputs, once as outputs and once as what is unknown at the start; FMI 2.0 counts them from one."""
    place = Xml.SubElement(root, "ModelStructure")
    own = [number for number, one in enumerate(variables.all) if one.role == "output"]
    # FMI 2.0 leaves the time out, which is number 0: the place of another in its list is its number here.
    later = {} if direct else {"dependencies": ""}
    if three:
        for word, extra in (("Output", later), ("InitialUnknown", {})):
            for number in own:
                Xml.SubElement(place, word, {"valueReference": str(number), **extra})
        return
    for word, extra in (("Outputs", later), ("InitialUnknowns", {})):
        group = Xml.SubElement(place, word)
        for number in own:
            Xml.SubElement(group, "Unknown", {"index": str(number), **extra})
