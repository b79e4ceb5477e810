import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { pageBuilders } from '../../../finetune/evaluate/shown-pages.js';
import { execute } from '../../../src/commands/runs/export.js';
import { recordingContext, runExperimentFrom, temporaryDirectory } from '../../support/experiments.js';

/** The records of an event file, split by the lengths that it stores. */
function recordsIn(bytes: Buffer): readonly string[] {
  const records: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = Number(bytes.readBigUInt64LE(at));
    records.push(bytes.toString('latin1', at + 12, at + 12 + length));
    at += 16 + length;
  }
  return records;
}

it('export writes the curves of a run to one event file, even when repeated', async () => {
  const cwd = temporaryDirectory();
  const given = {
    environment: 'CartPole-v1',
    model: { provider: 'random' },
    iterations: 4,
    warmup: 2,
  } as const;
  const small = { evaluation: { episodes: 2 }, confirmation: { candidates: 1, episodes: 3 } } as const;
  await runExperimentFrom({ ...given, ...small }, { path: join(cwd, 'buffers', 'study', 'r') });
  const folder = join(cwd, 'curves', 'study', 'r');
  const args = { runs: ['study/r'], format: 'tensorboard' as const, out: 'curves', runsDir: 'buffers' };
  const written = async () => {
    const { context, printed } = recordingContext(cwd);
    expect(await execute({ ...args, json: true }, context, pageBuilders)).toBe(0);
    expect(JSON.parse(printed.join(''))).toEqual([
      { run: 'study/r', file: join('curves', 'study', 'r'), values: 3 * 5 + 3 },
    ]);
    const [name, ...more] = readdirSync(folder);
    expect(more).toEqual([]);
    return readFileSync(join(folder, name!));
  };
  const bytes = await written();
  const records = recordsIn(bytes);
  // The version, the start, the warm-up and four iterations, the confirmation.
  expect(records).toHaveLength(2 + 5 + 1);
  expect(records[0]).toContain('brain.Event:2');
  for (const record of records.slice(2, 7)) expect(record).toContain('return/best so far');
  expect(records[7]).toContain('confirmed/low');
  expect((await written()).equals(bytes)).toBe(true);
});
