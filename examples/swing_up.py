"""Swing a pendulum up with a twin learned from random motion; takes a minute and a half on two CPU cores."""

import jax.numpy as jnp
import numpy as np

import forebear as fb

# What was recorded: angle and torque, every 0.05 s, in 100 episodes of random torques. Upright is 0.
raw = fb.systems.pendulum_episodes(episodes=100)
raw["speed"] = raw.groupby("episode")["theta"].diff() / 0.05
lags = fb.lagged(
    raw.dropna(), state=["theta", "speed"], action="u", lags=0, episode="episode", periodic={"theta": 2 * np.pi}
)

# Which inputs shape the next change of angle and speed, and a fast sampler of it.
found = fb.discover(lags.table, lags.targets, candidates=lags.candidates, periodic=lags.periodic)
print(found.summary())
twin = found.twin().distil()


# What is wanted: upright, with little torque. The torque is too weak to lift the pendulum at once.
def cost(state, action):
    return 1 - jnp.cos(state[0]) + 0.001 * action[0] ** 2


controller = fb.control.mpc(twin, cost, {"u": (-2, 2)}, horizon=20, scenarios=16, iterations=20)


# The pendulum itself, which the controller has never seen; its gravity is shaken by 30% at each step.
def pendulum(state, action, noise):
    theta, speed = state
    acceleration = 14.715 * (1 + 0.3 * noise[0]) * jnp.sin(theta) + 3 * action[0]
    speed = jnp.clip(speed + 0.05 * acceleration, -8, 8)
    return jnp.array([theta + 0.05 * speed, speed])


hanging = {"theta": np.pi + np.array([-0.1, -0.03, 0.03, 0.1]), "speed": np.zeros(4)}
told = controller.simulate(hanging, 100, world=pendulum, noise=1)
height = np.cos(told.states[:, :, 0])
for second in range(0, 6):
    print(f"after {second} s, height of each of the four: {np.round(height[20 * second], 2)}")
