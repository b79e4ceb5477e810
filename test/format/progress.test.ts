import process from 'node:process';
import { Writable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { formatBytes } from '../../src/format/numbers.js';
import { createProgress, type ProgressMode } from '../../src/format/progress.js';

/** What was said, with a clock that the test sets. */
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

function fakeTerminal() {
  let written = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      written += chunk;
      done();
    },
  });
  const terminal = Object.assign(stream, { isTTY: true, columns: 120 }) as unknown as NodeJS.WriteStream;
  return { terminal, written: () => written };
}

describe('progress without a terminal', () => {
  it('is a line now and then, with the time left, and one at the end', () => {
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

  it('is a line an update where that is wanted', () => {
    const { context, noted } = recorded();
    const progress = createProgress({}, context);
    progress.begin({ label: 'written', total: 3e6, lineEvery: 0, timed: false, amount: formatBytes });
    progress.update(1e6);
    progress.update(2e6);
    expect(noted).toEqual(['written 1 MB/3 MB', 'written 2 MB/3 MB']);
  });

  it.each<[ProgressMode, string[], string[]]>([
    [{}, [], ['said', 'alarm', 'step 1/1']],
    [{ quiet: true }, [], ['alarm']],
    [{ json: true }, ['{"kind":"step"}'], ['alarm']],
    [{ json: true, quiet: true }, ['{"kind":"step"}'], ['alarm']],
  ])('in mode %j', (mode, expectedPrinted, expectedNoted) => {
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

  it('is a bar under the lines that stay', () => {
    const { terminal, written } = fakeTerminal();
    const { context, noted, clock } = recorded(terminal);
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

  it('draws work that never lets go of the thread', () => {
    const { terminal, written } = fakeTerminal();
    const { context, clock } = recorded(terminal);
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

  it('gives the cursor and line wrapping back when it is closed, also by the end of the process', () => {
    const { terminal, written } = fakeTerminal();
    const progress = createProgress({}, recorded(terminal).context);
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
});
