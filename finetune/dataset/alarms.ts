/** Checks a dataset for problems that would make training useless or its results misleading. */
import { plural } from '../../src/base/text/numbers.js';
import type { Example, Recipe } from './example.js';
import type { ExampleLength } from './token-statistics.js';

export interface Alarm {
  readonly kind:
    | 'no-positive-signal'
    | 'equal-weights'
    | 'too-long'
    | 'duplicates'
    | 'empty-split'
    | 'no-validation'
    | 'leakage'
    | 'templates-changed'
    | 'weights-dropped';
  readonly message: string;
  readonly hint: string;
}

export interface Checked {
  readonly recipe: Recipe;
  readonly train: readonly Example[];
  readonly validation: readonly Example[];
  readonly heldOut: boolean;
  readonly made: number;
  readonly lengths: ReadonlyMap<Example, ExampleLength>;
  /** Context length of the model to train, in tokens; undefined skips the check. */
  readonly context?: number | undefined;
  /** Names of runs whose prompt templates have changed since the run or are missing. */
  readonly changedTemplates: readonly string[];
}

export function findAlarms(checked: Checked): readonly Alarm[] {
  return [noPositiveSignal, equalWeights, tooLong, duplicates, emptySplit, leakage, templatesChanged].flatMap(
    (check) => check(checked) ?? [],
  );
}

type Check = (checked: Checked) => Alarm | undefined;

const noPositiveSignal: Check = ({ recipe, train, made }) => {
  if (recipe === 'demonstrations' || recipe === 'repair') return undefined;
  const better = train.some(
    ({ kind, lineage: { score, incumbent } }) =>
      kind === 'preference' || (incumbent !== undefined && score > incumbent),
  );
  if (better || (made > 0 && train.length === 0)) return undefined;
  return {
    kind: 'no-positive-signal',
    message:
      recipe === 'preference'
        ? 'no two answers to a prompt differ in score'
        : 'no training example beats the best earlier score',
    hint: 'add runs of models or baselines that improve',
  };
};

const equalWeights: Check = ({ recipe, train }) => {
  if (recipe !== 'weighted' || train.length < 2) return undefined;
  if (train.some(({ weight }) => weight !== train[0]!.weight)) return undefined;
  return {
    kind: 'equal-weights',
    message: 'all training examples have the same weight',
    hint: 'add runs whose scores differ, or use --recipe improvement',
  };
};

const tooLong: Check = ({ recipe, train, validation, lengths, context }) => {
  if (context === undefined) return undefined;
  const long = [...train, ...validation].filter((example) => {
    const { prompt, completion } = lengths.get(example)!;
    return prompt + completion > context;
  });
  if (long.length === 0) return undefined;
  return {
    kind: 'too-long',
    message: `the context of ${context} tokens is too short for ${long.length} of ${train.length + validation.length} examples`,
    hint: `train a model with a longer context, or ${recipe === 'demonstrations' ? 'lower --history' : 'use runs with a smaller memory.tokens or memory.best'}`,
  };
};

const duplicates: Check = ({ train, validation, made }) => {
  const kept = train.length + validation.length;
  if (made === 0 || kept > made / 2) return undefined;
  return {
    kind: 'duplicates',
    message: `duplicates removed: ${made - kept} of ${made} examples`,
    hint: 'remove copies of runs, or lower --samples',
  };
};

const emptySplit: Check = ({ recipe, train, validation, heldOut }) => {
  if (train.length > 0 && (validation.length > 0 || !heldOut)) return undefined;
  if (train.length > 0)
    return {
      kind: 'no-validation',
      message: 'no validation examples',
      hint: 'add runs with other seeds, name other runs in --validation, or use --validation none',
    };
  const [cause, hint] =
    validation.length === 0
      ? ['', recipe === 'demonstrations' ? 'lower --min-return if it is set' : 'use another recipe']
      : ['all examples are held out for validation: ', 'hold out fewer runs with --validation'];
  return {
    kind: 'empty-split',
    message: `${cause}nothing is left to train on`,
    hint: `add runs, or ${hint}`,
  };
};

const leakage: Check = ({ train, validation }) => {
  const known = new Set(train.map(({ lineage }) => lineage.prompt));
  const leaked = validation.filter(({ lineage }) => known.has(lineage.prompt));
  if (leaked.length === 0) return undefined;
  return {
    kind: 'leakage',
    message: `validation examples with the same prompt as a training example: ${leaked.length} of ${validation.length}`,
    hint: 'hold out all runs of a seed together, e.g. with --validation 0.1',
  };
};

const templatesChanged: Check = ({ changedTemplates }) => {
  if (changedTemplates.length === 0) return undefined;
  const [first, ...others] = changedTemplates;
  return {
    kind: 'templates-changed',
    message: `the prompt templates of ${first}${others.length > 0 ? ` and ${plural(others.length, 'other run')}` : ''} are missing or have changed, so in use the trained model would receive different prompts`,
    hint: 'restore the templates, or exclude these runs',
  };
};

/** Alarm for a format that can't store weights; undefined if no weight is lost. */
export function weightsDropped(format: string, examples: readonly Example[]): Alarm | undefined {
  if (examples.every(({ weight }) => weight === 1)) return undefined;
  return {
    kind: 'weights-dropped',
    message: `${format} can't store weights, so every example counts equally`,
    hint: 'use --format jsonl, or another recipe',
  };
}
