/** Checks a dataset for problems that would make training useless or its results misleading. */
import { formatCount, formatShare, plural } from '../../src/base/text/numbers.js';
import { largest, smallest } from '../../src/statistics/descriptive.js';
import { type Example, type Recipe, tutorialSizes } from './example.js';
import type { ValidationPlan } from './split.js';
import type { ExampleLength } from './token-statistics.js';

interface Problem {
  readonly message: string;
  readonly hint: string;
}

export interface Alarm extends Problem {
  readonly kind: (typeof checks)[number][0];
}

interface CheckedDataset {
  readonly recipe: Recipe;
  readonly train: readonly Example[];
  readonly validation: readonly Example[];
  readonly plan: ValidationPlan;
  readonly lengths: ReadonlyMap<Example, ExampleLength>;
  /** Context length of the model to train, in tokens; if undefined, lengths aren't checked. */
  readonly context: number | undefined;
  /** Names of runs whose prompt templates have changed since the run or are missing. */
  readonly changedTemplateRuns: readonly string[];
  /** Advice on getting more examples; if undefined, their number isn't checked. */
  readonly advice: string | undefined;
}

export const findAlarms = (checked: CheckedDataset): readonly Alarm[] =>
  checks.flatMap(([kind, check]) => {
    const problem = check(checked);
    return problem === undefined ? [] : [{ kind, ...problem }];
  });

type Check = (checked: CheckedDataset) => Problem | undefined;

const tooFewExamples: Check = ({ advice, train: { length } }) => {
  if (advice === undefined || length >= tutorialSizes.least) return undefined;
  const usual = `${tutorialSizes.least} to ${tutorialSizes.most} are usual`;
  return { message: `only ${plural(length, 'example')} to train on; ${usual}`, hint: advice };
};

const noPositiveSignal: Check = ({ recipe, train, validation }) => {
  if (recipe === 'demonstrations' || recipe === 'repair') return undefined;
  const isBetter = ({ kind, lineage: { score, incumbent } }: Example) =>
    kind === 'preference' || (incumbent !== undefined && score > incumbent);
  if ([...train, ...validation].some(isBetter)) return undefined;
  return {
    message:
      recipe === 'preference'
        ? 'no two replies to a prompt differ in score'
        : 'no example beats the best earlier score',
    hint: 'add runs of models or baselines that improve',
  };
};

const tooLong: Check = ({ recipe, train, validation, lengths, context = Number.POSITIVE_INFINITY }) => {
  const sizes = [...train, ...validation].map((example) => {
    const { prompt, completion } = lengths.get(example)!;
    return prompt + completion;
  });
  const overlong = sizes.filter((tokens) => tokens > context);
  if (overlong.length === 0) return undefined;
  const [min, max] = [smallest(sizes), largest(sizes)].map((tokens) => `about ${formatCount(tokens)}`);
  const otherAdvice = overlong.length < sizes.length ? ', or exclude the runs with the longest prompts' : '';
  return {
    message: `the context of ${context} tokens is too short for ${overlong.length} of ${sizes.length} examples: the shortest of all has ${min} tokens, the longest ${max}`,
    hint: `train a model with a longer context${recipe === 'demonstrations' ? ', or lower --history' : otherAdvice}`,
  };
};

const emptySplit: Check = ({ recipe, train, validation, plan }) => {
  if (train.length > 0 && (validation.length > 0 || plan.kind === 'none')) return undefined;
  return {
    message: train.length > 0 ? 'no validation examples' : 'nothing is left to train on',
    hint: `add runs with other seeds, or change --validation or --${recipe === 'demonstrations' ? 'min-return' : 'recipe'}`,
  };
};

/** Warns if the share held out is more than twice the requested one, or less than half of it but above 0. */
const shareMismatch: Check = ({ plan, recipe, train, validation }) => {
  const total = train.length + validation.length;
  const share = validation.length / total;
  if (plan.kind !== 'share' || validation.length === 0 || Math.abs(Math.log2(share / plan.share)) <= 1)
    return undefined;
  const related =
    recipe === 'demonstrations' ? 'games with equal starts or turns' : 'runs that share a seed or a prompt';
  return {
    message: `${validation.length} of ${total} examples are held out (${formatShare(share)}, not ${formatShare(plan.share)}), because ${related} stay together`,
    hint: 'add runs with other seeds, or name the runs to hold out, e.g. --validation buffers/mine-3',
  };
};

const leakage: Check = ({ plan, train, validation }) => {
  const trainingPrompts = new Set(train.map(({ lineage }) => lineage.prompt));
  const leaked = validation.filter(({ lineage }) => trainingPrompts.has(lineage.prompt));
  if (leaked.length === 0) return undefined;
  return {
    message: `validation examples with the same prompt as a training example: ${leaked.length} of ${validation.length}`,
    hint:
      plan.kind === 'named'
        ? 'hold out all runs of a seed together, e.g. with --validation 0.1'
        : 'games of one environment can share prompts: hold out another environment by name',
  };
};

const templatesChanged: Check = ({ changedTemplateRuns }) => {
  if (changedTemplateRuns.length === 0) return undefined;
  const [first, ...others] = changedTemplateRuns;
  return {
    message: `the prompt templates of ${first}${others.length > 0 ? ` and ${plural(others.length, 'other run')}` : ''} are missing or have changed, so the trained model would be used with other prompts`,
    hint: 'restore the templates, or exclude these runs',
  };
};

const checks = [
  ['few', tooFewExamples],
  ['no-positive-signal', noPositiveSignal],
  ['too-long', tooLong],
  ['empty-split', emptySplit],
  ['other-share', shareMismatch],
  ['leakage', leakage],
  ['templates-changed', templatesChanged],
] as const;
