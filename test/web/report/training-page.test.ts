/** Pages of training runs whose files other people wrote. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bestMeasurementText, readTraining } from '../../../src/runs/training/trainings.js';
import { pageHtml } from '../../../src/web/page.js';
import { readTrainingPage } from '../../../src/web/report/training-page.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { visibleText } from '../shown.js';

const lines = (items: readonly object[]) => items.map((item) => `${JSON.stringify(item)}\n`).join('');

function training(about: object, metrics: readonly object[], samples: readonly object[] = []): string {
  const path = temporaryDirectory();
  writeFileSync(join(path, 'training.json'), JSON.stringify(about));
  writeFileSync(join(path, 'metrics.jsonl'), lines(metrics));
  writeFileSync(join(path, 'samples.jsonl'), lines(samples));
  return path;
}

const about = {
  method: 'lora',
  base: { model: 'm' },
  dataset: { path: 'bandit' },
  config: { updates: 4 },
  outcome: { ended: 'complete', step: 4 },
};

it('the text and the page of a training run show the same best result', () => {
  const path = training(about, [
    { kind: 'start', step: 0, totalSteps: 4, measured: 'share of baselines beaten' },
    { kind: 'evaluation', step: 0, meanReward: 0.25, best: true },
    { kind: 'step', step: 4, reward: 1 },
    { kind: 'evaluation', step: 4, meanReward: 0.5, margin: 0.125, episodes: 8, best: true },
  ]);
  expect(bestMeasurementText(readTraining(path))).toBe(
    'held-out share of baselines beaten 0.500 at update 4',
  );
  expect(visibleText(pageHtml(readTrainingPage(path)))).toContain(
    'Best held-out share of baselines beaten 0.500 ± 0.13 at update 4 over 8 runs; 0.250 at update 0',
  );
});

it('hostile text in a training run stays text, and a page of 20,000 samples stays short', () => {
  const evil = '</script><script>alert(1)</script><img src=x onerror=alert(2)>';
  const path = training(
    {
      method: evil,
      base: { model: evil },
      dataset: { path: evil, recipe: 5, sources: 'no', files: 3 },
      config: { [evil]: evil, tasks: 1, seed: evil, reward: 7, maxGradientNorm: 'x', agent: evil },
      outcome: { ended: 'failed', step: 1, message: evil, hint: evil },
      use: evil,
      command: evil,
    },
    [
      { kind: 'start', step: 0, measured: evil, totalSteps: 9 },
      { kind: 'step', step: 1, reward: 1, [evil]: 3, loss: null },
      { kind: 'evaluation', step: 1, meanReward: 2, best: true },
      { kind: 'baseline', step: 1, label: evil, returns: [] },
      { kind: 'alarm', step: 1, message: evil, hint: evil },
    ],
    Array.from({ length: 20_000 }, () => ({ step: 1, turns: [{ prompt: evil, reply: evil }], score: 1 })),
  );
  const shown = pageHtml(readTrainingPage(path));
  expect(shown).not.toContain('<img src=x');
  expect(shown.length).toBeLessThan(500_000);
  expect(visibleText(shown)).toContain(evil);
  expect(visibleText(shown)).toContain('Best held-out mean return 2.000 at update 1');
});
