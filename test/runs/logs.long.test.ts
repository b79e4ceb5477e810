/** How a run is stored: text that its logs repeat is stored once, and reading them uses little memory. */
import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeSyntheticRun } from '../../bench/synthetic-run.js';
import { openRecording } from '../../src/experiment/setup/open-models.js';
import { readPlayableRun } from '../../src/runs/open-run.js';
import { openLogs, readRun } from '../../src/runs/reader.js';
import { writeReport } from '../../src/web/report/write-report.js';
import { readRunFile } from '../support/experiments.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const long = { iterations: 420, candidates: 1, history: 400 };

async function syntheticRun(size = long) {
  const path = join(temporaryDirectory(), 'run');
  await writeSyntheticRun(path, size);
  return path;
}

describe('the logs of a long run', () => {
  it('take less than 8 kB per iteration with up to 400 evaluations in the prompt', async () => {
    const path = await syntheticRun();
    const bytes = ['calls', 'evaluations', 'episodes', 'events'].map(
      (name) => statSync(join(path, `${name}.jsonl`)).size,
    );
    expect(bytes.reduce((sum, size) => sum + size) / long.iterations).toBeLessThan(8_000);
    // What the prompts hold is forty times as much.
    const prompts = readRun(path).calls.map(({ messages }) => JSON.stringify(messages).length);
    expect(prompts.reduce((sum, size) => sum + size) / long.iterations).toBeGreaterThan(25_000);
  });

  it('reproduce every prompt with all its lines, and contain the last evaluation verbatim', async () => {
    const path = await syntheticRun();
    const asked = openLogs(path).calls;
    let calls = 0;
    for (const { iteration, messages } of asked) {
      calls++;
      const [system, user] = messages;
      expect(system!.content).toContain('Rule 19');
      const lines = user!.content.split('\n');
      expect(lines[0]).toBe('Evaluations so far, oldest first:');
      expect(lines.at(-1)).toBe(`This is iteration ${iteration} of 420. Propose new parameters.`);
      expect(lines).toHaveLength(3 + Math.min(400, 19 + iteration));
    }
    expect(calls).toBe(420);
    const written = readRunFile(path, 'calls');
    const [, , last] = readRun(path).calls.at(-1)!.messages[1]!.content.split('\n').toReversed();
    expect(written).toContain(last);
  });

  it('can be read if they start with a complete prompt, but not if a line refers to a lost one', async () => {
    const path = await syntheticRun();
    const whole = readRun(path).calls;
    const lines = readRunFile(path, 'calls').trimEnd().split('\n');
    writeFileSync(join(path, 'calls.jsonl'), `${lines.slice(256).join('\n')}\n`);
    expect([...openLogs(path).calls]).toEqual(whole.slice(256));
    writeFileSync(join(path, 'calls.jsonl'), `${lines.slice(255).join('\n')}\n`);
    expect(() => [...openLogs(path).calls]).toThrow(
      "calls.jsonl:1: this line can't be read: it refers to parts of a missing message (byte 0)",
    );
  });
});

describe('reading a run', () => {
  it('iterates over the calls of a recording again each time, and keeps no array of them', async () => {
    const path = await syntheticRun({ iterations: 30, candidates: 2, history: 20 });
    const { cassette } = openRecording({ provider: 'replayed', run: path, onChange: 'fail' }, { seed: 0 });
    expect(Array.isArray(cassette.calls)).toBe(false);
    expect([...cassette.calls].map(({ id }) => id)).toEqual([...cassette.calls].map(({ id }) => id));
  });

  it('ignores lines appended after the logs were opened', async () => {
    const path = await syntheticRun({ iterations: 30, candidates: 2, history: 20 });
    const logs = openLogs(path);
    const [first] = readRunFile(path, 'calls').split('\n');
    appendFileSync(join(path, 'calls.jsonl'), `${first}\n`);
    expect([...logs.calls]).toHaveLength(60);
    expect([...openLogs(path).calls]).toHaveLength(61);
  });
});

it('the report of a long run stays below 4 MB', async () => {
  const path = await syntheticRun({ iterations: 1500, candidates: 4, history: 400 });
  expect(readFileSync(await writeReport(path)).length).toBeLessThan(4_000_000);
  expect((await readPlayableRun(path)).recorded.entries).toHaveLength(6020);
});
