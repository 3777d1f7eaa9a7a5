"""The colours that the figures of experiments share with those of forebear."""

from forebear.plots.style import GONE as GONE
from forebear.plots.style import INK as INK
from forebear.plots.style import JUMP as JUMP
from forebear.plots.style import KEPT as KEPT
