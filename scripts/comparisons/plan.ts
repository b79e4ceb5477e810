/** What is compared: a critic, a portfolio and novelty with the plain run of the same model, and with controls. */
import { fileURLToPath } from 'node:url';

/** Random policies that every run starts from, the same ones for the same seed. */
const warmup = 4;

interface ComparedTask {
  readonly config: string;
  readonly parameters: number;
  /** Tokens that SmolLM2 takes for a parameter, written out in full with its name. */
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
  /** Evaluations of a run, warm-up included: what a slow model can be waited for. */
  readonly evaluations: number;
  /** Tasks with more are left out: a reply would take a slow model 10 seconds. */
  readonly mostParameters?: number;
  /** Section `critic`. */
  readonly critic: string;
  readonly overrides: readonly string[];
}

const compact = ['prompts={set: compact}', 'memory={best: 8, recent: 4}'];
const compactCritic = fileURLToPath(new URL('compact-critic', import.meta.url));
const scripted = fileURLToPath(new URL('scripted.js', import.meta.url));

/** @param path of the local model, a directory or a GGUF file; its arms are left out where there is none */
export const proposersOf = (path: string | undefined): Readonly<Record<string, Proposer>> => ({
  embedded: {
    model: () =>
      '{provider: local, temperature: 1, format: constrained, threads: 1, device: cpu, maxTokens: 512}',
    evaluations: 60,
    critic: `{prompts: ${JSON.stringify(compactCritic)}}`,
    overrides: compact,
  },
  scripted: {
    model: () => `{provider: ${JSON.stringify(scripted)}}`,
    evaluations: 60,
    critic: '{}',
    overrides: compact,
  },
  ...(path !== undefined && {
    local: {
      // Room for an answer, and none for thinking aloud, which the smallest models do until the room is used up.
      model: ({ parameters, tokens }) =>
        `{provider: local, path: ${JSON.stringify(path)}, temperature: 1, format: constrained, threads: 1, device: cpu, maxTokens: ${20 + tokens * parameters}, stop: ["\\n"]}`,
      evaluations: 12,
      mostParameters: 16,
      // An episode takes 900 tokens more, of which so small a model makes nothing.
      critic: '{show: statistics}',
      overrides: ['prompts={set: numeric}', 'memory={best: 6, recent: 4}'],
    },
  }),
});

/** Settings of a run whose evaluations are as many as those of the others. */
const alone = (evaluations: number) => [`iterations=${evaluations - warmup}`];
/** Each iteration is evaluated twice: its proposal and the revision. */
const revised = (evaluations: number) => [`iterations=${Math.floor((evaluations - warmup) / 2)}`];

export interface Arm {
  readonly label: string;
  /** @param model section of the model that proposes */
  overrides(model: string, evaluations: number, critic: string): readonly string[];
}

const portfolio = (model: string, how: string) =>
  `model={provider: portfolio, ${how}, members: [${model}, {provider: gp}, {provider: cma-es}, {provider: hill-climb}]}`;

/** Played with each model. */
export const arms: Readonly<Record<string, Arm>> = {
  plain: { label: 'plain', overrides: (model, all) => [`model=${model}`, ...alone(all)] },
  critic: {
    label: 'critic',
    overrides: (model, all, critic) => [`model=${model}`, `critic=${critic}`, ...revised(all)],
  },
  'critic-control': {
    label: 'hill climbing in the place of the critic',
    overrides: (model, all) => [`model=${model}`, 'critic={model: {provider: hill-climb}}', ...revised(all)],
  },
  'portfolio-bandit': {
    label: 'portfolio, bandit',
    overrides: (model, all) => [portfolio(model, 'switch: bandit'), ...alone(all)],
  },
  'portfolio-plateau': {
    label: 'portfolio, plateau',
    overrides: (model, all) => [portfolio(model, 'switch: plateau'), ...alone(all)],
  },
  'novelty-ask': {
    label: 'novelty, asked again',
    overrides: (model, all) => [
      `model=${model}`,
      'novelty={distance: 0.05, action: ask}',
      'corrections=3',
      ...alone(all),
    ],
  },
  'novelty-jitter': {
    label: 'novelty, jitter',
    overrides: (model, all) => [`model=${model}`, 'novelty={distance: 0.05, action: jitter}', ...alone(all)],
  },
};

/** Played once for each number of evaluations. */
export const controls = ['random', 'hill-climb', 'mix', 'cma-es', 'gp'] as const;

/** What all runs have in common. */
export const common = (evaluations: number): readonly string[] => [
  `warmup=${warmup}`,
  'candidates=1',
  'evaluation.episodes=10',
  'evaluation.workers=1',
  'confirmation={candidates: 1, episodes: 100}',
  'record=none',
  `name=${evaluations}`,
];
