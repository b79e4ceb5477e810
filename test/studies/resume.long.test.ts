/** How `run` and `resume` handle an edited config, a missing report, and a model that never answers. */
import { existsSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { WorkError } from '../../src/base/errors.js';
import { checkConfig } from '../../src/experiment/preflight/check-config.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { resumeRun } from '../../src/studies/resume.js';
import { runFromConfig } from '../../src/studies/run.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';
import { startFakeOpenAI } from '../support/fake-openai.js';
import { goodText } from '../support/held-server.js';

let cwd: string;

const config = `environment: CartPole-v1
model: { provider: random }
iterations: 2
warmup: 2
evaluation: { episodes: 2, maxSteps: 30, workers: 1 }
confirmation: { candidates: 0 }
`;

beforeEach(() => {
  cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'config.yaml'), config);
});

const at = (...path: string[]) => join(cwd, ...path);

type Changes = NonNullable<Parameters<typeof recordingContext>[1]>;

async function run(name: string, overrides: readonly string[] = [], changes: Changes = {}) {
  const { context, printed } = recordingContext(cwd, { now: () => new Date(), ...changes });
  const shared = { runsDir: '.', json: false, quiet: true };
  const args = { config: 'config.yaml', runDir: name, dryRun: false, overrides, ...shared };
  return { code: await runFromConfig(args, context), text: printed.join('\n') };
}

async function resume(name: string, overrides: readonly string[] = [], changes: Changes = {}) {
  const { context, printed } = recordingContext(cwd, { now: () => new Date(), ...changes });
  const code = await resumeRun({ run: name, runsDir: '.', json: false, quiet: true, overrides }, context);
  return { code, text: printed.join('\n') };
}

const edit = (file: string, from: string, to: string) =>
  writeFileSync(at(file), readFileSync(at(file), 'utf8').replace(from, to));

describe('an edited config.yaml', () => {
  it('is rejected if fixed settings have changed; the error states their old values', async () => {
    await run('r');
    edit('r/config.yaml', 'maxSteps: 30', 'maxSteps: 40');
    edit('r/config.yaml', 'CartPole-v1', 'Acrobot-v1');
    const refused = resume('r', ['iterations=4']);
    await expect(refused).rejects.toThrow(
      /evaluation\.maxSteps: this setting has changed.* 30\n *hint: .*\n *got: 40/,
    );
    await expect(refused).rejects.toThrow(/environment\.id: this setting has changed[\s\S]*CartPole-v1/);
    expect(readRun(at('r')).entries).toHaveLength(4);
    edit('r/config.yaml', 'maxSteps: 40', 'maxSteps: 30');
    edit('r/config.yaml', 'Acrobot-v1', 'CartPole-v1');
    edit('r/config.yaml', 'iterations: 2', 'iterations: 4');
    expect(await resume('r')).toMatchObject({ code: 0 });
    expect(readRun(at('r')).entries).toHaveLength(6);
  });
});

describe('a run that was killed while its report was written', () => {
  const finished = async (name: string, report: string) => {
    const { code } = await resume(name);
    expect(code).toBe(0);
    expect(readFileSync(at(report), 'utf8')).toContain('</html>');
    expect(existsSync(at(`${report}.new`))).toBe(false);
  };

  it('is finished by resume, which then rejects it as complete', async () => {
    await run('r');
    renameSync(at('r/report.html'), at('r/report.html.new'));
    writeFileSync(at('r/manifest.json.new'), '{');
    await finished('r', 'r/report.html');
    expect(existsSync(at('r/manifest.json.new'))).toBe(false);
    writeFileSync(at('r/report.html.new'), '<html');
    await finished('r', 'r/report.html');
    utimesSync(at('r/report.html'), 0, 0);
    await finished('r', 'r/report.html');
    await expect(resume('r')).rejects.toThrow('this run is complete');
  });

  it('deletes the drafts of its other files when it resumes', async () => {
    await run('r');
    for (const draft of ['config.yaml.new', 'manifest.json.new']) writeFileSync(at('r', draft), '{');
    expect(await resume('r', ['iterations=3'])).toMatchObject({ code: 0 });
    expect(existsSync(at('r/config.yaml.new')) || existsSync(at('r/manifest.json.new'))).toBe(false);
  });
});

describe('a model that never answers', { timeout: 60_000 }, () => {
  const model = (url: string, more = '') => `model={provider: openai, name: m, baseUrl: "${url}"${more}}`;
  const failing = (kind: 'status' | 'silent') =>
    startFakeOpenAI({ reply: () => '', faults: { rate: 1, seed: 0, kinds: [{ kind }] } });

  it.each([1, 2])('makes a run fail, and fail again when resumed (iterations: %i)', async (iterations) => {
    const { url } = await failing('status');
    const given = [model(url, ', maxRetries: 0'), `iterations=${iterations}`, 'corrections=0'];
    const { code, text } = await run('r', given);
    expect(code).toBe(1);
    expect(text).toMatch(/failed after [12] iterations?\nbecause {5}the model failed: .*HTTP 500/);
    expect(readManifest(at('r')).status).toBe('failed');
    expect((await resume('r')).code).toBe(1);
  });

  it('makes a run that reaches limits.minutes fail', async () => {
    const { url } = await failing('silent');
    const { code, text } = await run('r', [model(url), 'limits.minutes=0.005'], {
      milliseconds: () => performance.now(),
    });
    expect(code).toBe(1);
    expect(text).toContain('no reply before limits.minutes was reached');
  });

  it('makes a resumed run fail even if its earlier iterations were answered', async () => {
    const good = await startFakeOpenAI({ reply: ({ seed = 0 }) => goodText(seed) });
    expect((await run('r', [model(good.url, ', maxRetries: 0')])).code).toBe(0);
    const { url } = await failing('status');
    const resumed = await resume('r', [`model.baseUrl=${url}`, 'iterations=4']);
    expect(resumed.code).toBe(1);
  });

  it('stops a new or resumed run before it writes anything if nothing is listening', async () => {
    const good = await startFakeOpenAI({ reply: ({ seed = 0 }) => goodText(seed) });
    const gone = await startFakeOpenAI({ reply: () => '' });
    await gone.close();
    const refusal = /^openai\/m: no answer from .*: nothing is listening there\n.*hint: start the server/;
    await expect(run('r', [model(gone.url)])).rejects.toThrow(WorkError);
    const critic = `critic={model: {provider: openai, name: m, baseUrl: "${gone.url}"}}`;
    await expect(run('r', [model(good.url), critic])).rejects.toThrow(refusal);
    expect(existsSync(at('r'))).toBe(false);
    expect(await run('r', [model(good.url)])).toMatchObject({ code: 0 });
    const before = readFileSync(at('r/manifest.json'), 'utf8');
    const more = 'iterations=4';
    await expect(resume('r', [model(gone.url), more])).rejects.toThrow(refusal);
    expect(readFileSync(at('r/manifest.json'), 'utf8')).toBe(before);
    expect(await resume('r', [model(good.url), more])).toMatchObject({ code: 0 });
    expect(readManifest(at('r'))).toMatchObject({ iterations: { done: 4 }, usage: { errors: 0 } });
  });

  it('is the first finding of check', async () => {
    const gone = await startFakeOpenAI({ reply: () => '' });
    await gone.close();
    const { context } = recordingContext(cwd);
    const findings = await checkConfig({ file: 'config.yaml', overrides: [model(gone.url)] }, false, context);
    expect(findings[0]).toMatchObject({
      level: 'error',
      message: expect.stringContaining('nothing is listening'),
    });
    expect(findings.length).toBeGreaterThan(3);
  });
});

describe('a secret that occurs in a reply', () => {
  const vector = '2.5, -1.5, 0.5, 1.0, 2.0, 3.0, 4.0, -5.0, 5.5, -2.0';
  const answer = vector
    .split(', ')
    .map((value, i) => `params[${i}]: ${value}`)
    .join(', ');

  it.each(['5', '2.5'])('changes no parameter: %s', async (OPENAI_API_KEY) => {
    const server = await startFakeOpenAI({ reply: () => answer });
    const given = [`model={provider: openai, name: m, baseUrl: "${server.url}"}`, 'iterations=1'];
    expect((await run('r', given, { env: { OPENAI_API_KEY } })).code).toBe(0);
    const { calls, entries } = readRun(at('r'));
    expect(entries.at(-1)!.parameters).toEqual(vector.split(', ').map(Number));
    expect(calls[0]!.completion!.text).toBe(answer);
  });
});
