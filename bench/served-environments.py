"""Measures PPO of Stable-Baselines3 on CartPole-v1 of policyloop, relative to Gymnasium's own, in alternating turns.

Needs `npm run build` and Python with stable-baselines3: python bench/served-environments.py [turns] [environments …]
"""

import statistics
import sys
import time
from pathlib import Path

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecMonitor

root = Path(__file__).parent.parent
sys.path.insert(0, str(root / "src/serve/environments"))
from policyloop_sb3 import PolicyloopVecEnv  # noqa: E402

COMMAND = ("node", str(root / "dist/src/cli.js"))
STEPS = 2048


def seconds(env, seed, learn):
    """Time of STEPS steps: with PPO's updates, or only stepped with random actions."""
    if not learn:
        env.reset()
        actions = [env.action_space.sample() for _ in range(env.num_envs)]
        began = time.perf_counter()
        for _ in range(STEPS // env.num_envs):
            env.step(actions)
        return time.perf_counter() - began
    model = PPO("MlpPolicy", env, n_steps=512 // env.num_envs, seed=seed, device="cpu")
    began = time.perf_counter()
    model.learn(STEPS)
    return time.perf_counter() - began


def main(turns=9, *sizes):
    torch.set_num_threads(1)
    for n in sizes or (1, 8, 32):
        native = make_vec_env("CartPole-v1", n)
        served = VecMonitor(PolicyloopVecEnv("CartPole-v1", n, command=COMMAND))
        for what, learn in (("steps", False), ("PPO", True)):
            # The first turn warms up. Other programs only ever add time, so the fastest turns are compared too.
            pairs = [(seconds(native, turn, learn), seconds(served, turn, learn)) for turn in range(turns + 1)][1:]
            median = statistics.median(ours / theirs for theirs, ours in pairs)
            theirs, ours = (min(side) for side in zip(*pairs))
            print(
                f"{n:3} environments, {what:5}: {ours / theirs:.2f} x Gymnasium's time ({STEPS / theirs:.0f} steps/s)"
                f" in the fastest turns, {median:.2f} x in the median turn",
                flush=True,
            )
        native.close()
        served.close()


main(*map(int, sys.argv[1:]))
