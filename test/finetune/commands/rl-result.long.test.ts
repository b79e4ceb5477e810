import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { execute as exportCommand } from '../../../finetune/commands/export.js';
import { execute as rlCommand } from '../../../finetune/commands/rl.js';
import { takeLock } from '../../../src/base/files/lock.js';
import { execute as listCommand } from '../../../src/commands/list.js';
import { execute as runCommand } from '../../../src/commands/run.js';
import { execute as showCommand } from '../../../src/commands/show.js';
import { ort } from '../../../src/models/local/engine/onnx-runtime.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { tinyConfig } from '../rl/tiny-learning.js';

const place = temporaryDirectory();
const at = (...parts: readonly string[]) => join(place, ...parts);

const learning = { environment: 'bandit', updates: 2, groups: 2, groupSize: 8, checkpointEvery: 1 };
const numbers = `environment: CartPole-v1
policy: { kind: mlp, hidden: [4] }
value: { hidden: [4] }
algorithm: { kind: ppo, epochs: 1 }
updates: 2
batchEpisodes: 2
environments: 1
evaluation: { every: 1, episodes: 2 }
baselines: [random]
`;

const quietly = { quiet: true, json: true };
const learn = (config: string, overrides: readonly string[], changes = {}, options = {}) =>
  rlCommand({ config, overrides, ...quietly, ...options }, recordingContext(place, changes).context);

/** Returns the signals after Ctrl-C was pressed. */
function pressed() {
  const controller = new AbortController();
  controller.abort();
  return { stop: { finish: controller.signal, abort: new AbortController().signal } };
}

beforeAll(async () => {
  tinyConfig(learning, place);
  writeFileSync(at('numbers.yaml'), numbers);
  await learn('rl.yaml', ['output=tuned/whole']);
  await learn('rl.yaml', [
    ...['output=tuned/lora', 'model=package:models/tiny-improver', 'agent.maxTokens=4'],
    'method={kind: lora, rank: 2}',
  ]);
  await learn('numbers.yaml', ['output=tuned/numbers']);
  await learn('rl.yaml', ['output=tuned/cut'], pressed());
});

type Facts = Record<string, unknown>;

async function shown(run: string) {
  const { context, printed } = recordingContext(place);
  const args = { run, runsDir: 'buffers', top: 10, iteration: undefined, candidate: undefined };
  await showCommand({ ...args, json: false }, context);
  await showCommand({ ...args, json: true }, context);
  return { text: printed[0]!, facts: JSON.parse(printed[1]!) as Facts };
}

describe('the result of finetune rl, named by its own directory or that of its training run', () => {
  const given = { quiet: true, json: true };

  it.each(['tuned/lora', 'tuned/lora/adapter'])('can be merged: %s', async (source) => {
    const out = at(`merged-${source.length}`);
    const merging = { ...given, source, to: 'merged', out } as const;
    expect(await exportCommand(merging, recordingContext(place).context)).toBe(0);
    expect(openWeights(out).size).toBeGreaterThan(10);
  });

  it.each(['model.adapter=tuned/lora', 'model.adapter=tuned/lora/adapter'])(
    'can propose policies in a run: %s',
    async (override) => {
      const runsDir = `buffers-${override.length}`;
      const overrides = ['iterations=1', 'model={provider: local}', override];
      const { context, printed } = recordingContext(place);
      const args = { config: 'quickstart', overrides, runsDir, quiet: true, json: true, dryRun: false };
      expect(await runCommand(args as unknown as Parameters<typeof runCommand>[0], context)).toBe(0);
      expect(JSON.parse(printed.at(-1)!)).toMatchObject({ status: 'completed', iterations: 1 });
    },
  );
});

describe('training runs', () => {
  it('are shown with method, environment, progress, best return and how to use their result', async () => {
    const { facts, text } = await shown('tuned/whole');
    expect(facts).toMatchObject({
      kind: 'training',
      status: 'completed',
      objective: 'grpo',
      method: 'scratch',
      on: 'bandit',
      unit: 'update',
      steps: { done: 2, of: 2 },
      episodes: 32,
      tokens: 32,
      best: { kind: 'return', value: expect.any(Number), episodes: 64 },
      result: join('tuned', 'whole', 'model'),
    });
    expect(text).toMatch(/2 of 2 updates/);
    expect(text).toMatch(/model \(scratch\) with grpo in bandit/);
    expect(text).toContain(`model.path=${join('tuned', 'whole', 'model')}`);
    expect(text).not.toMatch(/^resume /m);
    expect((await shown('whole')).facts).toEqual(facts);
    expect((await shown('tuned/whole/model')).facts).toEqual(facts);
  });

  it('are shown as interrupted, with the command that resumes them, or as crashed or running', async () => {
    const { facts, text } = await shown('cut');
    const command = 'policyloop finetune rl rl.yaml output=tuned/cut';
    expect(facts).toMatchObject({ status: 'interrupted', steps: { done: 1, of: 2 }, command, folder: place });
    expect(text).toContain(`resume      ${command}`);
    cpSync(at('tuned', 'cut'), at('tuned', 'killed'), { recursive: true });
    const file = at('tuned', 'killed', 'training.json');
    const about = JSON.parse(readFileSync(file, 'utf8')) as Facts & { outcome: object };
    writeFileSync(file, JSON.stringify({ ...about, outcome: { ...about.outcome, ended: 'running' } }));
    expect((await shown('killed')).facts.status).toBe('crashed');
    const release = takeLock(at('tuned', 'killed', 'training.lock'));
    expect((await shown('killed')).facts.status).toBe('running');
    release();
  });

  it('of numeric policies are shown with the searches that they are compared with', async () => {
    const { facts, text } = await shown('tuned/numbers');
    expect(facts).toMatchObject({
      status: 'completed',
      model: 'mlp 4 tanh',
      objective: 'ppo',
      episodes: 4,
      tokens: null,
      final: [{ name: 'this policy' }, { name: 'random search' }],
    });
    expect(text).toContain('mlp 4 tanh (scratch) with ppo in CartPole-v1');
  });

  it('are listed by default, and only those in --runs-dir if it is set', async () => {
    const { context, printed } = recordingContext(place);
    await listCommand({ runsDir: 'buffers', json: true }, context);
    const names = (JSON.parse(printed[0]!) as readonly { name: string; kind: string }[]).map(
      ({ name }) => name,
    );
    expect(names).toEqual(
      expect.arrayContaining(['whole', 'lora', 'numbers', 'cut'].map((name) => join('tuned', name))),
    );
    await listCommand({ runsDir: 'buffers', json: false }, context);
    expect(printed[1]).toMatch(/tuned.whole +completed +model +grpo +bandit +2\/2 +held-out mean return/);
    mkdirSync(at('elsewhere'));
    await listCommand({ runsDir: 'elsewhere', json: true }, context);
    expect(JSON.parse(printed[2]!)).toEqual([]);
  });

  it('with a damaged record are reported as damaged, and the others are still listed', async () => {
    mkdirSync(at('damaged', 'one'), { recursive: true });
    writeFileSync(at('damaged', 'one', 'training.json'), '{"method": 3}');
    cpSync(at('tuned', 'numbers'), at('damaged', 'two'), { recursive: true });
    const { context, noted, printed } = recordingContext(place);
    await listCommand({ runsDir: 'damaged', json: true }, context);
    expect((JSON.parse(printed[0]!) as readonly object[]).length).toBe(1);
    expect(noted.join()).toMatch(/damaged.one: its record is damaged/);
    await expect(shown('damaged/one')).rejects.toThrow(/method/);
  });
});

describe('the record of a training run', () => {
  it('is not written in a dry run, which creates no session', async () => {
    const create = vi.spyOn(ort.InferenceSession, 'create');
    expect(await learn('rl.yaml', ['output=tuned/planned'], {}, { dryRun: true })).toBe(0);
    expect(create).not.toHaveBeenCalled();
    create.mockRestore();
    expect(existsSync(at('tuned', 'planned'))).toBe(false);
  });

  it('stays unchanged if other settings are rejected for the same output', async () => {
    const file = at('tuned', 'whole', 'training.json');
    const before = readFileSync(file, 'utf8');
    await expect(learn('rl.yaml', ['output=tuned/whole', 'learningRate=0.5'])).rejects.toThrow(
      /different settings, data or weights: learningRate was \S+ and is 0\.5/,
    );
    expect(readFileSync(file, 'utf8')).toBe(before);
  });
});
