/** What the tiny improver is measured on: tasks that it never saw, and the controls beside it. */

/** Evaluations, warm-up included, after which the best so far is confirmed. */
export const budgets = [20, 50, 100] as const;
/** Random policies that every arm starts from: the same ones for the same seed. */
export const warmup = 4;

export interface Arm {
  readonly label: string;
  readonly overrides: readonly string[];
  /** The language model that plays: the one that is measured, or the one that its training began with. */
  readonly model?: 'measured' | 'initial';
}

export const arms: Readonly<Record<string, Arm>> = {
  improver: {
    label: 'tiny improver, T = 1',
    model: 'measured',
    overrides: ['model.temperature=1', 'model.format=text'],
  },
  constrained: {
    label: 'tiny improver, T = 1, constrained',
    model: 'measured',
    overrides: ['model.temperature=1', 'model.format=constrained'],
  },
  warm: {
    label: 'tiny improver, T = 1.15, constrained',
    model: 'measured',
    overrides: ['model.temperature=1.15', 'model.format=constrained'],
  },
  untrained: {
    label: 'untrained, constrained',
    model: 'initial',
    overrides: ['model.temperature=1', 'model.format=constrained', 'model.maxTokens=128'],
  },
  random: { label: 'random search', overrides: ['model.provider=random'] },
  'hill-1': { label: 'hill climbing, σ = 1', overrides: ['model.provider=hill-climb', 'model.sigma=1'] },
  'hill-2': { label: 'hill climbing, σ = 2', overrides: ['model.provider=hill-climb', 'model.sigma=2'] },
  'one-plus-one': { label: '(1+1)-ES', overrides: ['model.provider=one-plus-one-es'] },
  'cma-es': { label: 'CMA-ES', overrides: ['model.provider=cma-es', 'model.sigma=2'] },
  mixture: { label: 'mixture of moves (its teacher)', overrides: ['model.provider=mixture'] },
};

/** Configs and what is changed of them: fewer episodes where the start hardly varies. `fresh`: those that confirm, else 100. */
export const tasks: Readonly<
  Record<string, { readonly config: string; readonly overrides: readonly string[]; readonly fresh?: number }>
> = {
  CartPole: { config: 'cartpole-numeric', overrides: ['evaluation.episodes=10'] },
  MountainCar: { config: 'mountaincar-numeric', overrides: ['evaluation.episodes=10'] },
  MountainCarContinuous: { config: 'mountaincar-continuous-numeric', overrides: ['evaluation.episodes=10'] },
  Pendulum: { config: 'pendulum-numeric', overrides: ['evaluation.episodes=10'] },
  Acrobot: { config: 'acrobot-numeric', overrides: ['evaluation.episodes=10'] },
  InvertedPendulum: { config: 'inverted-pendulum-numeric', overrides: ['evaluation.episodes=10'] },
  Swimmer: { config: 'swimmer-numeric', overrides: ['evaluation.episodes=1'], fresh: 5 },
  FrozenLake: { config: 'frozenlake-numeric', overrides: ['evaluation.episodes=20'] },
  CliffWalking: { config: 'cliffwalking-numeric', overrides: ['evaluation.episodes=1'], fresh: 1 },
  Nim: { config: 'nim-numeric', overrides: ['evaluation.episodes=20'] },
  Pong: { config: 'pong-numeric', overrides: ['evaluation.episodes=10'] },
};

/** A line of `results.jsonl`. */
export interface Result {
  readonly task: string;
  readonly arm: string;
  readonly seed: number;
  /** Mean return on 100 fresh episodes of the best policy by then, by number of evaluations. */
  readonly at: Readonly<Record<number, number>>;
  /** Those that took place: fewer than the budget where answers were rejected for good. */
  readonly evaluations: number;
  /** First answers asked for, and how many of them were refused, by kind of failure. */
  readonly asked: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly seconds: number;
}
