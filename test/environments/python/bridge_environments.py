"""Environments that the bridge is tested with: spaces of every kind, and one that misbehaves in its third step."""

import os
import subprocess
import sys
import time

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple


class Counter(gymnasium.Env):
    """Rewards what the action says; the observation tells seed and steps. `when`: a file whose presence spoils it."""

    def __init__(self, fault=None, when=None):
        self.observation_space = Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space = Discrete(2, start=1)
        self.fault = fault
        self.when = when

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.start = self.np_random.random() + 0.1
        self.steps = 0
        return np.array([self.start, 0.0]), {}

    def step(self, action):
        self.steps += 1
        observation = np.array([self.start, self.steps])
        reward = self.start * action
        if self.steps == 3 and (self.when is None or os.path.exists(self.when)):
            if self.fault == "raise":
                print("about to raise", file=sys.stderr)
                raise ValueError("the wheel came off")
            if self.fault == "exit":
                sys.exit(3)
            if self.fault == "die":
                print("goodbye, cruel pipe", file=sys.stderr)
                os._exit(9)
            if self.fault == "hang":
                while True:
                    time.sleep(0.01)
            if self.fault == "nan":
                observation[1] = np.nan
            if self.fault == "infinite reward":
                reward = np.inf
            if self.fault == "shape":
                observation = observation[:1]
            if self.fault == "descriptors":
                for descriptor in range(256):
                    try:
                        os.write(descriptor, b'\n{"steps": "nonsense"}\nhalf a line')
                    except OSError:
                        pass
            if self.fault == "close":
                os.closerange(3, 200)
            if self.fault == "fork":
                os.fork()
            if self.fault == "child":
                subprocess.Popen(["sleep", "1000.5"])
            if self.fault == "daemon":
                subprocess.Popen(["sleep", "4"], start_new_session=True)
            if self.fault == "end":
                subprocess.Popen(["sleep", "4"], start_new_session=True)
                os._exit(4)
            if self.fault == "flood":
                for _ in range(200):
                    os.write(1, b"x" * 100_000)
            if self.fault == "keys":
                raise ValueError(f"keys: {sorted(name for name in os.environ if 'KEY' in name or 'TOKEN' in name)}")
            if self.fault == "print":
                print('{"steps": "nonsense"}')
                os.write(1, b"more nonsense\n")
                sys.stdin.read()
        return observation, reward, self.steps >= 6, False, {}


class Mirror(gymnasium.Env):
    """Observes the action that it was given, in a space of the kind asked for."""

    def __init__(self, kind):
        self.observation_space = self.action_space = {
            "discrete": Discrete(3, start=-1),
            "box": Box(-1, 1, (2, 2), np.float32),
            "integers": Box(0, 255, (2,), np.uint8),
            "multi-discrete": MultiDiscrete([2, 3]),
            "multi-binary": MultiBinary(3),
            "tuple": Tuple([Discrete(2), Discrete(4, start=1)]),
            "dict": Dict({"b": Box(0, np.inf, (2,), np.float32), "a": Discrete(3)}),
            "text": Text(5),
            "mixed": Tuple([Discrete(3), Box(-1, 1, (1,), np.float32)]),
            "nested": Dict(
                {
                    "flags": MultiBinary([2, 2]),
                    "inner": Tuple([MultiDiscrete([[2, 3]], start=[[5, -1]]), Box(0, 1, (2,), np.float16)]),
                    "level": Box(-np.inf, np.inf, (1,), np.float64),
                    "small": Discrete(2, start=7),
                }
            ),
            "bool box": Box(0, 1, (2,), bool),
            "int8 box": Box(-3, 4, (2, 1), np.int8),
            "int64 box": Box(-np.inf, np.inf, (1,), np.int64),
            "float16 box": Box(-np.inf, np.inf, (2,), np.float16),
            "huge": Discrete(2),
        }[kind]
        if kind == "huge":
            self.observation_space = Box(0, 1, (1000, 1001), bool)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        if not self.action_space.contains(action):
            raise ValueError(f"{action!r} is no action")
        for space, part in self.parts(self.action_space, action):
            if part.dtype != space.dtype:
                raise ValueError(f"{action!r} has another type than {space}")
        return action, 0.0, False, False, {}


    def parts(self, space, value):
        if isinstance(space, Dict):
            return [pair for key in space.spaces for pair in self.parts(space[key], value[key])]
        if isinstance(space, Tuple):
            return [pair for child, part in zip(space.spaces, value) for pair in self.parts(child, part)]
        return [(space, value)]


class Wrong(gymnasium.Env):
    """Its first observation is what `shown` says, evaluated in the space of that kind."""

    action_space = Discrete(2)

    def __init__(self, kind, shown):
        self.observation_space = Mirror(kind).observation_space
        self.shown = eval(shown, {"np": np})

    def reset(self, seed=None, options=None):
        return self.shown, {}

    def step(self, action):
        return self.shown, 0.0, True, False, {}


class Limited(Counter):
    """Truncates its episodes itself, as its attribute `name` says."""

    def __init__(self, name, limit, broken=False):
        super().__init__()
        setattr(self, name, limit)
        self.limit = limit
        self.broken = broken

    @property
    def episode_length(self):
        if self.broken:
            raise NotImplementedError
        return None

    def step(self, action):
        observation, reward, _, _, info = super().step(action)
        return observation, reward, False, self.steps >= self.limit, info


gymnasium.register("Wrong-v0", Wrong)
gymnasium.register("Limited-v0", Limited)
gymnasium.register("LimitedTwice-v0", Limited, max_episode_steps=1000)
gymnasium.register("Wrapped-v0", lambda limit: gymnasium.wrappers.TimeLimit(Counter(), limit))
gymnasium.register("Counter-v0", Counter, max_episode_steps=100)
gymnasium.register("Mirror-v0", Mirror)
