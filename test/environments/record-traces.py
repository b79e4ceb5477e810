"""Plays given actions in Gymnasium and prints what it answers.

Each line of standard input is a JSON object: env, kwargs, seed (a decimal string), dtype ("float32", "float64", or null for
discrete actions) and actions. The first episode starts with reset(seed), later ones with reset(). Each line of standard
output is the JSON list of the episodes of one input line.
"""

import importlib.util
import json
import sys
import types
import warnings

warnings.filterwarnings("ignore")

# Gymnasium's MuJoCo environments import it for their renderer, which is not used here.
if importlib.util.find_spec("imageio") is None:
    sys.modules["imageio"] = types.ModuleType("imageio")

import gymnasium as gym
import numpy as np

gym.logger.min_level = gym.logger.DISABLED if hasattr(gym.logger, "DISABLED") else 50


def plain(observation):
    if isinstance(observation, np.ndarray):
        return observation.tolist()
    return list(observation) if isinstance(observation, tuple) else observation


def play(request):
    env = gym.make(request["env"], **request["kwargs"])
    actions = request["actions"]
    episodes = []
    position = 0
    while position < len(actions):
        observation, _ = env.reset(seed=int(request["seed"])) if not episodes else env.reset()
        episode = {
            "env": request["env"],
            "kwargs": request["kwargs"],
            "gymnasium": gym.__version__,
            "numpy": np.__version__,
            "seed": request["seed"],
            "episode": len(episodes),
            "reset_obs": plain(observation),
            "actions": [],
            "observations": [],
            "rewards": [],
            "terminated": [],
            "truncated": [],
        }
        episodes.append(episode)
        done = False
        while not done and position < len(actions):
            action = actions[position]
            position += 1
            sent = np.array(action, dtype=request["dtype"]) if request["dtype"] else action
            observation, reward, terminated, truncated, _ = env.step(sent)
            episode["actions"].append(action)
            episode["observations"].append(plain(observation))
            episode["rewards"].append(float(reward))
            episode["terminated"].append(bool(terminated))
            episode["truncated"].append(bool(truncated))
            done = terminated or truncated
    env.close()
    return episodes


for line in sys.stdin:
    print(json.dumps(play(json.loads(line)), separators=(",", ":")), flush=True)
