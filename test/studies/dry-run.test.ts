/** `policyloop run --dry-run` with a history: the prompt that a run would send, without a call. */
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { execute as init } from '../../src/commands/init.js';
import { execute as runCommand } from '../../src/commands/run.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import {
  quick,
  recordingContext,
  runExperimentFrom,
  seededModel,
  temporaryDirectory,
} from '../support/experiments.js';

const config = {
  ...quick,
  model: { provider: 'ollama', name: 'tiny' },
  prompts: { set: 'numeric' },
  memory: { trajectories: 'rows' },
} as const;

function workplace(changes: object = {}) {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'my.yaml'), stringify({ ...config, ...changes }));
  return cwd;
}

async function dryRun(cwd: string, more: object, dry = true) {
  const { context, printed } = recordingContext(cwd);
  const args = { config: 'my.yaml', overrides: [], runsDir: 'buffers', quiet: true, json: true };
  await runCommand({ ...args, dryRun: dry, ...more }, context);
  return JSON.parse(printed.join('')) as { iteration: number; messages: readonly ChatMessage[] };
}

const evaluations = (messages: readonly ChatMessage[]) =>
  messages.at(-1)!.content.match(/^params.*; f\(params\)/gm)?.length ?? 0;

it('a dry run with the warm-up as its history shows the first prompt of a run', async () => {
  const cwd = workplace();
  const model = seededModel();
  await runExperimentFrom(config, { model });
  const { iteration, messages } = await dryRun(cwd, { history: config.warmup });
  expect(iteration).toBe(1);
  expect(messages).toEqual(model.calls[0]!.messages);
  expect(existsSync(join(cwd, 'buffers'))).toBe(false);
});

it('a dry run with a longer history shows a later prompt, with evaluations from iterations', async () => {
  const { iteration, messages } = await dryRun(workplace(), { history: 6 });
  expect(iteration).toBe(4);
  expect(messages.at(-1)!.content).toContain('This is iteration 4 of 6.');
  // The best one stands once more behind the history.
  expect(evaluations(messages)).toBe(7);
  const { messages: none } = await dryRun(workplace(), {});
  expect(evaluations(none)).toBe(0);
});

it('a dry run shows the prompt of a set that init copied, with the helpers that init wrote', async () => {
  const cwd = workplace({ prompts: { set: './my-prompts', helpers: './helpers.mjs' } });
  const { context } = recordingContext(cwd);
  await init({ kind: 'prompts', file: 'my-prompts' }, context);
  await expect(init({ kind: 'prompts', file: 'my-prompts' }, context)).rejects.toThrow('already exists');
  await init({ kind: 'helpers', file: 'helpers.mjs' }, context);
  appendFileSync(join(cwd, 'my-prompts', 'system.hbs'), '{{laboratory}}');
  expect((await dryRun(cwd, {})).messages[0]!.content).toContain('Laboratory 7');
});

it('--history is rejected if it is negative or --dry-run is missing', async () => {
  await expect(dryRun(workplace(), { history: -1 })).rejects.toThrow('--history');
  await expect(dryRun(workplace(), { history: 3 }, false)).rejects.toThrow('add --dry-run');
});
