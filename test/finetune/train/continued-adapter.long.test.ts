import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { execute as rlCommand } from '../../../finetune/commands/rl.js';
import { readLineage } from '../../../finetune/dataset/lineage.js';
import type { Conversation } from '../../../finetune/dataset/read-dataset.js';
import type { TrainingEvent } from '../../../finetune/train/events.js';
import { fineTune } from '../../../finetune/train/supervised.js';
import { adaptableModules } from '../../../src/models/local/graph/adapter.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { adapterValues } from '../reference-training.js';
import { tinyConfig } from '../rl/tiny-learning.js';
import { tuning } from './tuning.js';

const folder = temporaryDirectory();
const at = (...parts: readonly string[]) => path.join(folder, ...parts);

const conversations: readonly Conversation[] = Array.from({ length: 8 }, (_, i) => ({
  messages: [{ role: 'user', content: `f(params): ${'9'.repeat(1 + (i >> 1))}. Propose.` }],
  completion: `params[0]: ${i}.5`,
  weight: 1,
}));

const lora = { kind: 'lora', rank: 4, alpha: 8, modules: adaptableModules };

async function lossesOf(name: string, adapter?: string, change: object = {}): Promise<readonly number[]> {
  const events: TrainingEvent[] = [];
  const config = tuning({
    method: { ...lora, ...(adapter !== undefined && { adapter }) },
    epochs: 4,
    batchTokens: 128,
    weightDecay: 0,
    output: at(name),
    ...change,
  });
  await fineTune(
    config,
    { training: conversations, validation: [] },
    { onEvent: (event) => void events.push(event) },
  );
  return events.flatMap((event) => (event.kind === 'step' ? [event.loss!] : []));
}

describe('a continued adapter', () => {
  const first = at('first', 'adapter');
  let losses: readonly number[];
  beforeAll(async () => {
    losses = await lossesOf('first');
  });

  it('starts from the weights that the earlier training run ended with, even with another seed', async () => {
    const idle = { learningRate: 1e-30, epochs: 1, seed: 7 };
    const [loss] = await lossesOf('idle', first, { ...idle, batchExamples: 8 });
    expect(adapterValues(at('idle', 'adapter'))).toEqual(adapterValues(first));
    expect(loss).toBeLessThan(losses.at(-1)!);
    const longer = await lossesOf('longer', first);
    expect(longer.at(-1)).toBeLessThan(loss!);
  });

  it('is the reference policy of DPO', async () => {
    const [loss] = await lossesOf('preferring', first, { objective: { kind: 'dpo' }, epochs: 1 });
    // −log σ(0): the answers are as likely as under the reference.
    expect(loss).toBeCloseTo(Math.LN2, 5);
  });

  it('requires the same LoRA settings', async () => {
    const refused = lossesOf('other', first, { method: { ...lora, alpha: 16, adapter: first } });
    await expect(refused).rejects.toThrow(/method\.adapter: .*different settings[\s\S]*method\.alpha=8 /);
  });

  it('is not overwritten by the result', async () => {
    await expect(lossesOf('first', first)).rejects.toThrow(/the adapter to continue[\s\S]*another output/);
  });

  it('is the reference policy in finetune rl and is recorded in the lineage', async () => {
    tinyConfig({ environment: 'bandit', updates: 1, groups: 2, groupSize: 4, checkpointEvery: 1 }, folder);
    const text = readFileSync(at('rl.yaml'), 'utf8');
    const method = { kind: 'lora', rank: 2 };
    const model = 'package:models/tiny-improver';
    const written = { ...JSON.parse(text), model, method, agent: { maxTokens: 4, fallback: 'first' } };
    writeFileSync(at('rl.yaml'), JSON.stringify({ ...written, objective: { kind: 'grpo', kl: 0.1 } }));
    const learn = (...overrides: readonly string[]) => {
      const args = { config: 'rl.yaml', overrides, quiet: true, json: true };
      return rlCommand(args, recordingContext(folder).context);
    };
    expect(await learn('output=tuned/one')).toBe(0);
    // The adapter is named by its training run's directory.
    expect(await learn('output=tuned/two', 'method.adapter=tuned/one', 'learningRate=1e-30')).toBe(0);
    expect(adapterValues(at('tuned/two/adapter'))).toEqual(adapterValues(at('tuned/one/adapter')));
    const metrics = readFileSync(at('tuned/two/metrics.jsonl'), 'utf8').trim().split('\n');
    const steps = metrics.map((line) => JSON.parse(line) as { kind: string; kl: number });
    // With the base as the reference, it is 4.6 nats.
    expect(steps.find(({ kind }) => kind === 'step')!.kl).toBeCloseTo(0, 9);
    const { base } = readLineage(at('tuned/two/adapter'))!;
    expect(base.adapter).toBe(at('tuned/one'));
    expect(base.lineage?.config.output).toBe(at('tuned/one'));
    await expect(learn('output=tuned/three', 'method.adapter=tuned/none')).rejects.toThrow('method.adapter');
  });
});
