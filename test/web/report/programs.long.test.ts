/** A run of programs, wherever it is shown: its sources as text, and never its parameter vectors. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { describeResult, resultOf, summaryOf } from '../../../src/runs/summary.js';
import { episodeSvg, iterationPage, liveRunPage } from '../../../src/view/shown-run.js';
import type { Page } from '../../../src/web/page.js';
import { commandLine } from '../../commands/json/command-line.js';
import { runExperimentFrom } from '../../support/experiments.js';
import { createScriptedModel } from '../../support/scripted-model.js';
import { elementsOf, type SentPage, sentPage, visibleText } from '../shown.js';

const block = (source: string, words = '') => `${words}\n\`\`\`js\n${source}\n\`\`\``;
const first = 'function act(observation) {\n  return observation.poleAngle > 0 ? 1 : 0;\n}';
const second = `// <img src=x onerror=alert(1)> damps
const constants = { gain: { value: 0.5, low: 0, high: 2 } };

function act(observation, memory, constants) {
  const lean = observation.poleAngle + constants.gain * observation.poleAngularVelocity;
  return lean > 0 ? 1 : 0;
}`;
const failing =
  'function act(observation, memory) {\n  memory.steps = (memory.steps ?? 0) + 1;\n  if (memory.steps > 3) return memory.nothing.x;\n  return 0;\n}';

let path: string;
/** The structures of all programs, which no output may show as numbers. */
let structures: readonly number[];

beforeAll(async () => {
  const model = createScriptedModel([
    block(first, 'Balances.'),
    block(failing, 'Counts.'),
    block(second, 'Damps.'),
    'no idea',
    block('function act( {'),
  ]);
  const config = {
    environment: 'CartPole-v1',
    policy: { kind: 'program' },
    model: { provider: 'openai', name: 'm', baseUrl: 'http://127.0.0.1:9' },
    iterations: 3,
    warmup: 2,
    corrections: 1,
    evaluation: { episodes: 3, maxSteps: 100, workers: 1 },
    confirmation: { candidates: 1, episodes: 4 },
  } as const;
  ({ path } = await runExperimentFrom(config, { model }));
  const lines = readFileSync(join(path, 'evaluations.jsonl'), 'utf8').trim().split('\n');
  structures = lines.map((line) => (JSON.parse(line) as { parameters: number[] }).parameters[0]!);
});

function expectNoNumbers(text: string) {
  expect(text).not.toContain('params[');
  for (const structure of structures)
    for (const written of [`${structure}`, structure.toLocaleString('en').replaceAll(',', ' ')])
      expect(text).not.toContain(written);
}

const told = async (command: string, ...words: readonly string[]) =>
  (await commandLine(dirname(path), [command, path, ...words])).printed.join('\n');
const shown = (...words: readonly string[]) => told('show', '--top', '10', ...words);

const indented = (source: string, spaces: number) => source.replaceAll(/^/gm, ' '.repeat(spaces));

it('the result of a run includes the source of the best program', () => {
  const result = resultOf(summaryOf(path), dirname(path));
  const text = describeResult(result, { count: 1, kind: 'float', low: 0, high: 1, decimals: 1 });
  expect(text).toContain(`program, 7 lines, 1 constant\n${indented(second, 12)}\nusage`);
  expect(text).toMatch(/^policy +confirmed, iteration \d+: program/m);
  expectNoNumbers(text);
  expect(result.best?.program).toBe(second);
  expect(result.confirmed?.program).toBe(second);
});

it('show prints the best program or, with --iteration, the programs of that iteration', async () => {
  const text = await shown();
  expect(text).toContain(`program, 7 lines, 1 constant\n${indented(second, 2)}`);
  expectNoNumbers(text);
  const { top } = JSON.parse(await shown('--json')) as { top: { program: string }[] };
  const programs = top.map(({ program }) => program);
  expect(programs[0]).toBe(second);
  expect(programs).toContain(first);
  const warmup = await shown('--iteration', '0');
  expect(warmup).toMatch(/--- program, \d+ lines, \d+ constants? ---\n {2}(?:const constants|function act)/);
  const last = await shown('--iteration', '3');
  expect(last).toContain('line 1: SyntaxError');
  expect(last).toContain('The reply contains no answer in the requested format.');
  for (const one of [warmup, last]) expectNoNumbers(one);
});

it('a long program is cut after 60 lines', async () => {
  const result = resultOf(summaryOf(path), dirname(path));
  const program = Array.from({ length: 70 }, (_, i) => `line${i + 1}`).join('\n');
  const long = { ...result, best: { ...result.best!, program }, confirmed: null };
  const text = describeResult(long, { count: 1, kind: 'float', low: 0, high: 1, decimals: 1 });
  expect(text).toMatch(/line60\n +… 10 more lines: policyloop show .* --json\n/);
  expect(text).not.toContain('line61');
  expect(text).toMatch(/^policy +best observed, iteration \d+: program/m);
});

it('evaluate reports which program it evaluated', async () => {
  const evaluated = JSON.parse(await told('evaluate', '--episodes', '2', '--json'));
  expect(evaluated).toMatchObject({ program: second, episodes: 2 });
});

function readPage(given: string | SentPage): string {
  const read = visibleText(given);
  expectNoNumbers(read);
  return read;
}

it('the report has sources, changes, lineage and failures, but no parameter map', async () => {
  await told('report');
  const page = readFileSync(join(path, 'report.html'), 'utf8');
  const text = readPage(page);
  expect(text).toContain('policy program, 7 lines, 1 constant');
  expect(page).not.toContain('<img src=x');
  expect(elementsOf(page)).toContainEqual({ name: 'source-code', attributes: { source: second } });
  const attributes = { left: first, right: second };
  expect(elementsOf(page)).toContainEqual({ name: 'text-difference', attributes });
  expect(text).toContain('iteration 2: changes from iteration 1');
  expect(text).toContain("cannot read property 'x' of undefined");
  expect(text).toContain('after 1 failure Damps.');
  expect(elementsOf(page).map(({ name }) => name)).not.toContain('heat-map');
  expect(text).not.toContain('Parameter vector');
});

const pageText = (page: Page) => readPage(sentPage(page));

it('the view shows how programs changed and the reply of each attempt, but plays no episode', async () => {
  expect(pageText(await liveRunPage('r', path))).toContain('iteration 2: changes from iteration 1');
  const text = pageText(await iterationPage('r', path, 2));
  expect(text).toContain('iteration 2: changes from iteration 1');
  // Each attempt shows its own reply.
  expect(text).toMatch(/First attempt program .*Counts\. .*Correction 1 accepted .*Damps\./);
  const episode = episodeSvg(path, { iteration: 2, candidate: 1, episode: 1 });
  await expect(episode).rejects.toThrow('which the view never does');
});

it('the table of evaluations contains the source, the structure and the constants of a program', async () => {
  const structure = structures.at(-1)!.toString(16).padStart(12, '0');
  const out = join(dirname(path), 'export');
  await told('export', '--format', 'csv', '--out', out);
  const table = readFileSync(join(out, 'evaluations.csv'), 'utf8');
  expect(table).toContain(`[0.5],"${second}",${structure}`);
  expectNoNumbers(table);
});
