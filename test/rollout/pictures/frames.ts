/** Animations to draw, made without an environment. */
import fc from 'fast-check';
import type { Frame, Role, Shape } from '../../../src/environments/frame.js';
import type { Animation } from '../../../src/rollout/pictures/animation.js';

export const stillView: Frame['view'] = { min: [0, 0], max: [10, 5] };

/** One frame a step; the return counts the steps. */
export function animationOf(frames: readonly Frame[], title = 'Test-v0 · iteration 1'): Animation {
  return {
    title,
    moments: frames.map((frame, step) => ({ frame, step, return: step })),
    pace: { stride: 1, seconds: 0.1 },
  };
}

/** A ball on its way to the right, above a floor. */
export function rolling(length: number): readonly Frame[] {
  return Array.from({ length }, (_, i) => ({
    view: stillView,
    shapes: [
      { kind: 'rectangle', min: [0, 0], max: [10, 1], role: 'ground' },
      { kind: 'circle', center: [1 + i, 2], radius: 1, role: 'agent' },
    ],
  }));
}

/** The same from a camera that goes along, with marks on the floor that it passes. */
export function followed(length: number): readonly Frame[] {
  return Array.from({ length }, (_, i) => {
    const left = 0.7 * i;
    const marks = Array.from({ length: 12 }, (_, k) => Math.floor(left) + k);
    return {
      view: { min: [left, 0], max: [left + 10, 5] },
      shapes: [
        { kind: 'rectangle', min: [left, 0], max: [left + 10, 1], role: 'ground' },
        ...marks.map(
          (x): Shape => ({ kind: 'text', center: [x, 0.5], height: 0.5, text: `${x} m`, role: 'guide' }),
        ),
        { kind: 'circle', center: [left + 5, 2 + (i % 3)], radius: 1, role: 'agent' },
      ],
    };
  });
}

const roles: readonly Role[] = ['agent', 'object', 'ground'];
const coordinate = fc.integer({ min: 0, max: 10 });
const point = fc.tuple(coordinate, coordinate);
const role = fc.constantFrom(...roles);

const anyShape: fc.Arbitrary<Shape> = fc.oneof(
  fc.record({
    kind: fc.constant('line' as const),
    points: fc.array(point, { minLength: 2, maxLength: 3 }),
    width: fc.constantFrom(0.1, 0.5),
    role,
  }),
  fc.record({ kind: fc.constant('circle' as const), center: point, radius: fc.constant(0.5), role }),
  fc.record({ kind: fc.constant('rectangle' as const), min: point, max: point, role }),
  fc.record({
    kind: fc.constant('polygon' as const),
    points: fc.array(point, { minLength: 3, maxLength: 5 }),
    role,
  }),
  fc.record({
    kind: fc.constant('text' as const),
    center: point,
    height: fc.constant(1),
    text: fc.string({ maxLength: 4 }),
    role,
  }),
);

/** Frames that share shapes, as those of an episode do, from a camera that may move. */
export const anyFrames: fc.Arbitrary<readonly Frame[]> = fc
  .tuple(fc.array(anyShape, { minLength: 1, maxLength: 6 }), fc.boolean())
  .chain(([shapes, moves]) =>
    fc
      .array(
        fc.tuple(
          fc.subarray(shapes, { minLength: 0 }),
          fc.array(anyShape, { maxLength: 2 }),
          fc.integer({ min: 0, max: 9 }),
        ),
        { minLength: 1, maxLength: 8 },
      )
      .map((parts) =>
        parts.map(([kept, fresh, shift]): Frame => {
          const left = moves ? shift : 0;
          return { view: { min: [left, 0], max: [left + 10, 10] }, shapes: [...kept, ...fresh] };
        }),
      ),
  );
