"""The state of a training in a file: networks, optimisers, transitions. Plain arrays: reading them runs no code."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from forebear.errors import InputError
from forebear.storage.arrays import load_arrays, save_arrays

if TYPE_CHECKING:
    from forebear.control.sac import Course, SacSettings

_FILE = "sac.safetensors"
_BUFFER = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


def keep(model: Any, course: Course, place: Path, settings: SacSettings, seed: int) -> None:
    """Write all that `take_up` needs; a crash leaves the file before it, or this one."""
    buffer = model.replay_buffer
    rows = buffer.buffer_size if buffer.full else buffer.pos
    arrays = {name: getattr(buffer, name)[:rows] for name in _BUFFER}
    leaves = jax.tree.leaves((_states(model), course.best))
    arrays |= {f"leaf{number:04d}": np.asarray(leaf) for number, leaf in enumerate(leaves)}
    about = {
        "of": _identity(settings, seed, model),
        "timesteps": model.num_timesteps,
        "updates": model._n_updates,
        "position": buffer.pos,
        "full": buffer.full,
        "curve": course.curve,
        "seconds": course.seconds,
    }
    save_arrays(place / _FILE, arrays, about)


def take_up(model: Any, course: Course, place: Path, settings: SacSettings, seed: int) -> None:
    """Put a fresh model and its course where a kept training was; nothing happens where none was kept."""
    file = place / _FILE
    if not file.is_file():
        return
    arrays, about = load_arrays(file, "remove it and start again")
    if about["of"] != _identity(settings, seed, model):
        raise InputError(f"{file}: belongs to a training with other settings: remove it, or choose another folder")
    wanted = (_states(model), model.policy.actor_state.params)
    leaves, shape = jax.tree.flatten(wanted)
    found = [jnp.asarray(arrays[f"leaf{n:04d}"], jnp.asarray(leaf).dtype) for n, leaf in enumerate(leaves)]
    states, course.best = jax.tree.unflatten(shape, found)
    for name in _BUFFER:
        getattr(model.replay_buffer, name)[: len(arrays[name])] = arrays[name]
    # New episodes and new batches, and not those of the beginning once more; the keys of JAX are among the states.
    model.set_random_seed(seed + about["timesteps"])
    model.policy.actor_state, model.policy.qf_state, model.ent_coef_state, model.key, model.policy.key = states
    model.replay_buffer.pos, model.replay_buffer.full = about["position"], about["full"]
    model.num_timesteps, model._n_updates = about["timesteps"], about["updates"]
    course.curve, course.seconds = about["curve"], about["seconds"]


def _states(model: Any) -> tuple[Any, ...]:
    policy = model.policy
    return policy.actor_state, policy.qf_state, model.ent_coef_state, model.key, policy.key


def _identity(settings: SacSettings, seed: int, model: Any) -> dict[str, Any]:
    told = {**asdict(settings), "seed": seed, "environments": model.n_envs}
    return json.loads(json.dumps(told))
