/** The protocol of the embedded model: arms and tasks, declared before any run. */
import { compactRun } from '../tiny-improver/play.js';

/** Numbers of evaluations (including the warm-up) after which the best policy so far is evaluated again. */
export const budgets = [20, 50, 100] as const;
const warmup = 4;

export interface BenchmarkTask {
  readonly config: string;
  /** Episodes per evaluation (default: 20). */
  readonly episodes?: number;
  /** Fresh episodes for the best policy so far (default: 100). */
  readonly fresh?: number;
  readonly overrides?: readonly string[];
  /** Set if the observations are rotated randomly. */
  readonly mixed?: true;
}

/** Overall figures are means over these tasks. None of them influenced any choice. */
export const declared = {
  CartPole: { config: 'cartpole-numeric' },
  MountainCarContinuous: { config: 'mountaincar-continuous-numeric' },
  Pendulum: { config: 'pendulum-numeric' },
  Acrobot: { config: 'acrobot-numeric' },
  InvertedPendulum: { config: 'inverted-pendulum-numeric' },
  InvertedDoublePendulum: { config: 'inverted-double-pendulum-numeric' },
  Reacher: { config: 'reacher-numeric' },
  Swimmer: { config: 'swimmer-numeric', episodes: 5, fresh: 20 },
  Hopper: { config: 'hopper-numeric', episodes: 5 },
  FrozenLake: { config: 'frozenlake-numeric' },
  Nim: { config: 'nim-numeric' },
  Pong: { config: 'pong-numeric' },
  NavigationTrack: { config: 'navigation-numeric' },
} as const satisfies Readonly<Record<string, BenchmarkTask>>;

/** On these tasks, all methods tie at 100 evaluations, so they are listed but not averaged. */
const listed = {
  MountainCar: { config: 'mountaincar-numeric' },
  CliffWalking: { config: 'cliffwalking-numeric', episodes: 1, fresh: 1 },
} as const satisfies Readonly<Record<string, BenchmarkTask>>;

/** A transformed version of a task. */
const dresses: Readonly<Record<string, (parameters: number) => Pick<BenchmarkTask, 'overrides' | 'mixed'>>> =
  {
    permuted: () => ({ overrides: ['policy.order={shuffled: 1}'] }),
    rotated: (parameters) => ({ overrides: [`policy.projection={rank: ${parameters}, seed: 1}`] }),
    'bias-first': () => ({ overrides: ['policy.order=bias-first'] }),
    mixed: () => ({ mixed: true }),
    'box-1': () => ({ overrides: ['policy.low=-1', 'policy.high=1'] }),
    'box-3': () => ({ overrides: ['policy.low=-3', 'policy.high=3'] }),
  };

const dressed = { CartPole: 10, MountainCarContinuous: 3, InvertedPendulum: 5 } as const;

/** A transformed task; `of` names the original, whose constants and returns it is compared with. */
interface Variant extends BenchmarkTask {
  readonly of: string;
  readonly dress: string;
}

/** Tasks for measuring robustness; they don't count in the overall figures. */
export const variants: Readonly<Record<string, Variant>> = Object.fromEntries(
  Object.entries(dressed).flatMap(([name, parameters]) =>
    Object.entries(dresses).map(([dress, of]) => [
      `${name}:${dress}`,
      { ...declared[name as keyof typeof dressed], ...of(parameters), of: name, dress },
    ]),
  ),
);

export const tasks: Readonly<Record<string, BenchmarkTask>> = { ...declared, ...listed, ...variants };

export interface BenchmarkArm {
  readonly label: string;
  readonly overrides: readonly string[];
  /** Runs of the embedded model; `falsified` scores replace the true ones in its prompts. */
  readonly model?: true;
  readonly falsified?: Falsehood;
}

export const falsehoods = ['permuted', 'random', 'constant', 'negated'] as const;
export type Falsehood = (typeof falsehoods)[number];

const screening = ['candidates=16', 'screening={}'];
const constrained = ['model.temperature=1', 'model.format=constrained'];

/** Each arm has one setting for all tasks and budgets; the baselines use their defaults, tuned on synthetic tasks. */
export const arms: Readonly<Record<string, BenchmarkArm>> = {
  model: { label: 'embedded model', model: true, overrides: constrained },
  plain: {
    label: 'embedded model, plain sampling',
    model: true,
    overrides: ['model.temperature=1', 'model.format=text'],
  },
  screened: {
    label: 'embedded model, screened from 16 answers',
    model: true,
    overrides: ['model.temperature=1.2', 'model.format=constrained', ...screening],
  },
  ...Object.fromEntries(
    falsehoods.map((falsified) => [
      `false-${falsified}`,
      { label: `embedded model, history ${falsified}`, model: true, falsified, overrides: constrained },
    ]),
  ),
  random: { label: 'random search', overrides: ['model.provider=random'] },
  hill: { label: 'hill climbing', overrides: ['model.provider=hill-climb'] },
  mix: { label: 'corners and steps', overrides: ['model.provider=mix'] },
  cma: { label: 'CMA-ES', overrides: ['model.provider=cma-es'] },
  gp: { label: 'Gaussian process', overrides: ['model.provider=gp'] },
  'screened-mix': {
    label: 'corners and steps, screened from 16',
    overrides: ['model.provider=mix', ...screening],
  },
  'screened-random': {
    label: 'random policies, screened from 16',
    overrides: ['model.provider=random', ...screening],
  },
};

/** Ablations of the screened model: without screening, and screening without the model. */
export const ablations = ['model', 'screened-mix', 'screened-random'] as const;

/** The five baselines that the model has to beat. */
export const controls = ['random', 'hill', 'mix', 'cma', 'gp'] as const;

/** Overrides of the settings in a task's config. */
export const runOverrides = ({ episodes = 20, overrides = [] }: BenchmarkTask, seed: number) => [
  ...compactRun,
  `warmup=${warmup}`,
  `iterations=${budgets.at(-1)! - warmup}`,
  'candidates=1',
  `evaluation.episodes=${episodes}`,
  ...overrides,
  `seed=${seed}`,
];

/** A row of results. */
export interface Row {
  readonly task: string;
  readonly arm: string;
  readonly seed: number;
  /** Mean returns on fresh episodes, one per budget. */
  readonly at: readonly number[];
  /** Number of a model's first answers, and of the valid ones. */
  readonly asked?: number;
  readonly valid?: number;
  readonly seconds: number;
}
