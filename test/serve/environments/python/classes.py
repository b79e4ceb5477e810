"""Plays our classes for Gymnasium and Stable-Baselines3 next to Gymnasium's own environments. Prints errors as JSON."""

import json
import sys
import tempfile
import warnings

# PyTorch and the loggers of Stable-Baselines3 leave folders behind.
scratch = tempfile.TemporaryDirectory()
tempfile.tempdir = scratch.name

import gymnasium
import numpy as np
import torch
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env as check_for_sb3
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

task = json.load(sys.stdin)
sys.path.insert(0, task["classes"])
from policyloop_gymnasium import PolicyloopEnv, PolicyloopVectorEnv  # noqa: E402
from policyloop_sb3 import PolicyloopVecEnv  # noqa: E402

SHORT = {"max_episode_steps": 25}
N = 3


def ours(kind, id, *sizes, **options):
    return kind(id, *sizes, command=task["command"], **options)


def theirs(id, **options):
    return [lambda: gymnasium.make(id, **options)] * N


def same(a, b):
    np.testing.assert_array_equal(a, b)
    assert a.dtype == b.dtype, (a.dtype, b.dtype)


def checked(id):
    for check in (check_env, check_for_sb3):
        env = ours(PolicyloopEnv, id)
        check(env)
        env.close()
        env.close()


def vector_env(id, **options):
    """Both give the same, step by step, with and without seeds."""
    own, native = ours(PolicyloopVectorEnv, id, N, **options), SyncVectorEnv(theirs(id, **options))
    assert own.metadata["autoreset_mode"] == native.metadata["autoreset_mode"]
    assert (own.observation_space, own.action_space) == (native.observation_space, native.action_space)
    own, native = RecordEpisodeStatistics(own), RecordEpisodeStatistics(native)
    native.action_space.seed(1)
    for seed in (5, [7, 8, 9], None):
        same(own.reset(seed=seed)[0], native.reset(seed=seed)[0])
        for _ in range(60):
            actions = native.action_space.sample()
            a, b = own.step(actions), native.step(actions)
            for ours_, theirs_ in zip(a[:4], b[:4]):
                same(ours_, theirs_)
            assert ("episode" in a[4]) == ("episode" in b[4])
    own.close()
    native.close()


def vec_env(id, **options):
    own, native = ours(PolicyloopVecEnv, id, N, **options), DummyVecEnv(theirs(id, **options))
    own.seed(3), native.seed(3)
    same(own.reset(), native.reset())
    native.action_space.seed(1)
    ends = 0
    for _ in range(200):
        actions = np.array([native.action_space.sample() for _ in range(N)])
        (*a, infos), (*b, expected) = own.step(actions), native.step(actions)
        for ours_, theirs_ in zip(a, b):
            same(ours_, theirs_)
        for info, other in zip(infos, expected):
            assert info["TimeLimit.truncated"] == other["TimeLimit.truncated"]
            assert ("terminal_observation" in info) == ("terminal_observation" in other)
            if "terminal_observation" in other:
                ends += 1
                same(info["terminal_observation"], np.asarray(other["terminal_observation"]))
    assert ends > 10, ends
    own.close()
    native.close()


def trained():
    """PPO on either has the same weights after the same steps, because every number it saw was the same."""
    states = []
    for env in (ours(PolicyloopVecEnv, "CartPole-v1", N), DummyVecEnv(theirs("CartPole-v1"))):
        env = VecMonitor(env)
        model = PPO("MlpPolicy", env, n_steps=64, batch_size=64, seed=2, device="cpu").learn(400)
        mean, _ = evaluate_policy(model, env, n_eval_episodes=3)
        states.append([*(value.numpy() for value in model.policy.state_dict().values()), np.array(mean)])
        env.close()
    for a, b in zip(*states):
        same(a, b)


def refused(act):
    try:
        act()
        return "nothing"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def errors():
    vector = ours(PolicyloopVectorEnv, "CartPole-v1", 2)
    first = vector.reset(seed=1)[0]
    seen = {
        "few": refused(lambda: vector.step([1])),
        "range": refused(lambda: vector.step([0, 2])),
        "nan": refused(lambda: vector.step([0, float("nan")])),
        "many": refused(lambda: ours(PolicyloopVectorEnv, "CartPole-v1", 5000).reset()),
        "unknown": refused(lambda: ours(PolicyloopEnv, "CartPole-v9")),
        "text": refused(lambda: ours(PolicyloopEnv, "text:cooking")),
        "option": refused(lambda: ours(PolicyloopEnv, "CartPole-v1", size=3)),
    }
    same(vector.reset(seed=1)[0], first)
    single = ours(PolicyloopEnv, "CartPole-v1", max_episode_steps=1)
    seen["early"] = refused(lambda: single.step(0))
    single.reset(seed=1)
    assert single.step(0)[3]
    seen["late"] = refused(lambda: single.step(0))
    single.close()
    seen["closed"] = refused(lambda: single.reset())
    return seen


warnings.simplefilter("ignore")
torch.set_num_threads(1)
for id in ("CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "Blackjack-v1", "InvertedPendulum-v5"):
    checked(id)
vector_env("CartPole-v1", **SHORT)
vector_env("FrozenLake-v1", is_slippery=False)
vec_env("CartPole-v1", **SHORT)
vec_env("Taxi-v4", **SHORT)
vec_env("MountainCarContinuous-v0", **SHORT)
trained()
print(json.dumps(errors()))
