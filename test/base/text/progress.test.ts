import process from 'node:process';
import stringWidth from 'string-width';
import { afterEach, describe, expect, it } from 'vitest';
import { formatBytes } from '../../../src/base/text/numbers.js';
import { createProgress, type ProgressMode } from '../../../src/base/text/progress.js';
import { fakeTerminal } from '../../support/fake-terminal.js';

/** The printed lines, with a clock that the test sets. */
function recorded(terminal?: NodeJS.WriteStream) {
  const printed: string[] = [];
  const noted: string[] = [];
  const clock = { ms: 0 };
  const context = {
    print: (text: string) => printed.push(text),
    note: (text: string) => noted.push(text),
    terminal,
    milliseconds: () => clock.ms,
  };
  return { context, printed, noted, clock };
}

describe('progress without a terminal', () => {
  it('prints occasional lines with the time left, and one at the end', () => {
    const { context, noted, clock } = recorded();
    const progress = createProgress({}, context);
    progress.begin({ label: 'step', total: 8, value: 2 });
    for (const [ms, value] of [
      [4000, 3],
      [12_000, 4],
      [13_000, 5],
      [40_000, 8],
    ] as const) {
      clock.ms = ms;
      progress.update(value, ['loss 1.2']);
    }
    expect(noted).toEqual(['step 4/8  loss 1.2  24 s left', 'step 8/8  loss 1.2']);
  });

  it('prints the figures of slow steps, even if other lines are printed within a step', () => {
    const { context, noted, clock } = recorded();
    const progress = createProgress({}, context);
    progress.begin({ label: 'step', total: 3 });
    for (const step of [1, 2]) {
      clock.ms += 50_000;
      progress.pause('half of the step', 0);
      clock.ms += 9_000;
      progress.update(step, [`loss ${step}`]);
    }
    expect(noted.filter((line) => line.includes('loss'))).toHaveLength(2);
  });

  it('prints one line per update with lineSeconds: 0', () => {
    const { context, noted } = recorded();
    const progress = createProgress({}, context);
    progress.begin({ label: 'written', total: 3e6, lineSeconds: 0, formatAmount: formatBytes });
    progress.update(1e6);
    progress.update(2e6);
    expect(noted).toEqual(['written 1 MB/3 MB', 'written 2 MB/3 MB']);
  });

  it.each<[ProgressMode, string[], string[]]>([
    [{}, [], ['said', 'alarm', 'step 1/1']],
    [{ quiet: true }, [], ['alarm']],
    [{ json: true }, ['{"kind":"step"}'], ['alarm']],
    [{ json: true, quiet: true }, ['{"kind":"step"}'], ['alarm']],
  ])('prints only what the options %j allow', (mode, expectedPrinted, expectedNoted) => {
    const { context, printed, noted } = recorded();
    const progress = createProgress(mode, context);
    progress.begin({ label: 'step', total: 1 });
    progress.say('said');
    progress.alert('alarm');
    progress.emit({ kind: 'step' });
    progress.update(1);
    progress.close();
    expect(printed).toEqual(expectedPrinted);
    expect(noted).toEqual(expectedNoted);
  });
});

describe('progress on a terminal', () => {
  const listeners = process.listenerCount('exit');
  afterEach(() => expect(process.listenerCount('exit')).toBe(listeners));

  it('draws a bar, and writes permanent lines to the terminal', () => {
    const { stream, written } = fakeTerminal(120);
    const { context, noted, clock } = recorded(stream);
    const progress = createProgress({}, context);
    progress.say('before');
    progress.begin({ label: 'iteration', total: 4 });
    clock.ms = 1000;
    progress.update(1, ['return 5.250', 'best 5.250']);
    progress.alert('warning of something');
    progress.close();
    expect(noted).toEqual([]);
    expect(written().startsWith('before\n')).toBe(true);
    expect(written()).toContain('━━━········· iteration 1/4  return 5.250  best 5.250  ');
    expect(written()).toContain('warning of something\n');
  });

  it('is drawn even if the work never yields to the event loop', () => {
    const { stream, written } = fakeTerminal(120);
    const { context, clock } = recorded(stream);
    const progress = createProgress({}, context);
    progress.begin({ label: 'step', total: 100 });
    clock.ms = 500;
    progress.update(40);
    expect(written()).toContain('step 40/100');
    clock.ms = 550;
    progress.update(41);
    expect(written()).not.toContain('step 41/100');
    progress.close();
  });

  it('restores the cursor and line wrapping once, even if the process exits before closing it', () => {
    const { stream, written } = fakeTerminal(120);
    const progress = createProgress({}, recorded(stream).context);
    progress.begin({ label: 'step', total: 3 });
    progress.begin({ label: 'iteration', total: 3 });
    expect(written()).toContain('\x1B[?25l');
    (process.listeners('exit').at(-1) as () => void)();
    const atExit = written();
    expect(atExit.lastIndexOf('\x1B[?25h')).toBeGreaterThan(atExit.lastIndexOf('\x1B[?25l'));
    expect(atExit.lastIndexOf('\x1B[?7h')).toBeGreaterThan(atExit.lastIndexOf('\x1B[?7l'));
    progress.close();
    expect(written()).toBe(atExit);
  });

  const figures = [
    'return 412.5',
    'best 487.3 (iteration 12)',
    '3 rejected',
    '43.1k tokens',
    'limits: tokens 43.1k/2M, cost 0.0123/2',
  ];

  it.each([
    [60, ['return 412.5', 'left', '12/200']],
    [90, ['best 487.3', 'left', '12/200', '━']],
    [120, ['best 487.3', 'left', '43.1k tokens', '12/200', '━', 'return 412.5']],
  ])('shows the most important figures in %i columns', (columns, shown) => {
    const { stream, lines, widest } = fakeTerminal(columns);
    const { context, clock } = recorded(stream);
    const progress = createProgress({}, context);
    progress.begin({ label: 'iteration', total: 200 });
    for (let i = 1; i <= 12; i++) {
      clock.ms += 61_000;
      progress.update(i, figures);
    }
    for (const text of shown) expect(lines().at(-1)).toContain(text);
    expect(widest()).toBeLessThan(columns);
    progress.close();
  });

  it.each([20, 60, 80, 120])('never exceeds a width of %i columns', (columns) => {
    const { stream, widest, lines } = fakeTerminal(columns);
    const { context, clock } = recorded(stream);
    const progress = createProgress({}, context);
    progress.begin({ label: '反復 of a very long name', total: 123_456 });
    for (let i = 1; i < 6; i++) {
      clock.ms += 7_777_000;
      progress.update(i * 1000, [
        '環境/日本語の長い名前/a-long-model:32b-instruct',
        'return −12345.5',
        'best −12345.5',
      ]);
      progress.keep(`iteration ${i}  best of 日本語の長い名前 in a-long-model:32b-instruct-q4_K_M`);
    }
    progress.close();
    expect(widest()).toBeLessThan(columns);
    const kept = lines().join('').replaceAll(' ', '');
    for (let i = 1; i < 6; i++) expect(kept).toContain(`iteration${i}bestof日本語の長い名前`);
    expect(lines().every((line) => stringWidth(line) < columns)).toBe(true);
  });

  it('shows no time left before the first step or after the last', () => {
    const { stream, written } = fakeTerminal(120);
    const { context, clock } = recorded(stream);
    const progress = createProgress({}, context);
    progress.begin({ label: 'iteration', total: 4, value: 1 });
    clock.ms = 30_000;
    progress.update(1);
    expect(written()).toContain('iteration 1/4');
    expect(written()).not.toContain('left');
    clock.ms = 60_000;
    progress.update(2);
    expect(written()).toContain('1 min, 2 min left');
    const before = written().length;
    clock.ms = 120_000;
    progress.update(4);
    progress.close();
    expect(written().slice(before)).not.toContain('left');
    expect(written()).not.toMatch(/\b0 s/);
  });
});
