"""Environments of policyloop as a VecEnv of Stable-Baselines3. Needs policyloop_gymnasium.py in the same folder."""

from policyloop_gymnasium import COMMAND, Copies
from stable_baselines3.common.vec_env import VecEnv


class PolicyloopVecEnv(VecEnv):
    render_mode = None

    def __init__(self, id, n_envs=1, command=COMMAND, **options):
        self._copies = Copies(id, "same-step", command, options)
        super().__init__(n_envs, self._copies.observation_space, self._copies.action_space)

    def reset(self):
        self.reset_infos = [{} for _ in range(self.num_envs)]
        seeds = self._seeds
        self._reset_seeds()
        return self._copies.reset(seeds)

    def step_async(self, actions):
        self._actions = actions

    def step_wait(self):
        observations, rewards, terminated, truncated, final = self._copies.step(self._actions)
        infos = [{"TimeLimit.truncated": bool(cut)} for cut in truncated & ~terminated]
        for info, last in zip(infos, final):
            if last is not None:
                info["terminal_observation"] = last
        return observations, rewards.astype("float32"), terminated | truncated, infos

    def close(self):
        self._copies.close()

    def get_attr(self, attr_name, indices=None):
        return [getattr(self, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name, value, indices=None):
        raise NotImplementedError("the environments run in another program")

    def env_method(self, method_name, *method_args, indices=None, **method_kwargs):
        raise NotImplementedError("the environments run in another program")

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * len(list(self._get_indices(indices)))
