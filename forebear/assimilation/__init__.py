"""States of a partly observed system, from noisy observations and a twin that says how states move."""

from forebear.assimilation.assimilate import assimilate as assimilate
from forebear.assimilation.localise import ring as ring
from forebear.assimilation.result import Assimilated as Assimilated
from forebear.assimilation.result import States as States
from forebear.assimilation.transition import Transition as Transition

__all__ = ["Assimilated", "States", "Transition", "assimilate", "ring"]
