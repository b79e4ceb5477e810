/** Collections of six short runs. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execute as collectCommand } from '../../finetune/commands/collect.js';
import type { CommandContext } from '../../src/base/context.js';
import { readRun } from '../../src/runs/reader.js';
import { readRunFile, recordingContext, temporaryDirectory } from '../support/experiments.js';

type CollectArguments = Parameters<typeof collectCommand>[0];

export const place = temporaryDirectory();
export const at = (...parts: readonly string[]) => join(place, ...parts);

const text = `
output: OUTPUT
runs: 6
seed: 3
experiment:
  candidates: 4
  warmup: 2
  evaluation: { episodes: 2, maxSteps: 40 }
  confirmation: { candidates: 0 }
  memory: { best: 3 }
  record: none
  iterations: 4
tasks:
  - { weight: 2, environment: CartPole-v1 }
  - { weight: 1, name: Swing, environment: Pendulum-v1, policy: { kind: linear, low: -3, high: { from: 2, to: 5.5 } } }
proposers:
  - { weight: 1, model: { provider: hill-climb, sigma: { from: 0.5, to: 2.5 } }, memory: { recent: 2 } }
  - { weight: 1, model: { provider: cma-es }, iterations: { from: 2, to: 5 } }
`;

let files = 0;
export function write(output: string, change: (text: string) => string = (same) => same): string {
  const file = at(`collection-${files++}.yaml`);
  writeFileSync(file, change(text.replace('OUTPUT', output)));
  return file;
}

export async function collect(
  config: string,
  changes: Partial<CollectArguments> = {},
  outside: Partial<CommandContext> = {},
) {
  const { context, printed, noted } = recordingContext(place, outside);
  const code = await collectCommand(
    { config, overrides: [], jobs: 1, quiet: false, json: true, ...changes },
    context,
  );
  return { code, printed, noted, summary: JSON.parse(printed.at(-1)!) as Record<string, unknown> };
}

/** Config, evaluations and calls of every run, without the clock. */
export function contents(output: string) {
  return readdirSync(at(output))
    .filter((name) => /^\d/.test(name))
    .toSorted()
    .map((name) => {
      const path = at(output, name);
      const calls = readRun(path).calls.map(({ time: _time, completion, ...call }) => ({
        ...call,
        text: completion?.text,
      }));
      return [name, readRunFile(path, 'config'), readRunFile(path, 'evaluations'), calls] as const;
    });
}
