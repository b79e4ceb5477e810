/** Files that grow, and what pages are told of them. */
import { appendFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Tail } from '../../src/storage/tail.js';
import { subjectOf } from '../../src/view/subject.js';
import { Curve, Figures } from '../../src/web/course.js';
import type { Growth, Row, Update } from '../../src/web/messages.js';
import { trainingCharts } from '../../src/web/training-charts.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

function grow<T>(list: T[], { added, keep }: Growth<T>): void {
  list.length = keep;
  list.push(...added);
}

describe('a tail', () => {
  it('reports each line once, however the file grows', () => {
    const folder = temporaryDirectory();
    let files = 0;
    fc.assert(
      fc.property(fc.array(fc.string()), fc.array(fc.nat(40)), (texts, cuts) => {
        const file = join(folder, `${files++}.jsonl`);
        const bytes = Buffer.from(texts.map((text) => `${JSON.stringify({ text })}\n`).join(''));
        const tail = new Tail(file);
        const seen: unknown[] = [];
        let at = 0;
        for (const cut of [...cuts, bytes.length]) {
          appendFileSync(file, bytes.subarray(at, at + cut));
          at += cut;
          while (tail.look((line) => seen.push((line as { text: string }).text)) === 'more');
        }
        expect(seen).toEqual(texts);
      }),
      { numRuns: 60 },
    );
  });

  it('reports that a file was truncated, and reads it again', () => {
    const file = join(temporaryDirectory(), 'log.jsonl');
    writeFileSync(file, '{"a":1}\n{"a":2}\n');
    const tail = new Tail(file);
    const seen: unknown[] = [];
    const look = () => tail.look((line) => seen.push(line));
    look();
    truncateSync(file, 8);
    expect(look()).toBe('again');
    look();
    expect(seen).toEqual([{ a: 1 }, { a: 2 }, { a: 1 }]);
    rmSync(file);
    expect(look()).toBe('again');
    expect(look()).toBe('done');
  });

  it('rereads a file that was truncated and has grown since', () => {
    const file = join(temporaryDirectory(), 'log.jsonl');
    writeFileSync(file, '{"a":1}\n{"a":2}\n');
    const tail = new Tail(file);
    const seen: unknown[] = [];
    const look = () => tail.look((line) => seen.push(line));
    look();
    truncateSync(file, 8);
    appendFileSync(file, '{"a":3}\n{"a":4}\n');
    expect(look()).toBe('again');
    look();
    expect(seen.slice(2)).toEqual([{ a: 1 }, { a: 3 }, { a: 4 }]);
  });

  it('skips lines that are not JSON, and waits for the end of a line', () => {
    const file = join(temporaryDirectory(), 'log.jsonl');
    const tail = new Tail(file);
    const seen: unknown[] = [];
    const look = () => tail.look((line) => seen.push(line));
    expect(look()).toBe('done');
    writeFileSync(file, 'broken\n{"a":1}\n{"a":');
    look();
    expect(seen).toEqual([{ a: 1 }]);
    appendFileSync(file, '2}\n');
    look();
    expect(seen).toEqual([{ a: 1 }, { a: 2 }]);
  });
});

describe('a growing series', () => {
  it('matches its increments, has a bounded size, and keeps the extremes', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.integer()), fc.integer({ min: 1, max: 9000 }), (scores, count) => {
        const curve = new Curve();
        const told: unknown[] = [];
        const all: number[] = [];
        for (let i = 0; i < count; i++) {
          const score = scores.next().value as number;
          all.push(score);
          curve.add({ iteration: i, candidate: 0, score, low: score, high: score });
          if (i % 97 === 0) grow(told, curve.growth() ?? { keep: told.length, added: [] });
        }
        grow(told, curve.growth() ?? { keep: told.length, added: [] });
        const points = curve.points();
        expect(told).toEqual(points);
        expect(points.length).toBeLessThanOrEqual(4096);
        const shown = points.map(({ score }) => score);
        expect([Math.min(...shown), Math.max(...shown)]).toEqual([Math.min(...all), Math.max(...all)]);
        expect(points.at(-1)!.best).toBeLessThanOrEqual(Math.max(...all));
        if (count <= 2048) expect(shown).toEqual(all);
      }),
      { numRuns: 12 },
    );
  });

  it('of training metrics keeps the means and the last step', () => {
    const figures = new Figures();
    const rows: unknown[] = [];
    for (let step = 1; step <= 10_000; step++) {
      figures.add({ step, loss: step % 2, text: 'no number', lost: Number.NaN });
      if (step % 501 === 0) grow(rows, figures.growth()!);
    }
    grow(rows, figures.growth()!);
    expect(rows).toEqual(figures.points());
    expect(rows.length).toBeLessThanOrEqual(2048);
    const mean = figures.points().reduce((sum, { loss }) => sum + loss!, 0) / rows.length;
    expect(mean).toBeCloseTo(0.5, 2);
    expect(figures.points().at(-1)).toEqual({ step: 10_000, loss: expect.any(Number) as number });
  });

  it('keeps only 40 figures of a line with thousands', () => {
    const figures = new Figures();
    figures.add(Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`figure ${i}`, i])));
    expect(Object.keys(figures.points()[0]!)).toHaveLength(40);
  });
});

describe('a run in progress', () => {
  const evaluation = (iteration: number, score: number) =>
    `${JSON.stringify({ iteration, candidate: 0, score, returns: [score - 1, score + 1], parameters: [0] })}\n`;
  const place = () => {
    const path = temporaryDirectory();
    writeFileSync(join(path, 'evaluations.jsonl'), evaluation(1, 5));
    writeFileSync(join(path, 'events.jsonl'), '');
    return path;
  };
  const open = (path: string) => subjectOf({ item: { kind: 'run' } as never, path })!;
  const points = (updates: readonly Update[]) =>
    updates.flatMap((update) => (update.kind === 'curve' ? [update.points] : []));

  it('reports each added evaluation and each lost proposal', () => {
    const path = place();
    const run = open(path);
    expect(points(run.whole())).toEqual([{ keep: 0, added: [[1, 0, 5, 4, 6, 5]] }]);
    expect(run.look()).toEqual([]);
    appendFileSync(join(path, 'evaluations.jsonl'), evaluation(2, 3));
    expect(points(run.look())).toEqual([{ keep: 1, added: [[2, 0, 3, 2, 4, 5]] }]);
    appendFileSync(
      join(path, 'events.jsonl'),
      '{"kind":"proposal-rejected","iteration":3,"candidate":0,"failures":[]}\n',
    );
    expect(run.look()).toEqual([{ kind: 'lost', places: [[3, 0]] }, { kind: 'stale' }]);
  });

  it('with long logs is read to the end, one part per look', () => {
    const path = place();
    const long = { ...JSON.parse(evaluation(2, 3)), note: 'x'.repeat(3 * 2 ** 20) };
    for (let iteration = 2; iteration <= 8; iteration++)
      appendFileSync(join(path, 'evaluations.jsonl'), `${JSON.stringify({ ...long, iteration })}\n`);
    const run = open(path);
    const seen = points(run.whole()).flatMap(({ added }) => added.length);
    for (let looks = 0; looks < 4; looks++) seen.push(...points(run.look()).map(({ added }) => added.length));
    expect(seen.length).toBeGreaterThan(1);
    expect(seen.reduce((sum, count) => sum + count)).toBe(8);
    expect(run.look()).toEqual([]);
  });

  it('starts over if a resumption truncated its logs', () => {
    const path = place();
    appendFileSync(join(path, 'evaluations.jsonl'), evaluation(2, 3));
    const run = open(path);
    writeFileSync(join(path, 'evaluations.jsonl'), evaluation(1, 5));
    expect(points(run.look())).toEqual([{ keep: 0, added: [[1, 0, 5, 4, 6, 5]] }]);
  });

  it('ignores lines of any other shape', () => {
    const path = place();
    const run = open(path);
    const odd = ['null', '[]', '{}', '{"iteration":"1"}', '{"iteration":1,"candidate":0,"score":null}'];
    appendFileSync(join(path, 'evaluations.jsonl'), `${odd.join('\n')}\n`);
    expect(points(run.look())).toEqual([]);
  });
});

describe('a training in progress', () => {
  const step = (number: number) =>
    `${JSON.stringify({ kind: 'step', step: number, loss: 1 / number, text: 'x' })}\n`;
  const metricsIn = (path: string) => join(path, 'metrics.jsonl');
  const place = () => {
    const path = temporaryDirectory();
    writeFileSync(metricsIn(path), step(1));
    return path;
  };
  const open = (path: string) => subjectOf({ item: { kind: 'training' } as never, path })!;

  it('sends each new row, and its charts grow', () => {
    const path = place();
    const training = open(path);
    expect(training.look()).toEqual([]);
    appendFileSync(metricsIn(path), step(2));
    appendFileSync(metricsIn(path), '{"kind":"validation","step":2,"loss":0.7,"best":true}\n');
    const updates = training.look();
    expect(updates).toEqual([
      { kind: 'metrics', of: 'step', rows: { keep: 1, added: [{ step: 2, loss: 0.5 }] } },
      { kind: 'metrics', of: 'validation', rows: { keep: 0, added: [{ step: 2, loss: 0.7 }] } },
      { kind: 'stale' },
    ]);
    const rows = { step: [{ step: 1, loss: 1 }], validation: [], evaluation: [] };
    for (const update of updates) if (update.kind === 'metrics') grow<Row>(rows[update.of], update.rows);
    const words = { unit: 'step', measured: '', rewards: '' } as const;
    expect(trainingCharts(rows, words)[0]!.at).toEqual([1, 2]);
  });

  it('says that its page is stale when only samples were added', () => {
    const path = place();
    const training = open(path);
    appendFileSync(join(path, 'samples.jsonl'), '{}\n');
    expect(training.look()).toEqual([{ kind: 'stale' }]);
  });

  it('starts over if a resumption removed steps', () => {
    const path = place();
    appendFileSync(metricsIn(path), step(2) + step(3));
    const training = open(path);
    writeFileSync(metricsIn(path), step(1));
    expect(training.look()[0]).toEqual({
      ...{ kind: 'metrics', of: 'step', rows: { keep: 0, added: [{ step: 1, loss: 1 }] } },
    });
  });
});
