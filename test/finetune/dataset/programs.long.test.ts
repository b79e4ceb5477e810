import { beforeAll, describe, expect, it } from 'vitest';
import { buildDataset, type DatasetOptions } from '../../../finetune/dataset/dataset.js';
import type { Imitation } from '../../../finetune/dataset/example.js';
import { statedReason } from '../../../src/prompting/answer/reason.js';
import { temporaryDirectory } from '../../support/experiments.js';
import { createScriptedModel } from '../../support/scripted-model.js';
import { evaluationsOf, named, played } from './runs.js';

const block = (source: string) => `\`\`\`js\n${source}\n\`\`\``;
const left = 'function act() {\n  return 0;\n}';
const lean = 'function act(o) {\n  return o[2] > 0 ? 1 : 0;\n}';
const damped = 'function act(o) {\n  return o[2] + 0.5 * o[3] > 0 ? 1 : 0;\n}';
const broken = 'function act(o) {\n  return angle > 0 ? 1 : 0;\n}';

const root = temporaryDirectory();
let path: string;

beforeAll(async () => {
  // A good program, none, a failed one, a failed correction, a good one, a repeat, and its correction.
  const replies = [
    block(lean),
    'Hm.',
    block(broken),
    block(`${broken};`),
    `Damp it.\n${block(damped)}`,
    block(lean),
    block(left),
  ];
  path = await played(
    {
      policy: { kind: 'program' },
      model: { provider: 'openai', name: 'any' },
      iterations: 3,
      warmup: { policies: 1 },
    },
    { root, name: 'programs', model: createScriptedModel(replies), env: { OPENAI_API_KEY: 'none' } },
  );
});

const build = async (recipe: DatasetOptions['recipe'], ...more: readonly string[]) => {
  const runs = [path, ...more].map((one, i) => named(one, String(i)));
  const { train } = await buildDataset(runs, { recipe, validation: { kind: 'none' }, seed: 0 });
  return train as readonly Imitation[];
};

describe('datasets of programs', () => {
  it('contain improvements, with the reason outside the program', async () => {
    const [, , third] = evaluationsOf(path);
    expect(third!.program).toBe(damped);
    const examples = await build('improvement');
    expect(examples.at(-1)!.completion).toBe(`${block(damped)}\nDamp it.`);
    expect(examples.map(({ lineage }) => lineage.iteration)).not.toContain(3);
  });

  it('contain only repairs of failed programs if the recipe is repair', async () => {
    const [example, ...more] = await build('repair');
    expect(more).toEqual([]);
    const { completion, lineage, prompt } = example!;
    expect(completion).toBe(`${block(damped)}\nDamp it.`);
    expect(prompt.map(({ role }) => role).slice(-2)).toEqual(['assistant', 'user']);
    expect(prompt.at(-2)!.content).toContain('return angle > 0');
    expect(prompt.at(-1)!.content).toContain("'angle' is not defined");
    expect(lineage).toMatchObject({
      recipe: 'repair',
      iteration: 2,
      candidate: 0,
      promptIteration: 2,
      history: 1,
    });
    expect(lineage.repaired).toMatch(/^line 2: ReferenceError: 'angle' is not defined \(observation \[/);
    expect(lineage.score).toBe(evaluationsOf(path)[2]!.score);
  });

  it('reject the preference recipe, and the repair recipe rejects numeric policies', async () => {
    await expect(build('preference')).rejects.toThrow(
      /--recipe: doesn't support .*programs[\s\S]*improvement, weighted, repair/,
    );
    expect(await build('weighted')).not.toEqual([]);
    const numbers = await played({}, { root, name: 'numbers' });
    await expect(build('repair', numbers)).rejects.toThrow('which are vectors of numbers');
    expect(await build('improvement', numbers)).not.toEqual([]);
  });

  it('never include a program in the reason', () => {
    expect(statedReason(`Idea: lean.\n${block(lean)}\nIt is faster.`)).toBe('Idea: lean. It is faster.');
    expect(statedReason(lean)).toBe('');
    expect(statedReason('Larger gain.\nparams[0]: 1, params[1]: 2')).toBe('Larger gain.');
  });
});
