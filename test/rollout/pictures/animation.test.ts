import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { captionsOf, isShown, paceOf, speedText } from '../../../src/rollout/pictures/animation.js';
import { stillView } from './frames.js';

const stepsShown = (steps: number, pace: ReturnType<typeof paceOf>) =>
  Array.from({ length: steps + 1 }, (_, step) => step).filter((step) => isShown(step, steps, pace));

describe('the pace of an animation', () => {
  it("is the task's own if the animation is short enough", () => {
    const pace = paceOf(250, 0.02, 300);
    expect(pace).toEqual({ stride: 2, seconds: 0.04 });
    expect(speedText(pace)).toBeUndefined();
  });

  it('is increased for an animation longer than 20 s, and the speed is reported', () => {
    const pace = paceOf(1000, 0.05, 300);
    expect(pace.seconds * (stepsShown(1000, pace).length - 1)).toBeCloseTo(20, 6);
    expect(speedText(pace)).toBe('2.5× speed');
  });

  it('shows every turn if steps have no duration and there are enough frames', () => {
    expect(paceOf(3, undefined, 300)).toEqual({ stride: 1, seconds: 0.7 });
    expect(paceOf(200, undefined, 300)).toEqual({ stride: 1, seconds: 0.05 });
  });

  it('never shows more frames than allowed, and always the first and the last', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3000 }),
        fc.option(fc.double({ min: 0.001, max: 1, noNaN: true }), { nil: undefined }),
        fc.integer({ min: 2, max: 500 }),
        (steps, stepSeconds, maxFrames) => {
          const pace = paceOf(steps, stepSeconds, maxFrames);
          const shown = stepsShown(steps, pace);
          expect(shown.length).toBeLessThanOrEqual(maxFrames);
          expect(shown[0]).toBe(0);
          expect(shown.at(-1)).toBe(steps);
          expect(pace.seconds).toBeGreaterThan(0);
        },
      ),
    );
  });
});

describe('captions', () => {
  const moments = (returns: readonly number[]) =>
    returns.map((total, step) => ({ frame: { view: stillView, shapes: [] }, step, return: total }));

  it('have the same number of decimals throughout', () => {
    const captions = captionsOf({ moments: moments([0, 1, 2]) }).map((caption) => caption.return);
    expect(captions).toEqual(['0', '1', '2']);
    expect(captionsOf({ moments: moments([0, 1.25]) }).map((caption) => caption.return)).toEqual([
      '0.00',
      '1.25',
    ]);
    expect(captionsOf({ moments: moments([0, -123.456]) })).toEqual([
      { return: '0.0', step: '0 of 1' },
      { return: '−123.5', step: '1 of 1' },
    ]);
  });
});
