import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { paceOf, trainingLoss } from '../../../finetune/train/pace.js';
import { createMeter, TrainingRecord } from '../../../finetune/train/record.js';
import { trainConfigSchema } from '../../../finetune/train/train-config.js';
import type { Metric, TrainingEvent } from '../../../finetune/train/trainer.js';
import { packageText } from '../../../src/base/package.js';
import { elementsOf, visibleText } from '../../report/markup.js';
import { temporaryDirectory, tickingClock } from '../../support/experiments.js';

const split = { examples: 40, tokens: 4000 };
const totalSteps = 120;
const intervals = { evaluateEvery: 20, checkpointEvery: 50 };

/** A meter whose clock goes on by 2 s an event, by 10 s for a validation. */
function meter() {
  let milliseconds = 0;
  const measured = createMeter({
    now: tickingClock(),
    milliseconds: () => milliseconds,
    memory: () => 3 * 2 ** 30,
  });
  return (event: TrainingEvent) => {
    milliseconds += event.kind === 'validation' ? 10_000 : 2000;
    return measured(event);
  };
}

function step(number: number, loss = 1 / number): TrainingEvent {
  return { kind: 'step', step: number, totalSteps, loss, gradientNorm: 2, learningRate: 1e-4, tokens: 100 };
}

/** What happens in a session that does the steps after `from` up to `to`. */
function events(from: number, to: number): readonly TrainingEvent[] {
  return [
    { kind: 'start', step: from, totalSteps, training: split, validation: split },
    ...Array.from({ length: to - from }, (_, i) => from + 1 + i).flatMap((number): TrainingEvent[] => [
      step(number),
      ...(number % intervals.evaluateEvery === 0
        ? [{ kind: 'validation', step: number, loss: 2 / number, best: true } as const]
        : []),
      ...(number % intervals.checkpointEvery === 0 ? [{ kind: 'checkpoint', step: number } as const] : []),
    ]),
  ];
}

function recordIn(output: string, dataset = 'data') {
  const about = {
    command: 'policyloop finetune train tune.yaml',
    config: { ...trainConfigSchema.parse({ model: '/models/<b>tiny', dataset, output }), output },
    dataset: {
      path: dataset,
      recipe: 'weighted',
      sources: null,
      files: { 'train.jsonl': 'abc' },
      changed: false,
    },
  };
  return new TrainingRecord<Metric>(output, {
    page: (metrics, status) => supervisedPage({ ...about, metrics, status }),
    secondsLeft: (metrics) => paceOf(metrics, about.config).secondsLeft,
  });
}

const lines = (output: string) =>
  readFileSync(join(output, 'metrics.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Metric);

const stepsOf = (metrics: readonly Metric[]) =>
  metrics.flatMap((metric) => (metric.kind === 'step' ? [metric.step] : []));

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

describe('metrics', () => {
  it('say how long a step took, apart from validations and checkpoints', () => {
    const measured = meter();
    const [start, first] = events(0, 1).map(measured);
    expect(start).toMatchObject({ kind: 'start', seconds: 2 });
    expect(first).toMatchObject({ seconds: 2, tokensPerSecond: 50, rssBytes: 3 * 2 ** 30 });
    const validation = measured({ kind: 'validation', step: 1, loss: 1, best: true });
    expect(validation).toMatchObject({ seconds: 10 });
    expect(measured(step(2))).toMatchObject({ seconds: 2, tokensPerSecond: 50 });
  });

  it('of a training that was cut off and resumed hold every step once', async () => {
    const output = temporaryDirectory();
    const killed = recordIn(output);
    for (const event of events(0, 57).map(meter())) killed.add(event);
    // As a crash leaves it: no end, and a torn line.
    writeFileSync(join(output, 'metrics.jsonl'), '{"kind":"st', { flag: 'a' });
    const resumed = recordIn(output);
    for (const event of events(50, 60).map(meter())) resumed.add(event);
    await resumed.end({ kind: 'interrupted' });
    expect(stepsOf(lines(output))).toEqual(upTo(60));
    expect(stepsOf(resumed.metrics)).toEqual(upTo(60));
    expect(lines(output).filter(({ kind }) => kind === 'start')).toHaveLength(2);
  });

  it('begin anew with a training that does', async () => {
    const output = temporaryDirectory();
    for (const last of [30, 10]) {
      const record = recordIn(output);
      for (const event of events(0, last).map(meter())) record.add(event);
      await record.end({ kind: 'interrupted' });
    }
    expect(stepsOf(lines(output))).toEqual(upTo(10));
    expect(lines(output).filter(({ kind }) => kind === 'start')).toHaveLength(1);
  });
});

describe('pace', () => {
  it('tells the time left with the validations and checkpoints to come', () => {
    expect(paceOf([], intervals).secondsLeft).toBeUndefined();
    const pace = paceOf(events(0, 100).map(meter()), intervals);
    // 20 steps and the checkpoint after the last one of 2 s each, one validation of 10 s.
    expect(pace.secondsLeft).toBeCloseTo(20 * 2 + 10 + 2);
    expect(pace.tokensPerSecond).toBeCloseTo(50);
  });

  it('counts on validations before the first one is timed', () => {
    const pace = paceOf(events(0, 1).map(meter()), { evaluateEvery: 1000, checkpointEvery: 1000 });
    const steps = 119 * 2;
    expect(pace.secondsLeft).toBeGreaterThan(steps);
    expect(pace.secondsLeft).toBeLessThan(steps + 4000 / 50);
  });

  it('forgets how fast it was long ago', () => {
    const slow = {
      kind: 'step',
      step: 1,
      totalSteps,
      loss: 1,
      gradientNorm: 1,
      learningRate: 1,
      tokens: 100,
    } as const;
    const common = { time: '', rssBytes: 0 };
    const fast = Array.from({ length: 20 }, (_, i) => ({ ...slow, ...common, step: 2 + i, seconds: 1 }));
    const pace = paceOf([{ ...slow, ...common, seconds: 1000 }, ...fast], intervals);
    expect(pace.tokensPerSecond).toBeCloseTo(100);
  });

  it('has the mean over the latest steps as its loss, from the first on', () => {
    expect(trainingLoss([4])).toBe(4);
    expect(trainingLoss([4, 2])).toBe(3);
    expect(trainingLoss([9, ...Array<number>(10).fill(1)])).toBe(1);
    expect(trainingLoss([...Array<number>(380).fill(2), ...Array<number>(20).fill(1)])).toBe(1);
    expect(trainingLoss([5, 1, 1, 1], 1)).toBe(5);
  });
});

describe('the page of a training', () => {
  const page = (output: string) => readFileSync(join(output, 'index.html'), 'utf8');

  it('is there from the start, and tells at the end what came of it', async () => {
    const output = temporaryDirectory();
    const record = recordIn(output);
    const [start, ...rest] = events(0, totalSteps).map(meter());
    record.add(start!);
    expect(visibleText(page(output))).toContain('o step');
    for (const event of rest) record.add(event);
    expect(visibleText(page(output))).toContain('running');
    await record.end({ kind: 'complete', result: 'tuned/adapter' });
    expect(page(output)).not.toMatch(/http-equiv="refresh"|id="follow"/);
    const text = visibleText(page(output));
    expect(text).toContain('completed');
    expect(text).toContain(
      'Lowest validation loss 0.0167 at step 120; 0.1000 at the first validation, step 20',
    );
    expect(text).toContain('policyloop run CONFIG model.provider=local');
    expect(text).toContain('model.adapter=tuned/adapter');
    expect(text).toContain('clipped to 1 in 100 % of the steps');
    expect(text).toContain('learningRate: 0.0002');
  });

  it('has one training loss: in the terminal, on the tile, in the caption and in the description', async () => {
    const output = temporaryDirectory();
    const record = recordIn(output);
    for (const event of events(0, 60).map(meter())) record.add(event);
    await record.end({ kind: 'interrupted' });
    const loss = paceOf(record.metrics, intervals).loss!.toFixed(4);
    const text = visibleText(page(output));
    expect(text).toContain(`Training loss ${loss} `);
    expect(page(output)).toContain(`: training loss ${loss} (`);
    expect(page(output)).toMatch(new RegExp(`Loss of 60 steps: from \\S+ to ${loss}`));
  });

  it('follows the training between its checkpoints, and says how far it is', async () => {
    const output = temporaryDirectory();
    const record = recordIn(output);
    const shown: string[] = [];
    for (const event of events(0, 19).map(meter())) {
      record.add(event);
      shown.push(/step \d+ of 120, \d+ %(, about [^<]* left)?/.exec(visibleText(page(output)))?.[0] ?? '');
    }
    // Every third step of 2 s passes the five seconds between two pages.
    expect([...new Set(shown.map((text) => Number(/\d+/.exec(text)?.[0])))]).toEqual([
      0, 3, 6, 9, 12, 15, 18,
    ]);
    expect(shown.at(-1)).toMatch(/^step 18 of 120, 15 %, about \d+ min( \d+ s)? left/);
    const elements = elementsOf(page(output));
    const refresh = elements.find(({ attributes }) => attributes['http-equiv'] === 'refresh');
    expect(refresh?.attributes.content).toBe('10');
    const written = elements.find(({ attributes }) => attributes.id === 'written')!.attributes;
    expect(Date.parse(written['data-time']!)).not.toBeNaN();
    // Three times the longest event so far, which took 2 s.
    expect(written['data-silence']).toBe('66');
    expect(page(output)).toContain('<title>15 % ');
    await record.end({ kind: 'interrupted' });
  });

  it('shows a diverged training with the message and what to do', async () => {
    const output = temporaryDirectory();
    const record = recordIn(output);
    for (const event of events(0, 7).map(meter())) record.add(event);
    await record.end({ kind: 'failed', message: 'training has diverged', remedy: 'lower the learning rate' });
    const text = visibleText(page(output));
    expect(text).toMatch(/failed training has diverged/);
    expect(text).toMatch(/Alarms training has diverged lower the learning rate/);
    expect(text).toContain('policyloop finetune train tune.yaml');
  });

  it('tells an alarm once, however many sessions raised it', async () => {
    const output = temporaryDirectory();
    const record = recordIn(output);
    const alarm = { alarm: 'other-prompts', message: 'other prompts', remedy: 'see to it' } as const;
    for (const event of events(0, 3).map(meter())) record.add(event);
    for (const number of [2, 3]) record.add(meter()({ kind: 'alarm', step: number, ...alarm }));
    await record.end({ kind: 'complete', result: 'tuned/adapter' });
    expect(visibleText(page(output)).match(/other prompts see to it/g)).toHaveLength(1);
  });

  it('is not made for a training that does not start', async () => {
    const output = temporaryDirectory();
    await recordIn(output).end({ kind: 'failed', message: 'no such model' });
    expect(existsSync(join(output, 'index.html'))).toBe(false);
    expect(existsSync(join(output, 'metrics.jsonl'))).toBe(false);
  });

  it('stays small and draws every extreme of a long training', async () => {
    const output = temporaryDirectory();
    const record = recordIn(output);
    const measured = createMeter({ now: tickingClock(), milliseconds: () => 0, memory: () => 1 });
    record.add(measured({ kind: 'start', step: 0, totalSteps: 8000, training: split, validation: split }));
    for (let i = 1; i <= 8000; i++) record.add(measured(step(i, i === 5234 ? 0.25 : 1 + (i % 2))));
    await record.end({ kind: 'interrupted' });
    expect(page(output).length).toBeLessThan(300_000);
    const [raw] = elementsOf(page(output)).filter(
      ({ name, attributes }) => name === 'path' && attributes.class === 'repeat',
    );
    // The only step below 1 is the lowest point of the curve.
    const points = raw!.attributes
      .d!.split(/[ML]/)
      .slice(1)
      .map((point) => point.split(' ').map(Number));
    const lowest = points.reduce((a, b) => (b[1]! > a[1]! ? b : a));
    expect(lowest[0]).toBe(5233.5);
  });

  it('runs nothing that comes from outside', async () => {
    const evil = '<script>alert(1)</script><img src=x onerror=alert(2)>';
    const output = temporaryDirectory();
    const record = recordIn(output, `data${evil}`);
    for (const event of events(0, 3).map(meter())) record.add(event);
    await record.end({ kind: 'failed', message: evil, remedy: evil });
    const elements = elementsOf(page(output));
    expect(elements.filter(({ name }) => name === 'img')).toEqual([]);
    expect(elements.filter(({ name }) => name === 'script')).toHaveLength(1);
    expect(page(output)).toContain(packageText('src/report/page/browser.js'));
    expect(visibleText(page(output))).toContain(evil);
  });
});
