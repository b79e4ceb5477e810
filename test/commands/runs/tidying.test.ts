import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { takeLock } from '../../../src/base/files/lock.js';
import { execute as list } from '../../../src/commands/list.js';
import { execute as report } from '../../../src/commands/report.js';
import { execute as remove } from '../../../src/commands/runs/remove.js';
import { execute as tag } from '../../../src/commands/runs/tag.js';
import { execute as show } from '../../../src/commands/show.js';
import { shellCompletions } from '../../../src/commands.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { writeRun } from '../../support/written-runs.js';

const common = { runsDir: 'buffers', json: true } as const;

function workplace() {
  const cwd = temporaryDirectory();
  const at = (...path: readonly string[]) => join(cwd, 'buffers', ...path);
  const episodes = (count: number) => ({ evaluation: { episodes: count } });
  writeRun(at('a'), { seed: 1, confirmed: 30, model: 'ollama/qwen3', config: episodes(5) });
  writeRun(at('b'), { seed: 2, confirmed: 450, status: 'failed', config: episodes(20) });
  writeRun(at('c'), { seed: 3, config: { environment: 'Acrobot-v1' }, tokens: 5000 });
  return { cwd, at };
}

/** Writes a run that was played. */
function playedRun(place: string) {
  cpSync(join(import.meta.dirname, '../../../buffers/example-cartpole'), place, { recursive: true });
}

/** The JSON that a command printed. */
async function printedBy(
  cwd: string,
  run: (context: ReturnType<typeof recordingContext>['context']) => unknown,
) {
  const { context, printed } = recordingContext(cwd);
  await run(context);
  return JSON.parse(printed.join('')) as readonly Record<string, unknown>[];
}

describe('policyloop list', () => {
  const { cwd } = workplace();
  const names = async (more: Partial<Parameters<typeof list>[0]>) =>
    (await printedBy(cwd, (context) => list({ ...common, ...more }, context))).map(({ name }) => name);

  it.each([
    [['environment=CartPole*'], ['a', 'b']],
    [['environment=acrobot-v1'], ['c']],
    [['status=failed'], ['b']],
    [['model=ollama/*'], ['a']],
    [['qwen'], ['a']],
    [['confirmed=400..'], ['b']],
    [['confirmed=..30'], ['a']],
    [['confirmed=30..450', 'seed=2'], ['b']],
    [['tokens=5000'], ['c']],
    [['started=2026-01..'], ['a', 'b', 'c']],
    [['started=2025..2025-12'], []],
    [['evaluation.episodes=5'], ['a']],
    [['evaluation.episodes=5..30', 'status=failed'], ['b']],
    [['evaluation=*episodes 5*'], ['a']],
    [['model.provider=rand*'], ['a', 'b', 'c']],
  ])('shows only the runs that match %j', async (filters, kept) => {
    expect(await names({ filters })).toEqual(kept);
  });

  it('sorts runs by a key, and limits their number', async () => {
    expect(await names({ sort: 'evaluation.episodes', limit: 1 })).toEqual(['b']);
    expect(await names({ sort: 'confirmed' })).toEqual(['b', 'a', 'c']);
    expect(await names({ sort: 'seed', limit: 1 })).toEqual(['c']);
    expect(await names({ sort: 'environment', limit: 1 })).toEqual(['c']);
    expect(await names({ sort: 'environment.id' })).toEqual(['c', 'a', 'b']);
    expect(await names({ limit: 2 })).toEqual(['b', 'c']);
  });

  it('gives filtered runs the numbers by which other commands refer to them', async () => {
    const rows = await printedBy(cwd, (context) => list({ ...common, filters: ['status=failed'] }, context));
    expect(rows).toMatchObject([{ name: 'b', number: 2 }]);
    const shown = { ...common, run: '2', tags: [], off: false };
    expect(await printedBy(cwd, (context) => tag(shown, context))).toMatchObject([
      { run: join('buffers', 'b') },
    ]);
  });

  it.each([
    [['bset=3'], /“bset” is neither a field nor a config key of these runs; did you mean best/],
    [['evaluation.episode=5'], /did you mean evaluation.episodes/],
    [['best=high'], /must be a number/],
    [['best=1..2..3'], /range/],
    [['started=yesterday'], /must be a date/],
  ])('rejects the filter %j', async (filters, message) => {
    await expect(names({ filters })).rejects.toThrow(message);
  });

  it('rejects an unknown sort key and an invalid limit', async () => {
    await expect(names({ sort: 'colour' })).rejects.toThrow(
      /--sort: “colour” is neither a field nor a config key/,
    );
    await expect(names({ limit: 0 })).rejects.toThrow(/--limit/);
  });
});

describe('policyloop tag', () => {
  it('labels runs; list filters by tag, and show prints tags', async () => {
    const { cwd, at } = workplace();
    const tagged = await printedBy(cwd, (context) =>
      tag({ ...common, run: '*', tags: ['paper', 'good', 'good'], off: false }, context),
    );
    expect(tagged.map(({ tags }) => tags)).toEqual(Array.from({ length: 3 }, () => ['good', 'paper']));
    await printedBy(cwd, (context) => tag({ ...common, run: 'b', tags: ['good'], off: true }, context));
    const long = { ...common, run: 'b', tags: ['x'.repeat(65)], off: false };
    await expect(printedBy(cwd, (context) => tag(long, context))).rejects.toThrow('at most 64 characters');
    const found = await printedBy(cwd, (context) => list({ ...common, filters: ['tag=good'] }, context));
    expect(found.map(({ name }) => name)).toEqual(['a', 'c']);
    expect(found[0]).toMatchObject({ tags: ['good', 'paper'] });
    const { context, printed } = recordingContext(cwd);
    playedRun(at('d'));
    await printedBy(cwd, (own) => tag({ ...common, run: 'd', tags: ['good', 'old'], off: false }, own));
    await show({ ...common, json: false, run: 'd', top: 1 }, context);
    expect(printed[0]).toMatch(/tags +good old/);
  });

  it('adds tags that list can sort by, with untagged runs last', async () => {
    const { cwd } = workplace();
    await printedBy(cwd, (context) => tag({ ...common, run: 'c', tags: ['good'], off: false }, context));
    const sorted = await printedBy(cwd, (context) => list({ ...common, sort: 'tag' }, context));
    expect(sorted.map(({ name }) => name)).toEqual(['c', 'a', 'b']);
  });

  it('rejects an invalid tag and a damaged labels file, which list ignores', async () => {
    const { cwd, at } = workplace();
    const { context } = recordingContext(cwd);
    const tagging = (tags: string[]) => tag({ ...common, run: 'a', tags, off: false }, context);
    await expect(tagging(['two words'])).rejects.toThrow(/spaces/);
    writeFileSync(at('a', 'labels.json'), '{"tags": 3}');
    await expect(tagging(['good'])).rejects.toThrow(/labels.json/);
    const rows = await printedBy(cwd, (own) => list(common, own));
    expect(rows[0]).toMatchObject({ name: 'a', tags: [] });
  });
});

describe('policyloop remove', () => {
  const asked = { ...common, yes: false };

  it('deletes runs after a confirmation', async () => {
    const { cwd, at } = workplace();
    const answering = (answer: string) => recordingContext(cwd, { readLine: async () => answer });
    const no = answering('n');
    expect(await remove({ ...asked, runs: ['a'] }, no.context)).toBe(0);
    expect(no.noted).toEqual(['nothing was removed']);
    expect(existsSync(at('a'))).toBe(true);
    const yes = answering('y');
    await remove({ ...asked, runs: ['1', 'b'] }, yes.context);
    expect(JSON.parse(yes.printed[0]!)).toEqual(['a', 'b'].map((name) => ({ run: join('buffers', name) })));
    expect(readdirSync(at())).toEqual(['c']);
  });

  it('deletes only runs and directories of plans, not other files or damaged runs', async () => {
    const { cwd, at } = workplace();
    const { context } = recordingContext(cwd);
    writeRun(at('mine', 'd'), { seed: 1 });
    writeFileSync(at('mine', 'notes.txt'), 'mine');
    writeRun(at('sweep', 'x', 'seed-1'), { seed: 1 });
    writeFileSync(at('sweep', 'plan.json'), '{"kind": "sweep"}');
    await remove({ ...asked, yes: true, runs: ['mine', 'sweep'] }, context);
    expect(readdirSync(at()).toSorted()).toEqual(['a', 'b', 'c', 'mine']);
    expect(readdirSync(at('mine'))).toEqual(['notes.txt']);
    writeFileSync(at('b', 'manifest.json'), '{');
    await expect(remove({ ...asked, yes: true, runs: ['a', 'b'] }, context)).rejects.toThrow(/manifest.json/);
    expect(existsSync(at('a'))).toBe(true);
  });

  it('rejects runs in use and unknown runs, and does not continue without a confirmation', async () => {
    const { cwd, at } = workplace();
    const { context } = recordingContext(cwd);
    const release = takeLock(at('a', 'run.lock'));
    await expect(remove({ ...asked, yes: true, runs: ['b', 'a'] }, context)).rejects.toThrow(
      /a process is still writing to this directory[\s\S]*policyloop stop/,
    );
    release();
    expect(existsSync(at('b'))).toBe(true);
    await expect(remove({ ...asked, yes: true, runs: ['d'] }, context)).rejects.toThrow(/no such run/);
    await expect(remove({ ...asked, runs: ['a'] }, context)).rejects.toThrow(
      /confirmation without a terminal/,
    );
  });
});

describe('policyloop report --open', () => {
  it('opens the page with the program that BROWSER names, and notes the path if that fails', async () => {
    const { cwd, at } = workplace();
    playedRun(at('d'));
    const opened = at('opened');
    const browser = join(cwd, 'browser.sh');
    writeFileSync(browser, `#!/bin/sh\necho "$1" > ${opened}\n`, { mode: 0o755 });
    const open = (env: Record<string, string>) => {
      const recording = recordingContext(cwd, { env });
      return report({ ...common, run: 'd', open: true }, recording.context).then(() => recording);
    };
    const { noted, printed } = await open({ BROWSER: browser });
    expect(JSON.parse(printed[0]!)).toMatchObject({ report: join('buffers', 'd', 'report.html') });
    expect(noted).toEqual([]);
    await expect.poll(() => existsSync(opened)).toBe(true);
    expect((await open({ BROWSER: join(cwd, 'none') })).noted.join()).toMatch(
      /open .*report.html in a browser/,
    );
  });
});

describe('completion', () => {
  const { cwd, at } = workplace();
  mkdirSync(at('study', 'x'), { recursive: true });
  writeRun(at('study', 'x', 'random-01'), { seed: 1 });
  writeFileSync(at('study', 'plan.json'), '{}');

  it.each([
    [['sho'], ['show']],
    [['compl'], ['completion']],
    [['models', 'c'], ['check']],
    [
      ['show', ''],
      ['latest', 'a', 'b', 'c', 'study', 'study/x/random-01'],
    ],
    [
      ['compare', 'a', 'stud'],
      ['study', 'study/x/random-01'],
    ],
    [['resume', 'a', ''], []],
    [
      ['show', '--runs-dir', 'buffers/study', ''],
      ['latest', 'x/random-01'],
    ],
    [['run', 'quick'], ['quickstart']],
    [['check', 'quick'], ['quickstart']],
    [['finetune', 'rl', 'bandit'], ['bandit']],
    [['show', 'a', '--iter'], ['--iteration']],
    [['nothing', ''], []],
  ])('completes %j to %j', async (words, completed) => {
    expect(await shellCompletions(words, cwd)).toEqual(completed);
  });
});
