/** A directory of all kinds, viewed in a real browser where one is installed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import axe from 'axe-core';
import { expect } from 'vitest';
import { writeSyntheticRun } from '../../bench/synthetic-run.js';
import { type Browser, findChromium, openBrowser } from '../support/browser.js';
import { startCommand } from '../support/command.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { writeRun, writeTraining } from '../support/written-runs.js';
import { writeHostileDirectory } from './hostile-directory.js';

export const chromium = findChromium();
if (chromium === undefined)
  process.stderr.write(
    'The view is not tested in a browser: no Chromium on the PATH (or name it by POLICYLOOP_CHROMIUM).\n',
  );

/** An expression: what a reader can't see, in words. */
const hiddenParts = readFileSync(join(import.meta.dirname, '../pages/hidden-parts.js'), 'utf8');

const long = 'a-very-long-model-name:32b-instruct-q4_K_M-日本語';

const trainingLog = (steps: number) => [
  { kind: 'start', step: 0, totalSteps: steps, time: '2026-01-01T00:00:00.000Z' },
  ...Array.from({ length: steps }, (_, i) => {
    return { kind: 'step', step: i + 1, loss: 2 / (i + 1), gradientNorm: 1 };
  }),
  { kind: 'validation', step: steps, loss: 1, best: true },
];

export interface Viewed {
  readonly place: string;
  readonly browser: Browser;
  /** As the command printed it. */
  readonly url: string;
  /** Opens a page of the view, and waits until it shows what it has. */
  open(path: string, view?: { readonly width: number; readonly dark?: boolean }): Promise<void>;
  /** Waits until an expression is true. */
  until(expression: string): Promise<void>;
  close(): Promise<void>;
}

/** The command `view` as a process of its own. */
export async function startedView(place: string, folder = '.') {
  const command = startCommand(place, ['view', folder, '--port', '0', '--json']);
  const line = await new Promise<string>((resolve) =>
    command.child.stdout!.once('data', (data: Buffer) => resolve(String(data))),
  );
  const end = async () => {
    command.child.kill('SIGINT');
    await command.ended;
  };
  return { url: (JSON.parse(line) as { url: string }).url, end };
}

export const untilIn = (browser: Browser) => async (expression: string) => {
  while (!(await browser.evaluate<boolean>(expression).catch(() => false)))
    await new Promise((resolve) => setTimeout(resolve, 20));
};

/** Starts the view of a new directory, and enters it as a person does who follows a link elsewhere. */
export async function viewed(): Promise<Viewed> {
  const place = temporaryDirectory();
  await writeSyntheticRun(join(place, 'runs', 'growing'), { iterations: 30, candidates: 2, history: 5 });
  await writeSyntheticRun(join(place, 'runs', long.repeat(3)), { iterations: 8, candidates: 1, history: 5 });
  const about = { base: { model: `/models/${long}` }, config: { seed: 1 } };
  writeTraining(join(place, 'runs', 'training'), trainingLog(60), about);
  writeRun(join(place, 'runs', 'study', 'part', 'one'), { seed: 1, model: long });
  writeFileSync(join(place, 'runs', 'study', 'plan.json'), '{"kind":"sweep"}');
  await writeHostileDirectory(join(place, 'hostile'));
  const browser = await openBrowser(chromium!);
  const { end, url } = await startedView(place);
  const until = untilIn(browser);
  await browser.evaluate(`location.href = ${JSON.stringify(url)}; undefined`);
  await until(`document.querySelector('main table') !== null`);
  return {
    place,
    browser,
    url,
    until,
    async open(path, view = { width: 1440 }) {
      await browser.open(new URL(path, url).href, view);
      await until(`document.querySelector('main section, main table, main .hits') !== null`);
      await until(`[...document.images].every((image) => image.complete || image.loading === 'lazy')`);
    },
    async close() {
      await browser.close();
      await end();
    },
  };
}

export const of = (name: string) => `/of/${name.split('/').map(encodeURIComponent).join('/')}`;
/** A page of each kind. */
export const pages: readonly string[] = [
  '/',
  of('runs/growing'),
  `${of('runs/growing')}?iteration=3`,
  of(`runs/${long.repeat(3)}`),
  of('runs/training'),
  of('runs/study'),
  '/?by=environment,policy.kind&columns=status,cost,policy.kind,tokens&sort=-cost',
  '/?filter=stauts%3Drunning',
  '/compare?by=policy.kind&unfinished=1',
  '/compare?of=runs%2Fgrowing&of=runs%2Fstudy%2Fpart%2Fone',
  '/search?q=rule&of=runs%2Fgrowing',
];

/** Opens pages, in which a reader misses nothing, whatever he reads by. */
export async function expectAllShown(
  { browser, open }: Viewed,
  paths: readonly string[],
  view: { readonly width: number; readonly dark: boolean },
): Promise<void> {
  for (const path of paths) {
    await open(path, view);
    expect(await browser.evaluate<string[]>(hiddenParts), path).toEqual([]);
    await browser.evaluate(`${axe.source}; undefined`);
    const { passes, violations } = await browser.evaluate<{
      passes: number;
      violations: { id: string; impact: string; nodes: string[] }[];
    }>(
      `axe.run(document, { iframes: false }).then(({ passes, violations }) => ({ passes: passes.length, violations: violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)) })) }))`,
    );
    expect(passes, path).toBeGreaterThan(10);
    const serious = violations.filter(
      ({ id, impact }) =>
        impact === 'serious' || impact === 'critical' || ['heading-order', 'empty-table-header'].includes(id),
    );
    expect(serious, path).toEqual([]);
  }
}
