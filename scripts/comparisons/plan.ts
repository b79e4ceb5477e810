/** The comparisons: a critic, a portfolio and novelty, each against plain runs of the same model and baselines. */
import { fileURLToPath } from 'node:url';

/** Number of random policies in the warm-up; equal seeds give equal policies. */
const warmup = 4;

interface ComparedTask {
  readonly config: string;
  readonly parameters: number;
  /** Tokens per parameter in SmolLM2's vocabulary, with the parameter's name. */
  readonly tokens: number;
}

/** Tasks of the protocol (`scripts/embedded/plan.ts`), whose constants normalise returns; they play fast. */
export const tasks: Readonly<Record<string, ComparedTask>> = {
  CartPole: { config: 'cartpole-numeric', parameters: 10, tokens: 11 },
  MountainCarContinuous: { config: 'mountaincar-continuous-numeric', parameters: 3, tokens: 11 },
  Pendulum: { config: 'pendulum-numeric', parameters: 4, tokens: 11 },
  InvertedPendulum: { config: 'inverted-pendulum-numeric', parameters: 5, tokens: 11 },
  Acrobot: { config: 'acrobot-numeric', parameters: 21, tokens: 11 },
  FrozenLake: { config: 'frozenlake-numeric', parameters: 16, tokens: 9 },
  Nim: { config: 'nim-numeric', parameters: 11, tokens: 11 },
};

export interface Proposer {
  /** Section `model`, in YAML's flow style. */
  readonly model: (task: ComparedTask) => string;
  /** Budget of a run, including the warm-up; limited by the speed of a slow model. */
  readonly evaluations: number;
  /** More than the evaluations, unless prompts show the number, because rejected proposals use up iterations. */
  readonly iterations: number;
  /** Tasks with more parameters are skipped, because a slow model would take 10 seconds per reply. */
  readonly mostParameters?: number;
  /** Section `critic`. */
  readonly critic: string;
  readonly overrides: readonly string[];
}

const compact = ['prompts={set: compact}', 'memory={best: 8, recent: 4}'];
const compactCritic = fileURLToPath(new URL('compact-critic', import.meta.url));
const scripted = fileURLToPath(new URL('scripted.js', import.meta.url));

const fast = { evaluations: 60, iterations: 180 };

/** @param path directory or GGUF file of the local model; without it, its arms are omitted */
export const proposersOf = (path: string | undefined): Readonly<Record<string, Proposer>> => ({
  embedded: {
    model: () =>
      '{provider: local, temperature: 1, format: constrained, threads: 1, device: cpu, maxTokens: 512}',
    ...fast,
    critic: `{prompts: ${JSON.stringify(compactCritic)}}`,
    overrides: compact,
  },
  scripted: {
    model: () => `{provider: ${JSON.stringify(scripted)}}`,
    ...fast,
    critic: '{}',
    overrides: compact,
  },
  ...(path !== undefined && {
    local: {
      // Leave room for the answer only, because the smallest models otherwise ramble until the limit.
      model: ({ parameters, tokens }) =>
        `{provider: local, path: ${JSON.stringify(path)}, temperature: 1, format: constrained, threads: 1, device: cpu, maxTokens: ${20 + tokens * parameters}, stop: ["\\n"]}`,
      evaluations: 12,
      iterations: 12 - warmup,
      mostParameters: 16,
      // Showing an episode takes 900 more tokens, which such a small model can't use.
      critic: '{show: statistics}',
      overrides: ['prompts={set: numeric}', 'memory={best: 6, recent: 4}'],
    },
  }),
});

export interface Arm {
  readonly label: string;
  /**
   * @param model section `model`, in YAML's flow style
   * @param critic section `critic`, in YAML's flow style
   */
  overrides(model: string, critic: string): readonly string[];
}

const portfolio = (model: string, how: string) =>
  `model={provider: portfolio, ${how}, members: [${model}, {provider: gp}, {provider: cma-es}, {provider: hill-climb}]}`;

/** Arms to run with each model. */
export const arms: Readonly<Record<string, Arm>> = {
  plain: { label: 'plain', overrides: (model) => [`model=${model}`] },
  critic: { label: 'critic', overrides: (model, critic) => [`model=${model}`, `critic=${critic}`] },
  'critic-control': {
    label: 'hill climbing in place of the critic',
    overrides: (model) => [`model=${model}`, 'critic={model: {provider: hill-climb}}'],
  },
  'portfolio-bandit': {
    label: 'portfolio, bandit',
    overrides: (model) => [portfolio(model, 'switch: bandit')],
  },
  'portfolio-plateau': {
    label: 'portfolio, plateau',
    overrides: (model) => [portfolio(model, 'switch: plateau')],
  },
  'novelty-ask': {
    label: 'novelty, asked again',
    overrides: (model) => [`model=${model}`, 'novelty={distance: 0.05, action: ask}'],
  },
  'novelty-jitter': {
    label: 'novelty, jitter',
    overrides: (model) => [`model=${model}`, 'novelty={distance: 0.05, action: jitter}'],
  },
};

/** Baselines, run once for each number of evaluations. */
export const controls = ['random', 'hill-climb', 'mix', 'cma-es', 'gp'] as const;

/** Settings of all runs. */
export const common = (evaluations: number, iterations: number): readonly string[] => [
  `iterations=${iterations}`,
  `limits.evaluations=${evaluations}`,
  `warmup=${warmup}`,
  'candidates=1',
  'evaluation.episodes=10',
  'evaluation.workers=1',
  'confirmation={candidates: 1, episodes: 100}',
  'record=none',
  `name=${evaluations}`,
];
