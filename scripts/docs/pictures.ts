/**
 * `npm run docs:pictures`: plays the run shown in the documents, and draws its pictures. Screenshots need Chromium on
 * the PATH; without it, existing ones are kept.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { packageRoot } from '../../src/base/package.js';
import type { OpenedRun } from '../../src/runs/open-run.js';
import { writeReport } from '../../src/web/report/write-report.js';
import { findChromium, openBrowser } from '../../test/support/browser.js';
import { drawn, oneIteration, playPrograms, playShownRun } from './one-iteration.js';

const docs = join(packageRoot(), 'docs');
const place = mkdtempSync(join(tmpdir(), 'policyloop-pictures-'));

/** Draws the README's three policies: the first, one in between, and the best. */
async function writeEpisodes(run: OpenedRun): Promise<void> {
  const { entries } = run.recorded;
  const shown = {
    first: entries[0]!,
    middle: entries.find(({ iteration }) => iteration === 43)!,
    best: entries.reduce((a, b) => (b.score > a.score ? b : a)),
  };
  for (const [name, entry] of Object.entries(shown)) writePicture(`${name}.svg`, await drawn(run, entry));
}

/** @param section scrolled to the top, if given */
async function writeScreenshot(run: OpenedRun, name: string, section?: string): Promise<void> {
  const chromium = findChromium();
  if (chromium === undefined) {
    process.stderr.write(`no Chromium on the PATH: docs/pictures/${name} is unchanged\n`);
    return;
  }
  const report = await writeReport(run.path);
  const browser = await openBrowser(chromium);
  try {
    await browser.open(report, { width: 1280 });
    // Zoom out, so that the picture contains the whole curve.
    await browser.evaluate(`document.documentElement.style.zoom = 0.8`);
    if (section !== undefined)
      await browser.evaluate(`document.getElementById('${section}').scrollIntoView({ behavior: 'instant' })`);
    await browser.evaluate(
      `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))`,
    );
    writePicture(name, await browser.screenshot());
  } finally {
    await browser.close();
  }
}

function writePicture(name: string, content: string | Buffer): void {
  mkdirSync(join(docs, 'pictures'), { recursive: true });
  writeFileSync(join(docs, 'pictures', name), content);
}

try {
  const run = await playShownRun(join(place, 'quickstart'));
  const { page, picture } = await oneIteration(run);
  writeFileSync(join(docs, 'tutorials', 'one-iteration.md'), page);
  writePicture('one-iteration.svg', picture);
  await writeEpisodes(run);
  await writeScreenshot(run, 'report.png');
  await writeScreenshot(await playPrograms(join(place, 'programs')), 'program.png', 'policy');
} finally {
  rmSync(place, { recursive: true });
}
