import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { execute as evaluateCommand } from '../../src/commands/evaluate.js';
import { elementTree } from '../rollout/pictures/xml-reader.js';
import { quick, recordingContext, runExperimentFrom, temporaryDirectory } from '../support/experiments.js';

it("evaluate --picture draws an episode, and rejects files that it can't write", async () => {
  const cwd = temporaryDirectory();
  const config = { ...quick, iterations: 1, model: { provider: 'random' } } as const;
  await runExperimentFrom(config, { path: join(cwd, 'buffers', 'a') });
  const { context, printed } = recordingContext(cwd);
  const args = { run: 'a', runsDir: 'buffers', episodes: 2, json: false };
  expect(await evaluateCommand({ ...args, picture: 'a.svg' }, context)).toBe(0);
  expect(printed.join('\n')).toMatch(/picture +a\.svg/);
  const svg = readFileSync(join(cwd, 'a.svg'), 'utf8');
  expect(elementTree(svg).children[0]!.text).toContain('CartPole-v1 · ');
  for (const [picture, message] of [
    ['a.png', '--picture: must end in .svg'],
    ['none/a.svg', '--picture: the directory does not exist'],
  ] as const)
    await expect(evaluateCommand({ ...args, picture }, context)).rejects.toThrow(message);
});
