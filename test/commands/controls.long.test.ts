import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { CommandContext } from '../../src/base/context.js';
import { UserError } from '../../src/base/errors.js';
import { execute as controlsCommand } from '../../src/commands/controls.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { mean } from '../../src/statistics/descriptive.js';
import { lockRun } from '../../src/storage/lock.js';
import type { BaselinesResult } from '../../src/studies/baselines-result.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';

type ControlsArguments = Parameters<typeof controlsCommand>[0];

const place = temporaryDirectory();
const at = (...parts: readonly string[]) => join(place, ...parts);

const short = 'warmup: 3\nconfirmation: { candidates: 2, episodes: 5 }\nevaluation: { maxSteps: 60 }\n';
// A model that can't be reached: no control needs it.
const model = 'model: { provider: ollama, name: none, host: "http://127.0.0.1:9" }\n';
const write = (name: string, text: string) => {
  writeFileSync(at(`${name}.yaml`), `${text}\n${model}${short}`);
  return at(`${name}.yaml`);
};
const pole = write('pole', 'environment: CartPole-v1\nmemory: { trajectories: rows }');
const lake = write('lake', 'environment: FrozenLake-v1');
const projected = write(
  'projected',
  'environment: Acrobot-v1\npolicy: { kind: linear, projection: { rank: 4 } }',
);
const broken = write('broken', 'environment: gymnasium:CartPole-v1');

const screened = write('screened', 'environment: CartPole-v1\ncandidates: 4\nscreening: {}');

const programs = write('programs', 'environment: CartPole-v1\npolicy: { kind: program }');

type Printed = Omit<BaselinesResult, 'runs'> & { readonly out: string };

async function play(changes: Partial<ControlsArguments>, outside: Partial<CommandContext> = {}) {
  const { context, printed, noted } = recordingContext(place, outside);
  const args: ControlsArguments = {
    configs: [pole, lake],
    controls: 'random,hill-climb,cma-es',
    iterations: 4,
    candidates: 1,
    episodes: 2,
    repeats: 2,
    runsDir: 'buffers',
    quiet: false,
    json: true,
    ...changes,
  };
  const code = await controlsCommand(args, context);
  return { code, printed, noted, last: () => JSON.parse(printed.at(-1)!) as Printed };
}

it('policyloop controls searches programs with random and genetic search if no baselines are named', async () => {
  const given = { configs: [programs], controls: undefined, iterations: 1, repeats: 1, out: 'programs' };
  const { code, last } = await play(given);
  expect({ code, baselines: last().rows.map((row) => row.control) }).toEqual({
    code: 0,
    baselines: ['random', 'genetic'],
  });
});

it('policyloop controls ignores the screening of a config', async () => {
  const given = { configs: [screened], controls: 'random', iterations: 2, repeats: 1 };
  const { code, last } = await play({ ...given, out: 'screened-table' });
  expect({ code, evaluations: last().rows[0]?.evaluations }).toEqual({ code: 0, evaluations: 3 + 2 });
});

it('policyloop controls runs every baseline on every task and seed, and reports intervals', async () => {
  const { code, printed, last } = await play({ out: 'table' });
  const { budget, failures, rows, seeds, status } = last();
  expect({ code, status, failures, budget }).toEqual({
    code: 0,
    status: 'completed',
    failures: [],
    budget: { iterations: 4, candidates: 1, episodes: 2 },
  });
  expect(printed).toHaveLength(12 + 1);
  expect(rows.map(({ experiment, control }) => `${experiment} ${control}`)).toEqual(
    ['pole', 'lake'].flatMap((task) => ['random', 'hill-climb', 'cma-es'].map((name) => `${task} ${name}`)),
  );
  const row = rows[1]!;
  expect(row).toMatchObject({ environment: 'CartPole-v1', parameters: 10, runs: 2, evaluations: 3 + 4 });
  const reached = [1, 2].map((repeat) => readManifest(at('table', 'pole', `hill-climb-0${repeat}`)));
  expect(reached.map(({ seed, model: id }) => [seed, id])).toEqual(
    seeds.map((seed) => [seed, 'control/hill-climb']),
  );
  const confirmed = reached.map(({ confirmations }) => confirmations.at(-1)!.mean);
  expect(row.confirmed?.mean).toBeCloseTo(mean(confirmed), 12);
  const [low, high] = row.confirmed!.meanInterval!;
  expect(low).toBeLessThan(Math.min(...confirmed));
  expect(high).toBeGreaterThan(Math.max(...confirmed));
  expect(rows[3]).toMatchObject({ environment: 'FrozenLake-v1', parameters: 16 });

  const { entries, episodes } = readRun(at('table', 'pole', 'cma-es-01'));
  expect(entries.every(({ returns }) => returns.length === 2)).toBe(true);
  expect(episodes).toEqual([]);
  // The same warm-up and the same episodes for all controls.
  const other = readRun(at('table', 'pole', 'random-01')).entries;
  expect(other.slice(0, 3).map(({ returns }) => returns)).toEqual(
    entries.slice(0, 3).map(({ returns }) => returns),
  );
});

it('policyloop controls extends a table with more repeats, tasks and baselines', async () => {
  const started = await play({ out: 'more', configs: [lake], controls: 'random', repeats: 1 });
  const before = readManifest(at('more', 'lake', 'random-01'));
  expect(started.last().rows[0]).toMatchObject({ runs: 1, confirmed: { meanInterval: null } });
  const { code, last } = await play({ out: 'more', controls: 'hill-climb,random', repeats: 2 });
  expect(code).toBe(0);
  expect(last().rows.map(({ runs }) => runs)).toEqual([2, 2, 2, 2]);
  expect(readManifest(at('more', 'lake', 'random-01'))).toEqual(before);
  // A table of fewer leaves the others alone.
  expect((await play({ out: 'more', configs: [pole], controls: 'random' })).last().rows).toHaveLength(1);
  await expect(play({ out: 'more', iterations: 5 })).rejects.toThrow(
    /--out: contains runs of .* different budget/,
  );
  await expect(play({ out: 'more', seed: 1 })).rejects.toThrow(/--out: contains runs of/);
});

it('policyloop controls reuses its default directory for the same budget', async () => {
  const first = await play({ configs: [lake], repeats: 1, controls: 'random' });
  const again = await play({ configs: [lake], repeats: 2, controls: 'cma-es' });
  expect(again.last().out).toBe(first.last().out);
  expect(first.last().out).toMatch(/^buffers\/controls-[0-9a-f]{10}$/);
  const other = await play({ configs: [lake], repeats: 1, controls: 'random', episodes: 3 });
  expect(other.last().out).not.toBe(first.last().out);
});

it('policyloop controls prints an incomplete table after Ctrl-C, and the same command resumes', async () => {
  const stop = new AbortController();
  const args = { out: 'stopped', json: false, repeats: 1 };
  const first = await play(args, {
    stop: { finish: stop.signal, abort: new AbortController().signal },
    note: (text) => text.startsWith('run 2/6') && stop.abort(),
  });
  expect(first.code).toBe(130);
  expect(first.printed.join('\n')).toContain('Not all runs are complete.');
  expect(existsSync(at('stopped', 'pole', 'cma-es-01'))).toBe(false);
  const second = await play(args);
  expect(second.code).toBe(0);
  expect(second.printed.join('\n')).not.toContain('Not all runs');
  expect(second.noted.filter((line) => line.startsWith('run '))).toHaveLength(6);
});

it('policyloop controls continues with the other tasks when one fails', async () => {
  const env = { POLICYLOOP_PYTHON: at('no-such-python') };
  const { code, last, noted } = await play({ out: 'failing', configs: [broken, lake], repeats: 1 }, { env });
  expect(code).toBe(1);
  expect(last().failures).toHaveLength(1);
  expect(last().failures[0]).toMatchObject({ experiment: 'broken', run: 'broken/random-01' });
  expect(noted.join('\n')).toMatch(/broken\/random-01: [\s\S]*no-such-python[\s\S]*the other tasks continue/);
  expect(last().rows.map(({ runs }) => runs)).toEqual([0, 0, 0, 1, 1, 1]);
});

it('policyloop controls searches the projected parameters of a policy', async () => {
  const { code, last } = await play({ out: 'projected', configs: [projected], repeats: 1 });
  expect(code).toBe(0);
  expect(last().rows.map(({ parameters }) => parameters)).toEqual([4, 4, 4]);
  const { entries } = readRun(at('projected', 'projected', 'random-01'));
  expect(entries.every(({ parameters }) => parameters.length === 4)).toBe(true);
});

it('policyloop controls writes its table as Markdown and as CSV', async () => {
  const files = { markdown: 'table.md', csv: 'table.csv', json: false } as const;
  const { printed } = await play({ out: 'files', configs: [lake], ...files });
  const markdown = readFileSync(at('table.md'), 'utf8').split('\n');
  expect(markdown[0]).toMatch(
    /^\| task \| environment \| parameters \| baseline \| runs \| mean \| 95 % interval/,
  );
  expect(markdown[4]).toMatch(
    /^\| `lake` \| `FrozenLake-v1` \| 16 \| CMA-ES \| 2 \| [\d.]+ \| .* … .* \| 7 \|$/,
  );
  expect(markdown.at(-2)).toMatch(
    /4 iterations after the warm-up, 2 episodes per evaluation\. Seeds: 0, \d+\./,
  );
  const rows = readFileSync(at('table.csv'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.split(','));
  expect(new Set(rows.map((row) => row.length)).size).toBe(1);
  expect(rows[1]!.slice(0, 5)).toEqual(['lake', 'FrozenLake-v1', '16', 'random', '2']);
  expect(printed[0]).toContain('lake  FrozenLake-v1');
});

it.each<readonly [string, Partial<ControlsArguments>, RegExp]>([
  ['an unknown control', { controls: 'random,annealing' }, /--controls: unknown baseline[\s\S]*cma-es/],
  ['no config', { configs: [] }, /configs: must contain at least one config/],
  ['a config twice', { configs: [pole, pole] }, /two configs have the same name/],
  ['an override of the budget', { configs: [pole, 'iterations=3'] }, /iterations: .*[\s\S]*use --iterations/],
  ['an override of the model', { configs: [pole, 'model.sigma=3'] }, /model\.sigma: /],
  ['no iteration', { iterations: 0 }, /--iterations: .*at least 1/],
  ['half an episode', { episodes: 0.5 }, /--episodes: .*at least 1/],
  ['an unconfirmed config', { configs: [pole, 'confirmation.candidates=0'] }, /confirmation\.candidates/],
])('policyloop controls refuses %s', async (_name, changes, message) => {
  const attempt = play({ out: 'refused', ...changes });
  await expect(attempt).rejects.toThrow(message);
  await expect(attempt).rejects.toBeInstanceOf(UserError);
  expect(existsSync(at('refused'))).toBe(false);
});

it('policyloop controls refuses a directory with other contents, or one in use by a process', async () => {
  writeFileSync(at('buffers', 'notes.txt'), '');
  await expect(play({ out: 'buffers' })).rejects.toThrow(
    /--out: contains something other than a table of baselines/,
  );
  await play({ out: 'locked', configs: [lake], repeats: 1, controls: 'random' });
  const release = lockRun(at('locked', 'controls.lock'));
  await expect(play({ out: 'locked', configs: [lake], repeats: 1 })).rejects.toBeInstanceOf(UserError);
  release();
});
