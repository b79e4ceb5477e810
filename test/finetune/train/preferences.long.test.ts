import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type Conversation,
  readConversations,
  readPairConversations,
} from '../../../finetune/dataset/read-dataset.js';
import type { TrainingEvent } from '../../../finetune/train/events.js';
import { layOut, pairsOf } from '../../../finetune/train/packing.js';
import { fineTune } from '../../../finetune/train/supervised.js';
import { loadTrainConfig } from '../../../finetune/train/train-config.js';
import { adaptableModules } from '../../../src/models/local/graph/adapter.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { tuning } from './tuning.js';

const folder = temporaryDirectory();

/** Even numbers are better than odd ones. */
const pairs = Array.from({ length: 8 }, (_, i) => ({
  prompt: [{ role: 'user' as const, content: `f(params): ${'9'.repeat(1 + (i % 4))}. Propose.` }],
  chosen: `params[0]: ${2 * i}.5`,
  rejected: `params[0]: ${2 * i + 1}.5`,
}));

const conversations: readonly Conversation[] = pairs.flatMap(({ prompt, chosen, rejected }) =>
  [chosen, rejected].map((completion) => ({ messages: prompt, completion, weight: 1 })),
);

const data = { training: conversations.slice(4), validation: conversations.slice(0, 4) };

async function recorded(name: string, change: object = {}, own = data, stopAt = Number.POSITIVE_INFINITY) {
  const events: TrainingEvent[] = [];
  let step = 0;
  const config = tuning({
    method: { kind: 'lora', rank: 4, alpha: 8, modules: adaptableModules },
    objective: { kind: 'dpo' },
    epochs: 6,
    batchTokens: 256,
    learningRate: 0.003,
    weightDecay: 0,
    evaluateEvery: 4,
    checkpointEvery: 4,
    output: path.join(folder, name),
    ...change,
  });
  const outcome = await fineTune(config, own, {
    onEvent(event) {
      events.push(event);
      if (event.kind === 'step') step = event.step;
    },
    stop: () => step >= stopAt,
  });
  return { events, outcome };
}

const lossesOf = (events: readonly TrainingEvent[]) =>
  events.flatMap((event) => (event.kind === 'step' ? [event.loss] : []));

describe('training on preferences', () => {
  it.each(['lora', 'full'] as const)(
    '%s: starts with a loss of ln 2 and learns to prefer the chosen replies',
    async (kind) => {
      const { events } = await recorded(kind, kind === 'full' ? { method: { kind } } : {});
      const losses = lossesOf(events);
      expect(losses).toHaveLength(12);
      // Nothing has moved yet, so neither answer is preferred over the reference.
      expect(losses[0]).toBeCloseTo(Math.LN2, 4);
      expect(losses.at(-1)).toBeLessThan(0.6);
      expect(events.some(({ kind: own }) => own === 'validation')).toBe(true);
    },
  );

  it('learns the opposite from swapped replies', async () => {
    const exchanged = pairsOf(conversations).flatMap(([chosen, rejected]) => [rejected!, chosen!]);
    const own = { training: exchanged.slice(4), validation: conversations.slice(4) };
    const { events } = await recorded('exchanged', {}, own);
    const validation = events.flatMap((event) => (event.kind === 'validation' ? [event.loss] : []));
    expect(validation.at(-1)).toBeGreaterThan(Math.LN2);
  });
});

it('packing by pairs puts both replies of a pair after one prompt', () => {
  const examples = [5, 3, 9, 2].map((length, i) => ({
    promptIds: i < 2 ? [1, 2, 3] : [4],
    completionIds: Array<number>(length).fill(7),
    weight: 1,
  }));
  const parts = layOut(examples, { packing: 'pairs', batchTokens: 12 });
  expect(parts.flat().map((family) => family.map((one) => examples.indexOf(one)))).toEqual([
    [0, 1],
    [2, 3],
  ]);
});

describe('datasets of pairs', () => {
  const write = (name: string, rows: readonly unknown[]) => {
    const directory = path.join(folder, name);
    mkdirSync(directory, { recursive: true });
    const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
    writeFileSync(path.join(directory, 'train.jsonl'), lines.join(''));
    return directory;
  };

  it('are read as two replies per pair, the chosen one first', () => {
    expect(readPairConversations(write('pairs', pairs), 'train')).toEqual(conversations);
  });

  it('are rejected where single replies are expected, and vice versa', () => {
    const [{ prompt, chosen }] = pairs as [(typeof pairs)[number]];
    expect(() => readConversations(write('pairs', pairs), 'train')).toThrow(/which needs `prompt`/);
    expect(() => readPairConversations(write('answers', [{ prompt, completion: chosen }]), 'train')).toThrow(
      /train\.jsonl:1: chosen: this row does not fit dpo[\s\S]*--recipe preference/,
    );
  });

  it("require an initial model, and can't be packed as conversations", () => {
    const file = path.join(folder, 'tune.yaml');
    const load = (method: string, ...overrides: readonly string[]) => {
      writeFileSync(file, `{model: a, dataset: b, objective: {kind: dpo}, method: {kind: ${method}}}`);
      return loadTrainConfig(file, overrides);
    };
    expect(load('lora').objective).toEqual({ kind: 'dpo', beta: 0.1 });
    expect(() => load('scratch')).toThrow(/dpo needs the initial model/);
    expect(() => load('lora', 'packing=conversations')).toThrow(/packing=conversations: .*in pairs/);
    rmSync(file);
  });
});
