"""forebear: which few inputs shape the whole conditional law of each quantity in a table.

Names are imported when they are first used, so that `import forebear` takes no time and works without JAX being
loaded.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from forebear.version import __version__ as __version__

if TYPE_CHECKING:
    from forebear import assimilation as assimilation
    from forebear import control as control
    from forebear import envs as envs
    from forebear import sklearn as sklearn
    from forebear import systems as systems
    from forebear.api.check import check as check
    from forebear.api.discover import discover as discover
    from forebear.api.found import Found as Found
    from forebear.api.found import load as load
    from forebear.assimilation.assimilate import assimilate as assimilate
    from forebear.assimilation.result import Assimilated as Assimilated
    from forebear.data.checked import Checked as Checked
    from forebear.data.lagged import Lagged as Lagged
    from forebear.data.lagged import lagged as lagged
    from forebear.discovery.certificate import Certificate as Certificate
    from forebear.discovery.choose import Certified as Certified
    from forebear.discovery.choose import LargestJump as LargestJump
    from forebear.discovery.choose import Rule as Rule
    from forebear.discovery.path import Path as Path
    from forebear.errors import InputError as InputError
    from forebear.flow.sampler import Law as Law
    from forebear.flow.sampler import Sampler as Sampler
    from forebear.flow.samplers import FlowSampler as FlowSampler
    from forebear.flow.samplers import GaussianSampler as GaussianSampler
    from forebear.flow.samplers import MeanSampler as MeanSampler
    from forebear.flow.settings import FlowSettings as FlowSettings
    from forebear.kernel.profiles import Kernel as Kernel
    from forebear.kernel.settings import KernelSettings as KernelSettings
    from forebear.rare.result import Stressed as Stressed
    from forebear.rare.stress import stress as stress
    from forebear.run.events import Note as Note
    from forebear.run.events import Progress as Progress
    from forebear.twin.dynamics import Dynamics as Dynamics
    from forebear.twin.history import History as History
    from forebear.twin.load import load_twin as load_twin
    from forebear.twin.rollout import Rollout as Rollout
    from forebear.twin.settings import TwinSettings as TwinSettings
    from forebear.twin.twin import Twin as Twin
    from forebear.twin.versions import roll_back as roll_back
    from forebear.twin.versions import twin_versions as twin_versions

_HOMES = {
    "InputError": "forebear.errors",
    "Lagged": "forebear.data.lagged",
    "lagged": "forebear.data.lagged",
    "Certificate": "forebear.discovery.certificate",
    "Certified": "forebear.discovery.choose",
    "LargestJump": "forebear.discovery.choose",
    "Rule": "forebear.discovery.choose",
    "Checked": "forebear.data.checked",
    "check": "forebear.api.check",
    "discover": "forebear.api.discover",
    "Found": "forebear.api.found",
    "load": "forebear.api.found",
    "assimilate": "forebear.assimilation.assimilate",
    "Assimilated": "forebear.assimilation.result",
    "Path": "forebear.discovery.path",
    "Law": "forebear.flow.sampler",
    "Sampler": "forebear.flow.sampler",
    "FlowSampler": "forebear.flow.samplers",
    "GaussianSampler": "forebear.flow.samplers",
    "MeanSampler": "forebear.flow.samplers",
    "FlowSettings": "forebear.flow.settings",
    "Kernel": "forebear.kernel.profiles",
    "KernelSettings": "forebear.kernel.settings",
    "Stressed": "forebear.rare.result",
    "stress": "forebear.rare.stress",
    "Note": "forebear.run.events",
    "Progress": "forebear.run.events",
    "Dynamics": "forebear.twin.dynamics",
    "History": "forebear.twin.history",
    "Rollout": "forebear.twin.rollout",
    "load_twin": "forebear.twin.load",
    "Twin": "forebear.twin.twin",
    "TwinSettings": "forebear.twin.settings",
    "roll_back": "forebear.twin.versions",
    "twin_versions": "forebear.twin.versions",
}

__all__ = [
    "Assimilated",
    "Certificate",
    "Certified",
    "Checked",
    "Dynamics",
    "FlowSampler",
    "FlowSettings",
    "Found",
    "GaussianSampler",
    "History",
    "InputError",
    "Kernel",
    "KernelSettings",
    "Lagged",
    "LargestJump",
    "Law",
    "MeanSampler",
    "Note",
    "Path",
    "Progress",
    "Rollout",
    "Rule",
    "Sampler",
    "Stressed",
    "Twin",
    "TwinSettings",
    "assimilate",
    "assimilation",
    "check",
    "control",
    "discover",
    "envs",
    "lagged",
    "load",
    "load_twin",
    "roll_back",
    "sklearn",
    "stress",
    "systems",
    "twin_versions",
]


def __getattr__(name: str) -> object:
    if name in ("assimilation", "control", "envs", "sklearn", "systems"):
        return _import_module(f"forebear.{name}")
    if name in _HOMES:
        value = getattr(_import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'forebear' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
