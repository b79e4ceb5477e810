import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Metric, TrainingEvent } from '../../../finetune/train/events.js';
import { createEventMeter, TrainingRecord } from '../../../finetune/train/record.js';
import { trainConfigSchema } from '../../../finetune/train/train-config.js';
import { createSample, isSampled, readSamples, type Sample } from '../../../src/runs/training/samples.js';
import { secondsLeftOf } from '../../../src/runs/training/trainings.js';
import { appScript } from '../../../src/web/page.js';
import { smoothedLoss } from '../../../src/web/training-charts.js';
import { temporaryDirectory, tickingClock } from '../../support/experiments.js';
import { visibleText } from '../../web/shown.js';
import { jsonLines } from '../dataset/runs.js';

const split = { examples: 40, tokens: 4000 };
const totalSteps = 120;
const intervals = { evaluateEvery: 20, checkpointEvery: 50 };

/** A meter whose clock advances by 2 s per event, and by 10 s for a validation. */
function meter() {
  let milliseconds = 0;
  const measured = createEventMeter({
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

/** The events of a session with the steps after `from` up to `to`. */
function events(from: number, to: number): readonly TrainingEvent[] {
  return [
    { kind: 'start', step: from, totalSteps, parameters: 9, training: split, validation: split },
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
  const config = trainConfigSchema.parse({ model: '/models/<b>tiny', dataset, output });
  const about = {
    method: 'lora',
    base: { model: config.model },
    config,
    command: 'policyloop finetune train tune.yaml',
    folder: output,
    outcome: { ended: 'running', step: 0 },
    dataset: { path: dataset, recipe: 'weighted', sources: null, files: { 'train.jsonl': 'abc' } },
  };
  return Object.assign(new TrainingRecord(output), { about });
}

const interrupted = { outcome: { ended: 'interrupted', step: 0 } };
const complete = { outcome: { ended: 'complete', step: totalSteps } };
const failed = (message: string, hint?: string) => ({
  outcome: { ended: 'failed', step: 0, message, ...(hint !== undefined && { hint }) },
});

const lines = (output: string) => jsonLines<Metric>(output, 'metrics.jsonl');

const stepsOf = (metrics: readonly Metric[]) =>
  metrics.flatMap((metric) => (metric.kind === 'step' ? [metric.step] : []));

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

describe('metrics', () => {
  it('measure the duration of a step separately from validations', () => {
    const measured = meter();
    const [start, first] = events(0, 1).map(measured);
    expect(start).toMatchObject({ kind: 'start', seconds: 2 });
    expect(first).toMatchObject({ seconds: 2, tokensPerSecond: 50, rssBytes: 3 * 2 ** 30 });
    const validation = measured({ kind: 'validation', step: 1, loss: 1, best: true });
    expect(validation).toMatchObject({ seconds: 10 });
    expect(measured(step(2))).toMatchObject({ seconds: 2, tokensPerSecond: 50 });
  });

  it('of a training run that was killed and resumed contain every step once', async () => {
    const output = temporaryDirectory();
    const killed = recordIn(output);
    for (const event of events(0, 57).map(meter())) killed.add(event);
    // As a crash leaves it: no end, and a torn line.
    writeFileSync(join(output, 'metrics.jsonl'), '{"kind":"st', { flag: 'a' });
    const resumed = recordIn(output);
    for (const event of events(50, 60).map(meter())) resumed.add(event);
    await resumed.end(interrupted);
    expect(stepsOf(lines(output))).toEqual(upTo(60));
    expect(stepsOf(resumed.metrics)).toEqual(upTo(60));
    expect(lines(output).filter(({ kind }) => kind === 'start')).toHaveLength(2);
  });
});

it('the time left is estimated from the work and duration of steps and validations', () => {
  const start = { kind: 'start', totalSteps: 4, seconds: 0, work: 1200 };
  const short = { kind: 'step', tokens: 100, seconds: 10 };
  expect(secondsLeftOf([start, short])).toBe(110);
  expect(secondsLeftOf([start, short, { kind: 'validation', seconds: 20, work: 100 }])).toBe(150);
});

it('the training loss is the mean over the latest steps, even if there is only one', () => {
  expect(smoothedLoss([4])).toBe(4);
  expect(smoothedLoss([4, 2])).toBe(3);
  expect(smoothedLoss([9, ...Array<number>(10).fill(1)])).toBe(1);
  expect(smoothedLoss([...Array<number>(380).fill(2), ...Array<number>(20).fill(1)])).toBe(1);
  expect(smoothedLoss([5, 1, 1, 1], 1)).toBe(5);
});

const page = (output: string) => readFileSync(join(output, 'index.html'), 'utf8');

/** Returns the page after these steps and further events. */
async function pageAfter(steps: number, end: object, more: readonly TrainingEvent[] = []): Promise<string> {
  const output = temporaryDirectory();
  const record = recordIn(output);
  for (const event of [...events(0, steps), ...more].map(meter())) record.add(event);
  await record.end(end);
  return page(output);
}

describe('samples', () => {
  const said = (number: number): Sample =>
    createSample([{ prompt: 'p', reply: `r${number}` }], { expected: 'r40' });
  const samplesIn = (output: string) => readFileSync(join(output, 'samples.jsonl'), 'utf8');

  /** Records training from one step to another, and ends without closing the record, like a killed process. */
  function trainTo(output: string, from: number, to: number): TrainingRecord {
    const record = recordIn(output);
    const measured = createEventMeter({ now: tickingClock(), milliseconds: () => 0, memory: () => 1 });
    for (const event of events(from, to)) {
      if (event.kind === 'validation') record.addSamples(event.step, [said(event.step), said(0)]);
      record.add(measured(event));
    }
    return record;
  }

  it('are the same for a killed and resumed training run as for an uninterrupted one', async () => {
    const [whole, cut] = [temporaryDirectory(), temporaryDirectory()];
    await trainTo(whole, 0, 120).end(complete);
    trainTo(cut, 0, 117);
    // A kill in the midst of a line, after the checkpoint at step 50.
    writeFileSync(join(cut, 'samples.jsonl'), '{"step":120,"tu', { flag: 'a' });
    expect(samplesIn(cut)).not.toBe(samplesIn(whole));
    await trainTo(cut, 50, 120).end(complete);
    expect(samplesIn(cut)).toBe(samplesIn(whole));
    expect(jsonLines(whole, 'samples.jsonl')).toHaveLength(12);
    // A training from the beginning keeps none.
    await trainTo(cut, 0, 20).end(interrupted);
    expect(jsonLines(cut, 'samples.jsonl')).toHaveLength(2);
  });

  it('are shown verbatim with their step', async () => {
    const output = temporaryDirectory();
    await trainTo(output, 0, 120).end(complete);
    const text = visibleText(page(output));
    expect(text).toContain('Sample replies');
    expect(text).toMatch(/Prompt p Reply r20 Reply in the data r40/);
    expect(text).toMatch(/Prompt p Reply r40 Reply in the data \(identical\) r40/);
    const steps = [20, 40, 60, 80, 100, 120].map((step) => `step ${step} `);
    expect(text.match(/step \d+ (?=Prompt)/g)).toEqual(steps);
    expect(visibleText(await pageAfter(3, complete))).not.toContain('Sample replies');
  });

  it('are limited in length and number', async () => {
    const endless = 'x'.repeat(1e6);
    const turns = Array.from({ length: 50 }, () => ({ prompt: endless, reply: endless }));
    expect(JSON.stringify(createSample(turns, { score: 1 })).length).toBeLessThan(5000);
    expect(createSample(turns)).toMatchObject({ omitted: 47 });
    const sampled = Array.from({ length: 20_000 }, (_, i) => i + 1).filter(isSampled);
    expect(sampled.length).toBeLessThan(300);
    expect(sampled.slice(98, 104)).toEqual([99, 100, 110, 120, 130, 140]);
    expect(sampled).toContain(1000);
  });

  it('are read without invalid lines, and not through a symbolic link', async () => {
    const output = temporaryDirectory();
    await trainTo(output, 0, 20).end(complete);
    const lines = ['nonsense', 'null', '{"step":1}', '{"step":1,"turns":[]}', '{"step":"1","turns":[{}]}'];
    writeFileSync(join(output, 'samples.jsonl'), `${lines.join('\n')}\n${samplesIn(output)}`);
    expect(readSamples(output)).toEqual([
      { step: 20, ...said(20) },
      { step: 20, ...said(0) },
    ]);
    rmSync(join(output, 'samples.jsonl'));
    symlinkSync('/etc/hostname', join(output, 'samples.jsonl'));
    expect(readSamples(output)).toEqual([]);
  });
});

describe('the training page', () => {
  it('exists from the start and shows the outcome at the end', async () => {
    const output = temporaryDirectory();
    const record = recordIn(output);
    const [start, ...rest] = events(0, totalSteps).map(meter());
    record.add(start!);
    expect(visibleText(page(output))).toContain('step 0 of 120');
    for (const event of rest) record.add(event);
    expect(visibleText(page(output))).toContain('running');
    mkdirSync(join(output, 'adapter'));
    const use = 'policyloop run quickstart model.provider=local model.adapter=adapter';
    await record.end({ ...complete, use });
    const text = visibleText(page(output));
    expect(text).toContain('completed');
    expect(text).toContain('Best validation loss 0.0167 at step 120; 0.1000 at step 20');
    expect(text).toContain(use);
    expect(text).toContain('learningRate: 0.0002');
  });

  it('is updated between checkpoints and shows the progress', async () => {
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
    expect(page(output)).toContain('<title>15 % ');
    await record.end(interrupted);
  });

  it('shows the message and hint of a training run that diverged', async () => {
    const text = visibleText(await pageAfter(7, failed('training has diverged', 'lower the learning rate')));
    expect(text).toMatch(/failed training has diverged/);
    expect(text).toMatch(/Alarms training has diverged lower the learning rate/);
    expect(text).toContain('policyloop finetune train tune.yaml');
  });

  it('shows an alarm only once, even if it was raised repeatedly', async () => {
    const alarm = { alarm: 'other-prompts', message: 'other prompts', hint: 'see to it' } as const;
    const raised = [2, 3].map((number) => ({ kind: 'alarm', step: number, ...alarm }) as const);
    expect(visibleText(await pageAfter(3, complete, raised)).match(/other prompts see to it/g)).toHaveLength(
      1,
    );
  });

  it('is not written for a training run that never starts', async () => {
    const output = temporaryDirectory();
    await recordIn(output).end(failed('no such model'));
    expect(existsSync(join(output, 'index.html'))).toBe(false);
    expect(existsSync(join(output, 'metrics.jsonl'))).toBe(false);
  });

  it('runs no script from untrusted text', async () => {
    const evil = '<script>alert(1)</script><img src=x onerror=alert(2)>';
    const output = temporaryDirectory();
    const record = recordIn(output, `data${evil}`);
    const [start, ...rest] = events(0, 3).map(meter());
    record.add(start!);
    record.addSamples(0, [createSample([{ prompt: evil, reply: evil }], { expected: evil })]);
    for (const event of rest) record.add(event);
    await record.end(failed(evil, evil));
    expect(page(output)).not.toContain('<img src=x');
    expect(page(output)).toContain(appScript());
    expect(visibleText(page(output))).toContain(evil);
  });
});
