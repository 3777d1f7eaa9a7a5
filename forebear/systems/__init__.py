"""Simulators with a known graph and, where it exists, the exact conditional law."""

from forebear.systems.algebraic import algebraic as algebraic
from forebear.systems.heat import heat as heat
from forebear.systems.heat import heat_matrices as heat_matrices
from forebear.systems.kraichnan_orszag import kraichnan_orszag as kraichnan_orszag
from forebear.systems.lander import lander as lander
from forebear.systems.langevin import langevin as langevin
from forebear.systems.laws import Gaussian as Gaussian
from forebear.systems.laws import NormalPlusLaplace as NormalPlusLaplace
from forebear.systems.lorenz63 import lorenz63 as lorenz63
from forebear.systems.lorenz96 import lorenz96 as lorenz96
from forebear.systems.michaelis_menten import michaelis_menten as michaelis_menten
from forebear.systems.pendulum import pendulum as pendulum
from forebear.systems.pendulum import pendulum_episodes as pendulum_episodes
from forebear.systems.reacher import reacher as reacher
from forebear.systems.system import ExactLaw as ExactLaw
from forebear.systems.system import Oracle as Oracle
from forebear.systems.system import System as System
