/** The comparison of programs: tasks, arms and shared settings. */
import type { Constants } from '../embedded/statistics.js';

/**
 * Tasks and the constants that normalise their returns. `low`: random search over linear policies or tables with 100
 * evaluations (`bench/embedded-constants.json`; MountainCar: a car that never arrives). `high`: the best known policy of
 * any form.
 */
export const tasks: Readonly<Record<string, Constants & { readonly config: string }>> = {
  CartPole: { config: 'cartpole-semantic', low: 207.78, high: 500 },
  MountainCar: { config: 'mountaincar-semantic', low: -200, high: -105 },
  MountainCarContinuous: { config: 'mountaincar-continuous-semantic', low: 18.735, high: 94 },
  Pendulum: { config: 'pendulum-semantic', low: -1184.5, high: -150 },
  Acrobot: { config: 'acrobot-semantic', low: -92.2, high: -80 },
  InvertedPendulum: { config: 'inverted-pendulum-semantic', low: 75.513, high: 1000 },
  FrozenLake: { config: 'frozenlake-semantic', low: 0.16765, high: 0.74 },
  Nim: { config: 'nim-semantic', low: 0.12471, high: 1 },
};

/** Names of GGUF files in the directory given with `--models`. */
export const models = ['qwen0.5', 'qwen1.5'] as const;

/** The step size of the parameters' configs means nothing to programs. */
const program = ['policy={kind: program}', 'prompts.stepSize='];

/** What a language model proposes. */
export const arms: Readonly<Record<string, readonly string[]>> = {
  programs: program,
  tuned: [...program, 'policy.tune={by: gp, after: 10, evaluations: 10}'],
  'best of N': [...program, 'memory=none'],
  parameters: [],
};

/** Searches without a language model. Their proposals cost nothing, so a program that acts like an earlier one is replaced. */
export const baselines: Readonly<Record<string, readonly string[]>> = {
  'random programs': [...program, 'model={provider: random}', 'corrections=20'],
  'genetic programming': [...program, 'model={provider: genetic}', 'corrections=20'],
  'random parameters': ['model={provider: random}'],
  'Gaussian process': ['model={provider: gp}'],
};

/** 40 evaluations: 5 random policies, then 7 iterations of 5 proposals. An unusable reply is lost without a correction, because models are slow on two cores. */
export const common: readonly string[] = [
  ...['warmup=5', 'iterations=7', 'candidates=5', 'corrections=0', 'limits.evaluations=40'],
  'limits.rejections=0',
  ...['evaluation.episodes=10', 'evaluation.workers=1', 'confirmation={candidates: 3, episodes: 100}'],
];
