import { describe, expect, it } from 'vitest';
import {
  type Example,
  type Imitation,
  type Preference,
  type RowFormat,
  recipes,
  rowFormats,
} from '../../../finetune/dataset/example.js';
import { exportRow, requireExportable } from '../../../finetune/dataset/write-dataset.js';
import type { UserError } from '../../../src/base/errors.js';

const prompt = [
  { role: 'system', content: 'Rules' },
  { role: 'user', content: 'First' },
  { role: 'assistant', content: 'params[0]: 1.0' },
  { role: 'user', content: 'Next' },
] as const;

const lineage = {
  run: 'a',
  environment: 'CartPole-v1',
  model: 'baseline/random',
  prompt: 'hash',
  promptIteration: 2,
  history: 3,
  incumbent: 10,
  iteration: 2,
  candidate: 0,
  score: 20,
} as const;

const imitation: Imitation = {
  kind: 'imitation',
  prompt,
  completion: 'params[0]: 2.0',
  weight: 0.5,
  lineage: { ...lineage, recipe: 'weighted' },
};

const preference: Preference = {
  kind: 'preference',
  prompt,
  chosen: 'params[0]: 2.0',
  rejected: 'params[0]: 3.0',
  weight: 1,
  lineage: { ...lineage, recipe: 'preference', rejected: { iteration: 2, candidate: 1, score: 5 } },
};

const contents = (examples: readonly Example[], format: RowFormat) =>
  examples.map((example) => exportRow(example, format));
const says = (content: string) => [{ role: 'assistant', content }];

describe('rows', () => {
  it('in our own format contain weight and lineage', () => {
    expect(contents([imitation, preference], 'jsonl')).toEqual([
      { prompt, completion: 'params[0]: 2.0', weight: 0.5, lineage: imitation.lineage },
      {
        prompt,
        chosen: 'params[0]: 2.0',
        rejected: 'params[0]: 3.0',
        weight: 1,
        lineage: preference.lineage,
      },
    ]);
  });

  it('for TRL are conversational', () => {
    expect(contents([imitation], 'trl-sft')).toEqual([{ prompt, completion: says('params[0]: 2.0') }]);
    expect(contents([preference], 'trl-dpo')).toEqual([
      { prompt, chosen: says('params[0]: 2.0'), rejected: says('params[0]: 3.0') },
    ]);
  });

  it('for OpenAI-compatible APIs are chats; for sft, earlier replies have a weight of 0', () => {
    expect(contents([imitation], 'openai-sft')).toEqual([
      {
        messages: [
          prompt[0],
          prompt[1],
          { role: 'assistant', content: 'params[0]: 1.0', weight: 0 },
          prompt[3],
          { role: 'assistant', content: 'params[0]: 2.0' },
        ],
      },
    ]);
    expect(contents([preference], 'openai-dpo')).toEqual([
      {
        input: { messages: prompt },
        preferred_output: says('params[0]: 2.0'),
        non_preferred_output: says('params[0]: 3.0'),
      },
    ]);
  });
});

it('a format that does not suit the recipe is rejected, and alternatives are suggested', () => {
  const accepted = recipes.map((recipe) =>
    rowFormats.filter((format) => {
      try {
        requireExportable(recipe, format);
        return true;
      } catch (error) {
        expect((error as UserError).problems[0]!.alternatives).toContain('jsonl');
        expect((error as UserError).problems[0]!.alternatives).not.toContain(format);
        return false;
      }
    }),
  );
  const single = ['jsonl', 'trl-sft', 'openai-sft'];
  expect(accepted).toEqual([single, ['jsonl'], ['jsonl', 'trl-dpo', 'openai-dpo'], single, single]);
});
