"""A Gymnasium environment: push a ball out of a valley; found next to the config."""
import gymnasium
import numpy as np


class Valley(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-2.0, 2.0, (2,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = np.array([self.np_random.uniform(-0.3, 0.3), 0.0])
        return self.state.copy(), {}

    def step(self, action):
        x, v = self.state
        v = np.clip(v + (0.03 if action == 1 else -0.03) - 0.1 * x, -1.0, 1.0)
        x = np.clip(x + v, -2.0, 2.0)
        self.state = np.array([x, v])
        return self.state.copy(), -1.0, bool(x >= 1.5), False, {}


gymnasium.register("Valley-v0", entry_point=Valley, max_episode_steps=100)
