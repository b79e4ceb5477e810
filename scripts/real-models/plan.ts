/** The runs with real models: tasks, prompt sets, arms and shared settings. */

/** Tasks of the comparisons (`scripts/comparisons/plan.ts`), whose constants normalise returns; they play fast. */
export const tasks: Readonly<Record<string, string>> = {
  CartPole: 'cartpole-numeric',
  MountainCarContinuous: 'mountaincar-continuous-numeric',
  Pendulum: 'pendulum-numeric',
  InvertedPendulum: 'inverted-pendulum-numeric',
  Acrobot: 'acrobot-numeric',
  FrozenLake: 'frozenlake-numeric',
  Nim: 'nim-numeric',
};

export const sets = ['numeric', 'semantic', 'compact'] as const;

/** Names of GGUF files in the directory given with `--models`, smallest first. */
export const models = ['smollm2', 'qwen0.5', 'qwen1.5'] as const;

/** Settings to compare with the defaults. */
export const arms: Readonly<Record<string, readonly string[]>> = {
  default: [],
  labels: ['prompts.answer=labels'],
  cold: ['model.temperature=0.7', 'model.topP=0.8', 'model.topK=20'],
  hot: ['model.temperature=1.4'],
  text: ['model.format=text'],
  'text-hot': ['model.format=text', 'model.temperature=1', 'model.topP=1', 'model.topK=0'],
  'best-last': ['memory.order=best-last'],
  conversation: ['prompts.layout=conversation'],
  jitter: ['novelty={distance: 0.05, action: jitter}'],
  delta: ['proposal={form: delta, beam: 1}'],
};

export const controls = ['random', 'hill-climb', 'gp'] as const;

/** Evaluations per run, and the number of random policies among them. */
export const evaluations = 30;
const warmup = 10;

const whole: readonly string[] = [
  `limits.evaluations=${evaluations}`,
  // No spare iterations: an unusable reply costs one.
  `iterations=${evaluations - warmup}`,
  'candidates=1',
  'corrections=1',
  'confirmation={candidates: 1, episodes: 100}',
];

/** Many proposals for one prompt, to compare settings of a slow model. */
const groups: readonly string[] = [
  'iterations=2',
  'candidates=8',
  'corrections=0',
  'limits.rejections=0',
  'confirmation.candidates=0',
];

export const common = (isGroup: boolean): readonly string[] => [
  ...(isGroup ? groups : whole),
  `warmup=${warmup}`,
  'evaluation.episodes=10',
  'evaluation.workers=1',
  'record=none',
];
