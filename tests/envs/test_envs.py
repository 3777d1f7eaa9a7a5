"""Environments around a twin: the checkers of their libraries, memory, endings, resets, and rules of either kind."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp
from toys import toy_twin

import forebear as fb
from forebear.twin.twin import Twin

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.error import ResetNeeded  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402
from gymnasium.wrappers.vector import RecordEpisodeStatistics  # noqa: E402

from forebear.envs import TwinEnv, TwinVectorEnv  # noqa: E402

TURN = 2 * np.pi


def _raw(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"theta": np.cumsum(rng.normal(0, 0.3, rows)), "u": rng.uniform(-2, 2, rows)})


def _lagged(frame: pd.DataFrame) -> fb.Lagged:
    return fb.lagged(frame, "theta", "u", lags=2, periodic={"theta": TURN})


MADE = _lagged(_raw())
STARTS = MADE.table.head(40)


@pytest.fixture(scope="module")
def twin() -> Twin:
    return toy_twin(MADE.table, {"d_theta": ("theta_0", "theta_2", "u_0", "u_1")}, MADE.periodic)


@pytest.fixture(scope="module")
def walker() -> Twin:
    rng = np.random.default_rng(0)
    return toy_twin(pd.DataFrame(rng.normal(size=(500, 3)), columns=["x", "u", "dx"]), {"dx": ("x", "u")})


def cost(state: Any, action: Any, after: Any) -> Any:
    return -(after[0] ** 2 + 0.001 * action[0] ** 2)


def plain_cost(state: Any, action: Any, after: Any) -> float:
    return float(cost(state, action, np.asarray(after)))


def waves(history: fb.History) -> Any:
    angle = history.states[:, 0]
    return jnp.concatenate([jnp.cos(angle), jnp.sin(angle), history.actions[:, 0]])


def _checked(env: Any) -> None:
    """Gymnasium's own checker; what it says of unbounded spaces and missing specs is advice."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(infinity|symmetric and normalized|not having a spec)")
        check_env(env)


def test_the_checkers_are_content(twin: Twin) -> None:
    env = TwinEnv(twin, STARTS, cost, observe=waves, max_steps=50)
    assert env.compiled and env.observation_space.shape == (8,)
    _checked(env)
    sb3 = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(symmetric|normalized)")
        sb3.check_env(env)


def test_plain_rules_satisfy_the_checker_too(walker: Twin) -> None:
    env = TwinEnv(walker, {"x": [0.0, 1.0]}, plain_cost, terminated=lambda s: bool(s[0] > 50), max_steps=50)
    assert not env.compiled
    _checked(env)


def test_labels_as_actions() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "gear": rng.choice(["high", "low"], 200)})
    frame["dx"] = rng.normal(size=200)
    env = TwinEnv(toy_twin(frame, {"dx": ("x", "gear")}), {"x": [0.0]}, cost, max_steps=9)
    assert env.action_space == gymnasium.spaces.Discrete(2)
    _checked(env)
    many = TwinVectorEnv(toy_twin(frame, {"dx": ("x", "gear")}), 3, {"x": [0.0]}, cost)
    many.reset(seed=0)
    assert many.step(many.action_space.sample())[0].shape == (3, 1)


def test_a_step_sees_the_row_that_lagged_makes(twin: Twin) -> None:
    """The actions of a history are those taken at its states: the last one is not the one before it."""
    env = TwinEnv(twin, _raw().tail(3), cost)
    _, info = env.reset(seed=3)
    past = _raw().tail(3)
    states = [*past["theta"].iloc[:2], info["state"][0]]
    actions = [*past["u"].iloc[:2]]
    for _ in range(5):
        action = env.action_space.sample()
        history = np.array(env._moments)[0]
        states_now, actions_now = [*states], [*actions, float(action[0])]
        _, _, _, _, info = env.step(action)
        states.append(info["state"][0])
        actions.append(float(action[0]))
        frame = pd.DataFrame({"theta": [*states_now, 0.0], "u": [*actions_now, 0.0]})
        row = _lagged(frame).table.iloc[-1]
        wrapped = np.mod(row[["theta_0", "theta_1", "theta_2"]].to_numpy(float) + np.pi, TURN) - np.pi
        assert history[:, 0] == pytest.approx(wrapped, abs=1e-5)
        assert history[1:, 1] == pytest.approx(row[["u_1", "u_2"]].to_numpy(float), abs=1e-6)
        assert row["u_0"] == pytest.approx(action[0])


def test_the_environment_has_the_law_of_the_rollout(walker: Twin) -> None:
    many = TwinVectorEnv(walker, 2_000, {"x": [0.5]}, cost)
    many.reset(seed=0)
    for _ in range(3):
        _, _, _, _, info = many.step(np.full((2_000, 1), 0.3))
    rolled = walker.rollout({"x": [0.5]}, 3, actions=np.full(3, 0.3), n=2_000).states[-1, :, 0]
    told: Any = ks_2samp(info["state"][:, 0], rolled)
    assert told.pvalue > 1e-4


def test_seeds_decide_everything(twin: Twin) -> None:
    env = TwinEnv(twin, STARTS, cost)
    many = TwinVectorEnv(twin, 4, STARTS, cost)

    def play(one: Any, seed: int | None) -> list[np.ndarray]:
        seen = [one.reset(seed=seed)[0]]
        action = np.zeros(one.action_space.shape)
        return seen + [one.step(action)[0] for _ in range(4)]

    for one in (env, many):
        first, more, again, other = play(one, 5), play(one, None), play(one, 5), play(one, 6)
        assert np.array_equal(first, again) and not np.array_equal(first, other) and not np.array_equal(first, more)
    assert not np.array_equal(*play(many, 5)[1][:2])


def test_actions_are_clipped_and_checked(walker: Twin) -> None:
    env = TwinEnv(walker, {"x": [0.0]}, lambda s, a, n: a[0], bounds={"u": (-1.5, 2.5)})
    env.reset(seed=0)
    assert env.step(np.array([9.0]))[1] == 2.5 and env.step([-9.0])[1] == -1.5
    with pytest.raises(fb.InputError, match="an action must hold 1 numbers; got shape"):
        env.step(np.zeros(3))
    with pytest.raises(ResetNeeded):
        TwinEnv(walker, {"x": [0.0]}, cost).step([0.0])


def test_episodes_end(walker: Twin) -> None:
    env = TwinEnv(walker, {"x": [0.0]}, cost, max_steps=3, terminated=lambda s: s[0] > 1e6)
    env.reset(seed=0)
    assert [env.step([0.0])[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]
    env = TwinEnv(walker, {"x": [5e6]}, cost, terminated=lambda s: s[0] > 1e6)
    env.reset(seed=0)
    _, _, terminated, truncated, info = env.step([0.0])
    assert terminated is True and truncated is False
    assert info["outside"] == pytest.approx(float(walker.outside({"x": [5e6], "u": [0.0]})[0]), rel=1e-4)
    env = TwinEnv(walker, {"x": [50.0]}, cost, outside_limit=10.0)
    env.reset(seed=0)
    assert env.step([0.0])[3] is True


def _modes(twin: Twin, mode: AutoresetMode, **options: Any) -> tuple[TwinVectorEnv, SyncVectorEnv]:
    start = {"x": [7.0]}
    ours = TwinVectorEnv(twin, 3, start, cost, max_steps=2, autoreset_mode=mode, **options)
    theirs = SyncVectorEnv([lambda: TwinEnv(twin, start, cost, max_steps=2)] * 3, autoreset_mode=mode)
    return ours, theirs


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("compiled", [True, False])
def test_resets_are_those_of_gymnasium(walker: Twin, mode: AutoresetMode, compiled: bool) -> None:
    ours, theirs = _modes(walker, mode)
    if not compiled:
        ours = TwinVectorEnv(walker, 3, {"x": [7.0]}, plain_cost, max_steps=2, autoreset_mode=mode)
    assert ours.compiled == compiled and ours.metadata["autoreset_mode"] == mode
    first, info = ours.reset(seed=0)
    wanted, their_info = theirs.reset(seed=0)
    assert (first == wanted).all() and set(info) == set(their_info)
    for _ in range(7):
        action = np.zeros((3, 1), np.float32)
        a, b = ours.step(action), theirs.step(action)
        for mine, other in zip(a[:4], b[:4], strict=True):
            assert mine.shape == other.shape and mine.dtype == other.dtype
        assert (a[3] == b[3]).all() and (a[2] == b[2]).all()
        # A step that begins an episode shows its start; every other one a draw.
        assert ((a[0] == 7.0) == (b[0] == 7.0)).all() and ((a[1] == 0) == (b[1] == 0)).all()
        assert set(a[4]) == set(b[4])
        if mode == AutoresetMode.SAME_STEP and a[3].any():
            assert (a[4]["_final_obs"] == b[4]["_final_obs"]).all() and a[4]["final_obs"].dtype == object
            assert a[4]["final_obs"][0].shape == (1,) and a[4]["final_obs"][0][0] != 7.0
            assert a[4]["final_info"]["state"][0] == a[4]["final_obs"][0]
            assert set(a[4]["final_info"]) == set(b[4]["final_info"])


def test_resets_by_hand(walker: Twin) -> None:
    envs = TwinVectorEnv(walker, 3, {"x": [7.0]}, cost, max_steps=2, autoreset_mode=AutoresetMode.DISABLED)
    envs.reset(seed=0)
    envs.step(np.zeros((3, 1)))
    only = np.array([False, True, False])
    before = np.array(envs.reset(options={"reset_mask": only})[0])
    assert (before[:, 0] == 7.0).tolist() == only.tolist()
    assert envs.step(np.zeros((3, 1)))[3].tolist() == [True, False, True]
    with pytest.raises(ResetNeeded, match="reset_mask"):
        envs.step(np.zeros((3, 1)))
    envs.reset(options={"reset_mask": ~only})
    assert envs.step(np.zeros((3, 1)))[3].tolist() == [False, True, False]
    with pytest.raises(fb.InputError, match="must be 3 booleans"):
        envs.reset(options={"reset_mask": [1, 0]})


def test_every_start_of_a_function_is_used_once(walker: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebear.envs.vector._POOL", 2)
    drawn = []

    def start(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
        drawn.append(rng.uniform(100, 200, count).astype(np.float32))
        return {"x": drawn[-1]}

    envs = TwinVectorEnv(walker, 4, start, cost, max_steps=1, outside_limit=None)
    seen = [envs.reset(seed=0)[0]]
    for number in range(11):
        observation = envs.step(np.zeros((4, 1)))[0]
        if number % 2:
            seen.append(observation)
    used = np.concatenate(seen)[:, 0]
    assert len(np.unique(used)) == len(used) and np.isin(used, np.concatenate(drawn)).all()
    with pytest.raises(fb.InputError, match=r"start\(rng, 64\) must return 64 starts; it returned 1"):
        TwinEnv(walker, lambda rng, count: {"x": [0.0]}, cost).reset()


def test_steps_compile_once(walker: Twin) -> None:
    traced = []

    def counted(state: Any, action: Any, after: Any) -> Any:
        traced.append(1)
        return after[0]

    env: Any = TwinEnv(walker, {"x": [0.0]}, counted)
    many: Any = TwinVectorEnv(walker, 2, {"x": [0.0]}, counted, max_steps=2)
    for one in (env, many):
        one.reset(seed=0)
        one.step(np.zeros(one.action_space.shape))
        one.step(np.zeros(one.action_space.shape))
        known = len(traced)
        for seed in range(3):
            one.reset(seed=seed)
            for _ in range(4):
                one.step(np.zeros(one.action_space.shape))
        assert len(traced) == known


@pytest.mark.parametrize("compiled", [True, False])
def test_user_code_keeps_the_rest_of_the_dynamics(walker: Twin, compiled: bool) -> None:
    """The twin gives a speed; the place, which it has never heard of, follows."""
    both = fb.Dynamics(state=["x", "place"], action="u")

    def traced(state: Any, action: Any, targets: Any, key: Any) -> Any:
        return jnp.array([targets[0], state[1] + 0.1 * targets[0]])

    def plain(state: Any, action: Any, targets: Any, rng: Any) -> Any:
        assert isinstance(rng, np.random.Generator)
        return [float(targets[0]), float(state[1]) + 0.1 * float(targets[0])]

    start = {"x": [0.0], "place": [2.0]}
    options: dict[str, Any] = {"dynamics": both, "step_rest": traced if compiled else plain, "max_steps": 5}
    env = TwinEnv(walker, start, cost, **options)
    assert env.compiled == compiled
    _checked(env)
    place = float(env.reset(seed=0)[0][1])
    for _ in range(3):
        observation, *_ = env.step([0.5])
        assert observation[1] == pytest.approx(place + 0.1 * observation[0], abs=1e-5)
        place = float(observation[1])
    many = TwinVectorEnv(walker, 3, start, cost, **options)
    many.reset(seed=0)
    observation = many.step(np.zeros((3, 1)))[0]
    assert observation[:, 1] == pytest.approx(2.0 + 0.1 * observation[:, 0], abs=1e-5)


def test_wrappers_of_gymnasium_work(walker: Twin) -> None:
    envs = RecordEpisodeStatistics(TwinVectorEnv(walker, 4, {"x": [1.0]}, lambda s, a, n: 1.0, max_steps=3))
    envs.reset(seed=0)
    ended = [envs.step(envs.action_space.sample())[4].get("episode") for _ in range(3)][-1]
    assert ended is not None and ended["r"].tolist() == [3.0] * 4 and ended["l"].tolist() == [3] * 4


def test_stable_baselines_trains_on_many(twin: Twin) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    made = TwinVectorEnv(twin, 4, STARTS, cost, observe=waves, max_steps=5, autoreset_mode=AutoresetMode.SAME_STEP)
    envs: Any = made.as_sb3()  # its types allow for dictionaries
    envs.seed(3)
    first = envs.reset()
    envs.seed(3)
    assert (envs.reset() == first).all()
    infos: list[dict[str, Any]] = []
    for _ in range(5):
        observation, reward, done, infos = envs.step(np.zeros((4, 1)))
    assert done.all() and reward.dtype == np.float32 and observation.shape == (4, 8)
    assert infos[0]["TimeLimit.truncated"] and (infos[0]["terminal_observation"] != observation[0]).any()
    model = sb3.PPO("MlpPolicy", envs, n_steps=16, batch_size=32, n_epochs=1, seed=0, device="cpu")
    model.learn(128)
    assert model.num_timesteps == 128
    with pytest.raises(fb.InputError, match="SAME_STEP"):
        TwinVectorEnv(twin, 4, STARTS, cost).as_sb3()


def test_without_gymnasium_one_line_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['gymnasium'] = None\nimport forebear as fb\n"
        "assert not {'jax', 'gymnasium.core'} & set(sys.modules)\n"
        "try:\n    fb.envs\nexcept ImportError as error:\n    print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == "forebear.envs needs gymnasium: run `pip install 'forebear[control]'`\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward": None}, "reward must be a function; got None"),
        ({"terminated": 3}, "terminated must be a function; got 3"),
        ({"reward": lambda s, a, n: jnp.zeros(2)}, "reward must return one number for one environment; it returned"),
        ({"observe": lambda h: jnp.zeros((2, 2))}, "observe must return a vector for one environment"),
        ({"max_steps": 0}, "max_steps must be a whole number of at least 1; got 0"),
        ({"outside_limit": -1.0}, "outside_limit must be a number of at least 0, or None; got -1.0"),
        ({"bounds": {"v": (0, 1)}}, "bounds: no action 'v'. Known: 'u'."),
        ({"bounds": {"u": (1, 0)}}, "bounds of 'u' must be two finite numbers, the lower first; got (1, 0)"),
        ({"start": {"y": [0.0]}}, "start: no column 'x'"),
        ({"dynamics": fb.Dynamics(["x", "v"], "u")}, "the twin does not move the state 'v'"),
        ({"observation_space": gymnasium.spaces.Discrete(3)}, "observation_space must be a Box of shape (1,)"),
        ({"step_rest": lambda s, a, t, k: jnp.zeros(3)}, "step_rest must return one number for one environment"),
    ],
)
def test_bad_environments_are_told(walker: Twin, options: dict[str, Any], message: str) -> None:
    arguments = {"start": {"x": [0.0]}, "reward": cost} | options
    with pytest.raises(fb.InputError) as error:
        TwinEnv(walker, **arguments)
    assert message in str(error.value)


def test_bad_vectors_are_told(walker: Twin) -> None:
    with pytest.raises(fb.InputError, match="num_envs must be a whole number of at least 1; got 0"):
        TwinVectorEnv(walker, 0, {"x": [0.0]}, cost)
    with pytest.raises(fb.InputError, match="autoreset_mode must be one of NEXT_STEP, SAME_STEP, DISABLED; got"):
        TwinVectorEnv(walker, 2, {"x": [0.0]}, cost, autoreset_mode="now")  # type: ignore[arg-type]
    envs = TwinVectorEnv(walker, 2, {"x": [0.0]}, cost)
    with pytest.raises(ResetNeeded):
        envs.step(np.zeros((2, 1)))
    envs.reset()
    with pytest.raises(fb.InputError, match=r"actions must have shape \(2, 1\); got \(3, 1\)"):
        envs.step(np.zeros((3, 1)))
