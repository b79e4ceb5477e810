/** The runners of LLM-RL-finetune: what its code hard-wires for a `task`, regardless of other keys. */

interface Runner {
  readonly environment: string;
  /** The constant that its prompts state as the optimum, for linear policies. */
  readonly optimum?: number;
}

const doublePendulum: Runner = { environment: 'InvertedDoublePendulum-v5', optimum: 10_000 };

const runners: Readonly<Record<string, Runner>> = {
  mc_continuous: { environment: 'MountainCarContinuous-v0', optimum: 100 },
  cartpole: { environment: 'CartPole-v1', optimum: 500 },
  inverted_pendulum: { environment: 'InvertedPendulum-v5', optimum: 1000 },
  swimmer: { environment: 'Swimmer-v5', optimum: 250 },
  hopper: { environment: 'Hopper-v5', optimum: 1000 },
  reacher: { environment: 'Reacher-v5', optimum: -5 },
  walker: { environment: 'Walker2d-v5', optimum: 10_000 },
  pong: { environment: 'Pong-v0', optimum: 3 },
  mountaincar: { environment: 'MountainCar-v0', optimum: 100 },
  pendulum: { environment: 'Pendulum-v1' },
  blackjack: { environment: 'Blackjack-v1' },
  grid_world: { environment: 'FrozenLake-v1' },
  frozen_lake: { environment: 'FrozenLake-v1' },
};

/** Matches `double_ip`, `dbl_inv_pendulum`, `inverted_double_pendulum`, … */
const doubleSpellings = /^((double|dbl)_?i|inv(erted)?_?(double|dbl)_?p)/;

export function runnerOf(task: unknown): Runner | undefined {
  const name = String(task).toLowerCase();
  if (Object.hasOwn(runners, name)) return runners[name];
  return doubleSpellings.test(name) ? doublePendulum : undefined;
}
