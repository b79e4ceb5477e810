/** The engine that executes plans: resuming and locks. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { takeLock } from '../../src/base/files/lock.js';
import { execute as resume } from '../../src/commands/resume.js';
import { execute } from '../../src/commands/sweep.js';
import { readManifest } from '../../src/runs/reader.js';
import type { SweepResult } from '../../src/studies/sweep/sweep-result.js';
import { quick, recordingContext, temporaryDirectory } from '../support/experiments.js';

const place = temporaryDirectory();
const at = (...parts: readonly string[]) => join(place, ...parts);
const names = ['sigma-0.3/seed-1', 'sigma-1/seed-1', 'sigma-2/seed-1'];

beforeAll(() =>
  writeFileSync(at('config.yaml'), JSON.stringify({ ...quick, model: { provider: 'hill-climb' } })),
);

async function sweep(out: string, jobs: number, overrides: readonly string[] = []) {
  const { context, printed, noted } = recordingContext(place);
  const common = { runsDir: 'buffers', quiet: false, json: true, baselines: false, slurm: false };
  const given = ['model.sigma=0.3,1,2', 'seed=1', ...overrides];
  const code = await execute({ ...common, config: at('config.yaml'), out, jobs, overrides: given }, context);
  return { code, noted: noted.join('\n'), last: JSON.parse(printed.at(-1)!) as SweepResult };
}

describe('a plan executed with --jobs', { timeout: 120_000 }, () => {
  it('removes stale locks and drafts of its complete runs when it resumes', async () => {
    await sweep('tidied', 1);
    const path = at('tidied', names[1]!);
    const before = readdirSync(path).toSorted();
    const gone = `${spawnSync('true').pid} ${hostname()} 1\n`;
    const leave = (run: string) => {
      writeFileSync(join(run, 'run.lock'), gone);
      writeFileSync(join(run, 'manifest.json.new'), '{');
    };
    leave(path);
    await sweep('tidied', 1);
    expect(readdirSync(path).toSorted()).toEqual(before);
    leave(path);
    const { context } = recordingContext(place);
    const args = { run: path, overrides: [], runsDir: 'buffers', quiet: true, json: true };
    await expect(resume(args, context)).rejects.toThrow(/this run is complete/);
    expect(readdirSync(path).toSorted()).toEqual(before);
    expect(readManifest(path).status).toBe('completed');
  });

  it('rejects a number of jobs below 1', async () => {
    await expect(sweep('none', 0)).rejects.toThrow(/--jobs: must be a whole number/);
    expect(existsSync(at('none'))).toBe(false);
  });
});

describe('resuming a plan', { timeout: 60_000 }, () => {
  it('reports a run that another process holds, and executes the others', async () => {
    await sweep('held', 1, ['iterations=2']);
    for (const name of [names[0]!, names[2]!]) rmSync(at('held', name), { recursive: true });
    const manifest = at('held', names[1]!, 'manifest.json');
    const unfinished = { status: 'interrupted', iterations: { done: 1, of: 2 } };
    writeFileSync(manifest, JSON.stringify({ ...readManifest(at('held', names[1]!)), ...unfinished }));
    const release = takeLock(at('held', names[1]!, 'run.lock'));
    const { code, last, noted } = await sweep('held', 1, ['iterations=2']);
    release();
    expect(code).toBe(1);
    expect(noted).toMatch(/^sigma-1\/seed-1: .*another process is writing/m);
    expect(last).toMatchObject({ status: 'failed', failures: [{ run: names[1] }] });
    expect([0, 2].map((i) => readManifest(at('held', names[i]!)).iterations.done)).toEqual([2, 2]);
  });

  it('executes the other runs if a manifest is damaged', async () => {
    await sweep('damaged', 1, ['iterations=2']);
    writeFileSync(at('damaged', names[0]!, 'manifest.json'), '{');
    rmSync(at('damaged', names[2]!), { recursive: true });
    const { code, last } = await sweep('damaged', 1, ['iterations=2']);
    expect(code).toBe(1);
    const message = expect.stringMatching(/manifest\.json: .*not valid JSON/);
    expect(last).toMatchObject({ failures: [{ run: names[0], message }] });
    expect(readManifest(at('damaged', names[2]!)).status).toBe('completed');
  });

  it('is rejected while another process executes the same plan', async () => {
    await sweep('locked', 1, ['iterations=2']);
    const record = readFileSync(at('locked', 'plan.json'), 'utf8');
    const release = takeLock(at('locked', 'plan.lock'));
    await expect(sweep('locked', 1, ['iterations=2'])).rejects.toThrow(/another process is writing here/);
    release();
    expect((await sweep('locked', 1, ['iterations=2'])).code).toBe(0);
    expect(readFileSync(at('locked', 'plan.json'), 'utf8')).toBe(record);
  });
});
