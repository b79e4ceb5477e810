/** What a user sees of a run in progress: on terminals of several widths, and in a pipe. */
import { describe, expect, it } from 'vitest';
import type { UsageTotals } from '../../src/runs/calls.js';
import type { Confirmation, RunEvent } from '../../src/runs/events.js';
import { noUsage } from '../../src/runs/usage.js';
import { createDisplay } from '../../src/studies/run-progress.js';
import { fakeTerminal } from '../support/fake-terminal.js';
import { entryOf } from '../support/records.js';

const usageOf = (calls: number): UsageTotals => ({
  ...noUsage,
  calls,
  promptTokens: 3000 * calls,
  completionTokens: 100 * calls,
  latencyMs: 1000 * calls,
});

const scores = [12, 20.5, 18, 487.25, 30];
const last = scores.length;

const confirmation = (stage: Confirmation['stage'], iteration: number): Confirmation => ({
  stage,
  iteration,
  candidate: 0,
  parameters: [iteration],
  observed: 1,
  mean: 450 + iteration,
  ci95: [440, 460],
  episodes: 100,
});

const start = {
  kind: 'run-started',
  run: 'r',
  environment: '環境/日本語-v1',
  model: 'openai/a-very-long-model-name:32b-instruct-q4_K_M-with-more',
  parameters: 10,
  iterations: last,
} as const;

const events: readonly RunEvent[] = [
  start,
  ...[0, 1].map((candidate): RunEvent => {
    const entry = entryOf(0, 9 + candidate, { candidate });
    return { kind: 'warmup-evaluated', entry, episodes: [], of: 2 };
  }),
  ...scores.flatMap((score, i): RunEvent[] => [
    { kind: 'candidate-evaluated', entry: entryOf(i + 1, score), episodes: [], improved: true },
    { kind: 'iteration-finished', iteration: i + 1, score, usage: usageOf(i + 1) },
    ...(i === 2 ? [{ kind: 'warning', message: `${'a long warning '.repeat(12)}ends here` } as const] : []),
  ]),
  { kind: 'noise-measured', noise: { floor: 12.5, episodes: 20, lead: 2, needed: 356_181 } },
  { kind: 'confirmation-started', candidates: 2, episodesEach: 100, budget: 300, of: 3 },
  { kind: 'confirmed', confirmation: confirmation('selection', 4), of: 3 },
  { kind: 'confirmed', confirmation: confirmation('selection', 2), of: 3 },
  { kind: 'confirmed', confirmation: confirmation('final', 4), of: 3 },
];

/** A display that receives each event some time after the previous one. */
function displayOn(terminal: NodeJS.WriteStream | undefined) {
  const noted: string[] = [];
  let milliseconds = 0;
  const outside = { print: () => undefined, note: (text: string) => noted.push(text), terminal };
  const display = createDisplay({}, { ...outside, milliseconds: () => milliseconds });
  return {
    noted,
    close: () => display.close(),
    show(event: RunEvent, later = 0) {
      milliseconds += later;
      display.show(event);
    },
  };
}

/** Shows the events, one every 70 seconds; calls `seen` with the terminal after each. */
function shown(terminal: NodeJS.WriteStream | undefined, seen: (event: RunEvent) => void = () => undefined) {
  const display = displayOn(terminal);
  for (const event of events) {
    display.show(event, 70_000);
    seen(event);
  }
  display.close();
  return display.noted;
}

describe('a terminal', () => {
  it.each([60, 80, 120])('of %i columns shows the best return and the time left', (columns) => {
    const { stream, lines } = fakeTerminal(columns);
    shown(stream, (event) => {
      if (event.kind !== 'iteration-finished' || event.iteration === last) return;
      const bar = lines().at(-1);
      expect(bar).toMatch(/best (12\.00|20\.50|487\.3)/);
      expect(bar).toMatch(/\d+ min( \d+ s)? left/);
      expect(bar).toContain(`${event.iteration}/${last}`);
    });
  });

  it.each([60, 80, 120])(
    'of %i columns keeps improvements and warnings after the progress bar is gone',
    (columns) => {
      const { stream, lines, widest } = fakeTerminal(columns);
      shown(stream);
      expect(widest()).toBeLessThan(columns);
      const left = lines();
      expect(left.filter((line) => /best \d+\./.test(line))).toEqual([
        'warm-up  best 10.00',
        'iteration 1  best 12.00, was 10.00',
        'iteration 2  best 20.50, was 12.00',
        'iteration 4  best 487.3, was 20.50',
      ]);
      const text = left.join(' ').replaceAll(/\s+/g, ' ');
      expect(text).toContain(`${'a long warning '.repeat(12)}ends here`);
      expect(text).not.toContain('━');
    },
  );
});

describe('the progress of a local model', () => {
  const reading = (read: number): RunEvent => ({ kind: 'reading', read, of: 3024 });
  const ended = (iteration: number): RunEvent => ({
    kind: 'iteration-finished',
    iteration,
    score: 3,
    usage: usageOf(1),
  });

  function shownEvery20Seconds(terminal: NodeJS.WriteStream | undefined, seen: () => void) {
    const display = displayOn(terminal);
    display.show(start);
    const first = [0, 256, 512, 1024, 1536, 2048, 2560, 3023, 3024].map(reading);
    for (const event of [...first, ended(1), reading(3000), ended(2)]) {
      display.show(event, 20_000);
      seen();
    }
    display.close();
    return display.noted;
  }

  it('is shown in a pipe, and the time left appears only after the second iteration', () => {
    const noted = shownEvery20Seconds(undefined, () => undefined);
    expect(noted[1]).toBe('reading 3024 tokens of prompt, 0 % done');
    expect(noted[4]).toBe('reading 3024 tokens of prompt, 33 % done');
    expect(noted[9]).toBe('writing, after 3024 tokens of prompt');
    expect(noted[10]).toMatch(/^iteration 1\/5 /);
    expect(noted[10]).not.toContain('left');
    expect(noted.at(-1)).toMatch(/^iteration 2\/5 .* 2 min left$/);
  });

  it('is shown on a terminal, next to the latest return', () => {
    const { stream, lines } = fakeTerminal(120);
    const bars: string[] = [];
    shownEvery20Seconds(stream, () => bars.push(lines().at(-1)!));
    expect(bars[3]).toContain('reading 3024 tokens of prompt, 33 % done');
    expect(bars[8]).toContain('writing, after 3024 tokens of prompt');
    expect(bars[9]).not.toContain('writing');
    expect(bars[10]).toMatch(/reading 3024 tokens of prompt, 99 % done .*return 3/);
  });
});

describe('a wait for the rate limit', () => {
  const waits: RunEvent = { kind: 'rate-limited', seconds: 48 };

  it('is shown on a terminal until the next event', () => {
    const { stream, lines } = fakeTerminal(80);
    const display = displayOn(stream);
    display.show(start);
    display.show(waits);
    expect(lines().at(-1)).toContain('waiting for the rate limit: 48 s');
    display.show({ kind: 'iteration-finished', iteration: 1, score: 3, usage: usageOf(1) }, 48_000);
    expect(lines().at(-1)).not.toContain('waiting');
    display.close();
  });

  it('is reported in a pipe, but not every time', () => {
    const { close, noted, show } = displayOn(undefined);
    show(start);
    for (let i = 0; i < 12; i++) show(waits, 2500);
    expect(noted.slice(1)).toEqual(Array(3).fill('waiting for the rate limit: 48 s'));
    close();
  });
});

describe('a resumed run', () => {
  it('continues the counts of rejected proposals and better revisions', () => {
    const { stream, lines } = fakeTerminal(120);
    const display = displayOn(stream);
    display.show({ ...start, resumedAt: 2, tally: { rejected: 2, revisions: 7, better: 3 } });
    display.show({ kind: 'proposal-rejected', iteration: 2, candidate: 0, failures: ['model-error'] });
    const revised = { kind: 'revised', iteration: 2, candidate: 2, revises: 1, before: 1 } as const;
    display.show({ ...revised, result: 'better', after: 2 });
    display.show({ ...revised, result: 'rejected' });
    display.show({ kind: 'iteration-finished', iteration: 2, score: 3, usage: usageOf(1) }, 70_000);
    expect(lines().at(-1)).toContain('3 rejected  4 of 9 revisions better');
    display.close();
  });
});

describe('a run in a pipe', () => {
  it('reports the confirmation and its progress', () => {
    const noted = shown(undefined);
    expect(noted.slice(-5)).toEqual([
      'noise floor 12.50: means of 20 episodes that differ by less may differ by luck',
      'comparing the 2 policies that may be the best, in at most 300 fresh episodes, then confirming the chosen one on 100 fresh episodes',
      'confirmation 1/3  mean 454.0  95 % interval 440.0 … 460.0  iteration 4  2 min 20 s left',
      'confirmation 2/3  mean 452.0  95 % interval 440.0 … 460.0  iteration 2  1 min 10 s left',
      'confirmation 3/3  confirmed 454.0  95 % interval 440.0 … 460.0  iteration 4',
    ]);
    // The lines of the iterations tell improvements already.
    expect(noted.filter((line) => line.includes('before'))).toEqual([]);
  });
});
