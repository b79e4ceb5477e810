/** The engine that plays plans: several runs at once give what one after the other gives. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommandContext } from '../../src/base/context.js';
import { execute as resume } from '../../src/commands/resume.js';
import { execute as run } from '../../src/commands/run.js';
import { readManifest } from '../../src/runs/reader.js';
import { lockRun } from '../../src/storage/lock.js';
import { readRunFile, recordingContext, temporaryDirectory } from '../support/experiments.js';
import { startFakeOpenAI } from '../support/fake-openai.js';
import type { FakeServer } from '../support/fake-server.js';

const place = temporaryDirectory();
const at = (...parts: readonly string[]) => join(place, ...parts);
const names = ['repeat-1', 'repeat-2', 'repeat-3'];

let server: FakeServer;
afterAll(() => server.close());

beforeAll(async () => {
  const values = Array.from({ length: 10 }, (_, i) => `params[${i}]: 0.5`).join(', ');
  server = await startFakeOpenAI({ reply: () => values });
  writeFileSync(
    at('config.yaml'),
    `environment: CartPole-v1
model: { provider: hill-climb }
repeats: 3
iterations: 6
warmup: 3
evaluation: { episodes: 3, maxSteps: 60 }
confirmation: { candidates: 2, episodes: 5 }
`,
  );
});

const common = { runsDir: 'buffers', quiet: false, json: true } as const;

async function repeats(
  runDir: string,
  jobs: number,
  overrides: readonly string[] = [],
  outside: Partial<CommandContext> = {},
) {
  const { context, printed, noted } = recordingContext(place, outside);
  const args = { ...common, config: at('config.yaml'), runDir, jobs, overrides, dryRun: false };
  const code = await run(args, context);
  return { code, noted, lines: printed.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

async function goOn(path: string, jobs: number, overrides: readonly string[] = []) {
  const { context, printed, noted } = recordingContext(place);
  const code = await resume({ ...common, run: at(path), jobs, overrides }, context);
  return { code, noted, result: JSON.parse(printed.at(-1)!) as Record<string, unknown> };
}

const evaluations = (group: string) => names.map((name) => readRunFile(at(group, name), 'evaluations'));

describe('a plan played with --jobs', { timeout: 120_000 }, () => {
  it('gives the same evaluations in several threads, and labels each JSON event with its run', async () => {
    const serial = await repeats('serial', 1);
    const parallel = await repeats('parallel', 3);
    expect([serial.code, parallel.code]).toEqual([0, 0]);
    expect(evaluations('parallel')).toEqual(evaluations('serial'));
    const about = (lines: typeof serial.lines, name: string) =>
      lines.filter(({ run: of }) => of === name).map(({ kind }) => kind);
    const all = serial.lines.slice(0, -1).map(({ kind }) => kind);
    for (const name of names) expect(about(parallel.lines, name)).toEqual(all.slice(0, all.length / 3));
    expect(about(serial.lines, 'repeat-2')).toEqual(['run-started']);
    const [one, other] = [serial, parallel].map(({ lines }) => lines.at(-1)!);
    expect(other).toMatchObject({ status: 'completed', best: one!.best, summary: one!.summary });
  });

  it('stops on request after the current iterations, and resumes to the same evaluations', async () => {
    const [finish, never] = [new AbortController(), new AbortController().signal];
    const print = (line: string) => {
      if (line.includes('"iteration-finished"')) finish.abort();
    };
    const stopped = await repeats('stopped', 2, ['iterations=150'], {
      print,
      stop: { finish: finish.signal, abort: never },
    });
    expect(stopped.code).toBe(130);
    expect(readManifest(at('stopped', 'repeat-1')).status).toBe('interrupted');
    expect(existsSync(at('stopped', 'repeat-3'))).toBe(false);
    expect(await goOn('stopped', 3, ['iterations=50'])).toMatchObject({
      code: 0,
      result: { status: 'completed' },
    });
    await repeats('whole', 1, ['iterations=50']);
    expect(evaluations('stopped')).toEqual(evaluations('whole'));
  });

  it('removes stale locks and drafts of its complete runs when it resumes', async () => {
    await repeats('tidied', 1);
    const path = at('tidied', 'repeat-2');
    const before = readdirSync(path).toSorted();
    const gone = `${spawnSync('true').pid} ${hostname()} 1\n`;
    const leave = (run: string) => {
      writeFileSync(join(run, 'run.lock'), gone);
      writeFileSync(join(run, 'manifest.json.new'), '{');
    };
    leave(path);
    await goOn('tidied', 1);
    expect(readdirSync(path).toSorted()).toEqual(before);
    leave(path);
    await expect(goOn('tidied/repeat-2', 1)).rejects.toThrow(/this run is complete/);
    expect(readdirSync(path).toSorted()).toEqual(before);
    expect(readManifest(path).status).toBe('completed');
  });

  it('refuses a number of jobs below 1', async () => {
    await expect(repeats('none', 0)).rejects.toThrow(/--jobs: must be a whole number/);
    expect(existsSync(at('none'))).toBe(false);
  });
});

describe('resuming a plan', { timeout: 60_000 }, () => {
  it('reports a run that another process holds, and plays the others', async () => {
    await repeats('held', 1, ['iterations=2']);
    const release = lockRun(at('held', 'repeat-2', 'run.lock'));
    const { code, noted, result } = await goOn('held', 1, ['iterations=4']);
    release();
    expect(code).toBe(1);
    expect(noted.join('\n')).toMatch(/^repeat-2: .*another process is writing/m);
    expect(result).toMatchObject({ status: 'failed', failures: [{ run: 'repeat-2' }] });
    expect((result.repeats as { iterations: number }[]).map(({ iterations }) => iterations)).toEqual([
      4, 2, 4,
    ]);
  });

  it('plays the other runs if a manifest is damaged', async () => {
    await repeats('damaged', 1, ['iterations=2']);
    writeFileSync(at('damaged', 'repeat-1', 'manifest.json'), '{');
    await expect(goOn('damaged', 1, ['iterations=4'])).rejects.toThrow(/manifest\.json: .*not valid JSON/);
    expect(readManifest(at('damaged', 'repeat-3')).iterations.done).toBe(4);
  });

  it('is refused while another process plays the same plan', async () => {
    await repeats('locked', 1, ['iterations=2']);
    const record = readFileSync(at('locked', 'group.json'), 'utf8');
    const release = lockRun(at('locked', 'run.lock'));
    await expect(goOn('locked', 1, ['iterations=4'])).rejects.toThrow(/another process is writing here/);
    release();
    expect((await goOn('locked', 1, ['iterations=4'])).code).toBe(0);
    expect(readFileSync(at('locked', 'group.json'), 'utf8')).toBe(record);
  });
});
