import { describe, expect, it } from 'vitest';
import { groupPage, type RepeatData } from '../../src/report/group-report.js';
import { bootstrapMean95 } from '../../src/statistics/bootstrap.js';
import { interquartileMean, mean } from '../../src/statistics/descriptive.js';
import { meanInterval95 } from '../../src/statistics/distributions.js';
import { page } from '../../src/web/page.js';
import { chartIn, elementsOf, visibleText } from './markup.js';
import { runFixture } from './run-fixture.js';

const renderGroupReport = (...given: Parameters<typeof groupPage>) => page(groupPage(...given));

const repeats: readonly RepeatData[] = Array.from({ length: 5 }, (_, i) => ({
  data: runFixture({ seed: i + 2, iterations: 40 }),
  href: `repeat-${i + 1}/report.html`,
}));

describe('renderGroupReport', () => {
  const page = renderGroupReport(repeats);
  const text = visibleText(page);

  it('links to the report of each repeat', () => {
    const links = elementsOf(page).flatMap(({ name, attributes }) =>
      name === 'a' ? (attributes.href ?? []) : [],
    );
    expect(links.filter((link) => !link.startsWith('#'))).toEqual(repeats.map(({ href }) => `./${href}`));
  });

  it('summarises the confirmed means', () => {
    const means = repeats.map(
      ({ data }) => data.manifest.confirmations.find(({ stage }) => stage === 'final')!.mean,
    );
    const [low, high] = meanInterval95(means);
    expect(text).toContain(
      `Confirmed mean return ${fourDigits(mean(means))} ${fourDigits(low)} … ${fourDigits(high)} is the 95 % interval over 5 repeats`,
    );
    expect(text).toContain(`Interquartile mean ${fourDigits(interquartileMean(means))}`);
  });

  it('shows the bootstrap interval of a comparison for twelve repeats', () => {
    const many = Array.from({ length: 12 }, (_, i) => ({
      data: runFixture({ seed: i + 2, iterations: 3 }),
      href: `repeat-${i + 1}/report.html`,
    }));
    const means = many.map(
      ({ data }) => data.manifest.confirmations.find(({ stage }) => stage === 'final')!.mean,
    );
    const interval = bootstrapMean95(means).map(fourDigits).join(' … ');
    expect(interval).not.toBe(meanInterval95(means).map(fourDigits).join(' … '));
    expect(visibleText(renderGroupReport(many))).toContain(
      `${interval} is the 95 % interval over 12 repeats`,
    );
  });

  it('averages best-so-far over the repeats at each iteration', () => {
    const bestAfter = (iteration: number) =>
      mean(
        repeats.map(({ data }) =>
          Math.max(...data.entries.filter((entry) => entry.iteration <= iteration).map(({ score }) => score)),
        ),
      );
    const { at, notes, series } = chartIn(page);
    const line = series.at(-1)!;
    expect(at).toEqual(Array.from({ length: 41 }, (_, i) => i));
    expect(notes![0]).toContain(`After the warm-up: mean ${fourDigits(bestAfter(0))},`);
    for (const i of [17, 40]) {
      expect(notes![i]).toContain(`Iteration ${i}: mean ${fourDigits(bestAfter(i))},`);
      expect(line.values[i]).toBeCloseTo(bestAfter(i), 9);
      expect(line.low![i]).toBeLessThan(line.values[i]!);
      expect(line.high![i]).toBeGreaterThan(line.values[i]!);
    }
    // A line per repeat as well.
    expect(series).toHaveLength(repeats.length + 1);
  });

  it('extends a repeat that reached its target, and drops one that was interrupted', () => {
    const stopped = (reason: 'target' | 'interrupted'): RepeatData => {
      const { data, href } = repeats[0]!;
      return {
        href,
        data: {
          ...data,
          manifest: {
            ...data.manifest,
            iterations: { done: 10, of: 40 },
            reason: reason === 'target' ? { kind: 'target', return: 1 } : { kind: 'interrupted' },
          },
          entries: data.entries.filter(({ iteration }) => iteration <= 10),
        },
      };
    };
    const counts = (list: readonly RepeatData[]) =>
      chartIn(renderGroupReport(list)).notes![11]!.split(', ').at(-1);
    expect(counts([stopped('target'), ...repeats.slice(1)])).toBe('5 runs');
    expect(counts([stopped('interrupted'), ...repeats.slice(1)])).toBe('4 runs');
  });

  it('links only to relative paths, even for a hostile href', () => {
    const { data } = repeats[0]!;
    const hostile = renderGroupReport([{ data, href: 'javascript:alert(1)//"><script>' }]);
    const links = elementsOf(hostile).flatMap(({ name, attributes }) =>
      name === 'a' ? (attributes.href ?? []) : [],
    );
    expect(links).toContain('./javascript%3Aalert(1)//%22%3E%3Cscript%3E');
  });

  it('handles a single repeat, and none', () => {
    expect(visibleText(renderGroupReport(repeats.slice(0, 1)))).toContain(
      'an interval needs two confirmed repeats',
    );
    expect(visibleText(renderGroupReport([]))).toContain('No repeat has started');
  });
});

function fourDigits(value: number): string {
  const size = Math.abs(value);
  return `${value < 0 ? '−' : ''}${size.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3)}`;
}
