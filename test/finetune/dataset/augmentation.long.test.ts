import { resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  augmented,
  drawScale,
  drawSymmetry,
  type Symmetry,
  transformed,
  transformedRun,
} from '../../../finetune/dataset/augmentation.js';
import { buildDataset } from '../../../finetune/dataset/dataset.js';
import { proposalRecipes } from '../../../finetune/dataset/example.js';
import type { SourceRun } from '../../../finetune/dataset/source-run.js';
import type { ConfigInput } from '../../../src/config/config.js';
import { createGenerator } from '../../../src/random/generator.js';
import { answerOf, named, played, playedSource, read } from './runs.js';

const compact = {
  prompts: { set: 'compact' },
  memory: { best: 3, recent: 2 },
  iterations: 6,
  candidates: 3,
  seed: 1,
} as const satisfies Partial<ConfigInput>;

let run: SourceRun;
let held: SourceRun;
let table: SourceRun;
beforeAll(async () => {
  run = await playedSource(compact);
  held = await playedSource({ ...compact, memory: { ...compact.memory, ofGroup: 2 } });
  table = await playedSource({ ...compact, environment: 'FrozenLake-v1', prompts: { set: 'numeric' } });
});

const still = (count: number) => Array.from({ length: count }, (_, from) => ({ from, sign: 1 }) as const);
/** CartPole's: the two actions change places, nothing else. */
const exchange: Symmetry = {
  kind: 'linear',
  observations: still(4),
  outputs: [
    { from: 1, sign: 1 },
    { from: 0, sign: 1 },
  ],
};

describe('a transformed run', () => {
  it('has the logged prompts if the symmetry is the identity', () => {
    for (const logged of [run, held]) {
      const same = transformedRun(logged, { kind: 'linear', observations: still(4), outputs: still(2) });
      expect(same.steps.map(({ prompt }) => prompt)).toEqual(logged.steps.map(({ prompt }) => prompt));
    }
    const description = table.family.description as { states: number; actions: readonly string[] };
    const order = (count: number) => still(count).map(({ from }) => from);
    const { states, actions } = description;
    const same = transformedRun(table, {
      kind: 'table',
      states: order(states),
      actions: order(actions.length),
    });
    expect(same.steps.map(({ promptHash }) => promptHash)).toEqual(
      table.steps.map(({ promptHash }) => promptHash),
    );
  });

  it('has transformed parameters in its prompts and evaluations, and the logged scores', () => {
    const moved = transformedRun(run, exchange);
    for (const [i, { prompt, incumbent, proposals }] of moved.steps.entries()) {
      const logged = run.steps[i]!;
      expect(prompt).not.toEqual(logged.prompt);
      expect(prompt[1]!.content.split('\n')[0]).toBe(logged.prompt[1]!.content.split('\n')[0]);
      const best = prompt[1]!.content.split('\n').at(-2)!;
      expect(read(best, run)).toEqual(
        transformed(read(logged.prompt[1]!.content.split('\n').at(-2)!, run), exchange, run.family),
      );
      expect(read(best, run)).toEqual(incumbent!.parameters);
      for (const [j, { entry }] of proposals.entries()) {
        const before = logged.proposals[j]!.entry;
        expect(entry).toEqual({
          ...before,
          parameters: transformed(before.parameters, exchange, run.family),
        });
      }
    }
  });

  it('has policies that choose the other action if the symmetry swaps the two actions', () => {
    const image = transformedRun(run, exchange).recorded.entries;
    for (const [i, { parameters }] of image.entries()) {
      const policy = run.family.build(run.recorded.entries[i]!.parameters);
      const other = run.family.build(parameters);
      for (const state of [
        [0.1, 0.2, -0.05, 0.3],
        [-1, 0.4, 0.1, -2],
      ])
        expect(other(state)).toBe(1 - (policy(state) as number));
    }
  });

  it('depends on the seed and the copy number, but not on the file hash of the run', () => {
    const copies = augmented(run, 3, 0);
    const prompts = copies.map(({ steps }) => steps[0]!.promptHash);
    expect(copies.map(({ copy }) => copy)).toEqual([1, 2, 3]);
    expect(new Set(prompts).size).toBe(3);
    expect(augmented(run, 2, 0).map(({ steps }) => steps[0]!.promptHash)).toEqual(prompts.slice(0, 2));
    expect(augmented(run, 1, 1)[0]!.steps[0]!.promptHash).not.toBe(prompts[0]);
    expect(augmented(run, 0, 0)).toEqual([]);
    // Made again at another time, the same run has files with another hash.
    const again = augmented({ ...run, hash: 'f'.repeat(64) }, 2, 0);
    expect(again.map(({ steps }) => steps[0]!.promptHash)).toEqual(prompts.slice(0, 2));
  });

  it('can rescale returns, which keeps their order, minimum and maximum', () => {
    const { entries } = run.recorded;
    const scores = entries.map(({ score }) => score).toSorted((a, b) => a - b);
    for (let seed = 0; seed < 50; seed++) {
      const told = scores.map(drawScale(entries, createGenerator(seed)));
      expect(told).toEqual(told.toSorted((a, b) => a - b));
      expect(new Set(told).size).toBe(new Set(scores).size);
      expect(told[0]).toBeCloseTo(scores[0]!, 9);
      expect(told.at(-1)).toBeCloseTo(scores.at(-1)!, 9);
    }
    const alike = entries.map((entry) => ({ ...entry, score: 7 }));
    expect(drawScale(alike, createGenerator(0))(7)).toBe(7);
    const [plain, warped] = [false, true].map((warp) => augmented(run, 1, 0, warp)[0]!);
    expect(warped!.steps.map(({ proposals }) => proposals)).toEqual(
      plain!.steps.map(({ proposals }) => proposals),
    );
    expect(warped!.steps.map(({ promptHash }) => promptHash)).not.toEqual(
      plain!.steps.map(({ promptHash }) => promptHash),
    );
  });

  it('is rejected if its prompts show more of the environment than parameters and scores', async () => {
    const refused = async (changes: Partial<ConfigInput>, message: RegExp) => {
      const source = await playedSource({ ...compact, ...changes });
      const symmetry = drawSymmetry(source.family, createGenerator(0));
      expect(() => transformedRun(source, symmetry)).toThrow(message);
    };
    await refused({ prompts: { set: 'semantic' } }, /prompts\.set[\s\S]*semantic[\s\S]*numeric, compact/);
    await refused(
      { memory: { trajectories: 'summary' }, prompts: { set: 'numeric' } },
      /memory\.trajectories/,
    );
    await refused({ prompts: { set: 'numeric', conversation: { turns: 2 } } }, /earlier replies/);
    const from = resolve(import.meta.dirname, '../../../buffers/example-cartpole');
    await refused({ demonstrations: { from }, prompts: { set: 'numeric' } }, /demonstrations would show/);
    expect(() => transformedRun({ ...run, prompts: undefined }, exchange)).toThrow(/templates of a /);
  });
});

describe('a dataset with augmented copies', () => {
  it('multiplies the training examples of every recipe and leaves the validation split unchanged', async () => {
    const paths = [await played(compact), await played({ ...compact, seed: 2 })];
    const runs = paths.map((path, i) => named(path, `run-${i}`));
    for (const recipe of proposalRecipes) {
      const options = { recipe, validation: { kind: 'share', share: 0.5 }, seed: 0 } as const;
      const plain = await buildDataset(runs, options);
      const more = await buildDataset(runs, { ...options, augment: 2 });
      expect(more.validation).toEqual(plain.validation);
      expect(more.train.filter(({ lineage }) => lineage.copy === undefined)).toEqual(plain.train);
      expect(plain.train.length).toBeGreaterThan(0);
      expect(more.train).toHaveLength(3 * plain.train.length);
      const source = more.sources.find(({ split }) => split === 'train')!;
      expect(source.kept).toBe(more.train.length);
      for (const example of more.train)
        expect(read(answerOf(example), run)).toHaveLength(run.family.parameters.count);
    }
  });
});
