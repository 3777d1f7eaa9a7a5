"""The colours that the figures of experiments share with those of forebear."""

from forebear.report.figures import GONE as GONE
from forebear.report.figures import INK as INK
from forebear.report.figures import JUMP as JUMP
from forebear.report.figures import KEPT as KEPT
