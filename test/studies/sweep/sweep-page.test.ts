/** The texts on the page of a sweep. */
import { describe, expect, it } from 'vitest';
import { bestSentence } from '../../../src/studies/sweep/ranking.js';
import { sweepPage } from '../../../src/studies/sweep/sweep-page.js';
import type { SweepResult } from '../../../src/studies/sweep/sweep-result.js';
import { pageHtml } from '../../../src/web/page.js';
import { fileContext } from '../../../src/web/study.js';
import { elementsOf, visibleText } from '../../web/shown.js';
import { figures, gridResult } from './sweeps.js';

const shared = [3, 9, 4, 7, 1, 6, 2, 8, 5, 10];
const seeds = shared.map((_, i) => i + 1);
const file = (result: SweepResult) => pageHtml(sweepPage(result, fileContext));
const bestIn = ({ tasks: [task] }: SweepResult) => bestSentence(task!.settings);

describe('the best setting', () => {
  const noise = (seed: number, of: number) => shared[seed - 1]! + ((seed * of * 7) % 3) / 10;

  it('is called significantly better if its lead is clear, but not if the lead is tiny', () => {
    const clear = gridResult(
      (rate, size, seed) => (rate === 0.2 && size === 8 ? 20 : 0) + noise(seed, size),
      seeds,
    );
    expect(bestIn(clear)).toMatchObject({
      mark: 'higher',
      text: expect.stringMatching(
        /^rate=0.2, size=8 has the highest .* significantly higher than the next setting/,
      ),
    });
    const close = gridResult(
      (rate, size, seed) => (rate === 0.2 ? 0.01 : 0) + noise(seed, size + 10 * rate),
      seeds,
    );
    expect(bestIn(close)).toMatchObject({
      mark: '',
      text: expect.stringContaining('not significantly higher'),
    });
  });

  it('gets no verdict from few seeds, and no sentence before a run is complete', () => {
    const few = gridResult((rate, _, seed) => rate + noise(seed, 1), [1, 2, 3]);
    expect(bestIn(few)).toMatchObject({
      mark: 'too-few',
      text: expect.stringContaining('a verdict needs at least 6 seeds'),
    });
    expect(bestIn(gridResult(() => null))).toBeUndefined();
    const alone = [figures('a', { x: '1' }, [1, 2]), figures('b', { x: '2' }, [null, null])];
    expect(bestSentence(alone)?.text).toContain('no other setting has that many complete seeds');
  });

  it('is tested with a correction for the number of settings', () => {
    const lead = [0, 1, 2, 3, 4, 5].map((i) => 1 + ((i * 5) % 6) * 0.75);
    const first = figures('first', { x: '0' }, lead);
    const others = Array.from({ length: 30 }, (_, i) =>
      figures(`other-${i}`, { x: String(i + 1) }, [0, 0.1, 0.2, 0.12, 0.05, 0.15]),
    );
    expect(bestSentence([first, others[0]!])?.mark).toBe('higher');
    expect(bestSentence([first, ...others])?.mark).toBe('');
  });
});

describe('the page of a sweep', () => {
  const result = gridResult((rate, size, seed) => rate + size / 10 + shared[seed - 1]!);

  it('shows the result first, then the runs with links to their reports, and the effect of each key', () => {
    const text = visibleText(file(result));
    // The last occurrences: the contents of the page name the sections, too.
    const order = ['rate=10, size=16 has the highest', 'Runs by key and result', 'Effect of each key'];
    const places = order.map((part) => text.lastIndexOf(part));
    expect(places[0]).toBeGreaterThan(0);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    const elements = elementsOf(file(result));
    const links = elements.filter(
      ({ attributes, name }) => name === 'a' && attributes.href === './rate-0.1_size-8/seed-1/report.html',
    );
    expect(links.length).toBeGreaterThan(0);
  });

  it('shows partial results while runs are missing, and says if no run is complete yet', () => {
    const some = visibleText(file(gridResult((rate, _, seed) => (rate === 10 ? null : rate + seed))));
    expect(some).toContain('6 settings');
    expect(some).toContain('rate=0.2, size=8 has the highest mean return');
    const none = visibleText(file(gridResult(() => null)));
    expect(none).toContain('No run is complete yet');
  });
});
