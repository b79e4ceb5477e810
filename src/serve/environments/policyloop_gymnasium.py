"""Environments of policyloop for Gymnasium: one as an Env, many as a VectorEnv. For Stable-Baselines3: policyloop_sb3.py.

A process (`policyloop serve --environments ID --stdio`) runs all copies of an environment, with one message per step.
"""

import contextlib
import json
import shutil
import subprocess
import tempfile

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

COMMAND = ("npx", "--no", "policyloop")


class Copies:
    """Copies of an environment in a process. The options are the environment's, as in a config."""

    def __init__(self, id, autoreset, command, options):
        words = [shutil.which(command[0]) or command[0], *command[1:], "serve", "--stdio", "--environments", id]
        words += [f"--option={name}={json.dumps(value)}" for name, value in options.items()]
        self._autoreset, self._asked, self._errors = autoreset, 0, tempfile.TemporaryFile()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._errors}
        # Ctrl-C doesn't reach the process: the trainer may want to evaluate and save before it exits.
        self._process = subprocess.Popen(words, start_new_session=True, **pipes)
        described = self._ask("metadata")
        self.observation_space = space_of(described["observation_space"])
        self.action_space = space_of(described["action_space"])

    def reset(self, seeds):
        seeds = [None if seed is None else int(seed) for seed in seeds]
        return self._array(self._ask("reset_batch", seeds=seeds, autoreset=self._autoreset)["observations"])

    def step(self, actions):
        """Returns observations, rewards, terminated, truncated, and the last observation of each episode that ended."""
        answer = self._ask("step_batch", actions=np.asarray(actions).tolist())
        flags = (np.array(answer[name], dtype=bool) for name in ("terminated", "truncated"))
        final = [None if last is None else self._array(last) for last in answer.get("final_observations", ())]
        return self._array(answer["observations"]), np.array(answer["rewards"], dtype=np.float64), *flags, final

    def close(self):
        with contextlib.suppress(OSError), self._process:
            pass  # Closes the pipes, which ends the process, and waits for it.

    def _array(self, observations):
        return np.array(observations, dtype=self.observation_space.dtype)

    def _ask(self, type, **data):
        self._asked += 1
        answer = {"id": 0}
        with contextlib.suppress(OSError):
            self._process.stdin.write(json.dumps({"type": type, "id": self._asked, "data": data}).encode() + b"\n")
            self._process.stdin.flush()
        # Ctrl-C may have left the answer to an earlier request unread. The answer to invalid JSON has no id.
        while answer.get("id", self._asked) != self._asked:
            line = self._process.stdout.readline()
            if line == b"":
                code = self._process.wait()
                self._errors.seek(0)
                raise RuntimeError(f"policyloop ended with exit code {code}: {self._errors.read().decode().strip()}")
            answer = json.loads(line)
        if answer["type"] == "error":
            raise ValueError(answer["data"]["message"])
        return answer["data"]


def space_of(space):
    if space["kind"] == "discrete":
        return spaces.Discrete(space["n"], start=space.get("start", 0))
    if space["kind"] == "tuple":
        starts = [part.get("start", 0) for part in space["spaces"]]
        return spaces.MultiDiscrete([part["n"] for part in space["spaces"]], start=starts)
    if space["kind"] == "text":
        raise ValueError("a text world has no numeric spaces; connect to it as an OpenEnv server")
    dtype = np.dtype(space.get("dtype", "float32"))
    low, high = (
        np.array([none if bound is None else bound for bound in space[side]], dtype=dtype)
        for side, none in (("low", -np.inf), ("high", np.inf))
    )
    return spaces.Box(low, high, dtype=dtype.type)


class PolicyloopEnv(gymnasium.Env):
    def __init__(self, id, command=COMMAND, **options):
        self._copies = Copies(id, "disabled", command, options)
        self.observation_space, self.action_space = self._copies.observation_space, self._copies.action_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._copies.reset([seed])[0], {}

    def step(self, action):
        observations, rewards, terminated, truncated, _ = self._copies.step([action])
        return observations[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), {}

    def close(self):
        self._copies.close()


class PolicyloopVectorEnv(VectorEnv):
    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, id, num_envs=1, command=COMMAND, **options):
        self._copies = copies = Copies(id, "next-step", command, options)
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = copies.observation_space, copies.action_space
        self.observation_space = batch_space(copies.observation_space, num_envs)
        self.action_space = batch_space(copies.action_space, num_envs)

    def reset(self, *, seed=None, options=None):
        if seed is None or np.ndim(seed) == 0:
            super().reset(seed=seed)
            seed = [None if seed is None else seed + i for i in range(self.num_envs)]
        return self._copies.reset(seed), {}

    def step(self, actions):
        return *self._copies.step(actions)[:4], {}

    def close_extras(self, **kwargs):
        self._copies.close()
