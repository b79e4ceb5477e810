import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBlends, Raster } from '../../src/render/raster.js';
import { strokesOf } from '../../src/render/stroke-font.js';

const [white, black] = [0, 1];
const blends = createBlends(
  [
    [255, 255, 255],
    [0, 0, 0],
  ],
  255,
);

/** How much is covered by black, in pixels. */
function blackness(pixels: Uint8Array): number {
  return pixels.reduce((sum, index) => sum + (255 - blends.palette[index]![0]) / 255, 0);
}

const canvas = (width = 60, height = 40) => new Raster(width, height, blends);

describe('raster', () => {
  it('covers the area of a disc, a capsule and a polygon', () => {
    const disc = canvas();
    disc.strokes([[[30.3, 20.6]]], 20, black);
    expect(blackness(disc.pixels)).toBeCloseTo(Math.PI * 100, -0.7);

    const capsule = canvas();
    const ends = [
      [15, 12],
      [45, 28],
    ] as const;
    capsule.strokes([ends], 6, black);
    expect(blackness(capsule.pixels)).toBeCloseTo(34 * 6 + Math.PI * 9, -0.7);

    const triangle = canvas();
    triangle.polygon(
      [
        [5.5, 3],
        [50, 8],
        [20, 35.2],
      ],
      black,
    );
    expect(blackness(triangle.pixels)).toBeCloseTo(Math.abs(44.5 * 32.2 - 14.5 * 5) / 2, -0.5);
  });

  it('leaves a hole where a polygon overlaps itself', () => {
    const raster = canvas();
    const square = [
      [10, 10],
      [30, 10],
      [30, 30],
      [10, 30],
    ] as const;
    raster.polygon([...square, square[0], ...square, square[0]], black);
    expect(blackness(raster.pixels)).toBe(0);
  });

  it('paints line joints no darker than the line', () => {
    const raster = canvas();
    raster.strokes(
      [
        [
          [5, 20.2],
          [30, 20.2],
          [55, 20.2],
        ],
      ],
      4,
      black,
    );
    const column = (x: number) => Array.from({ length: 40 }, (_, y) => raster.pixels[y * 60 + x]);
    expect(column(29)).toEqual(column(15));
    expect(column(30)).toEqual(column(15));
  });

  it('never paints outside its clip', () => {
    const far = fc.integer({ min: -200, max: 200 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(far, far), { minLength: 3, maxLength: 6 }),
        fc.integer({ min: 1, max: 30 }),
        (points, width) => {
          const raster = canvas();
          raster.clip(10, 5, 40, 30);
          raster.polygon(points, black);
          raster.strokes([points], width, black);
          const painted = [...raster.pixels.keys()].filter((i) => {
            const [x, y] = [i % 60, Math.floor(i / 60)];
            const isInside = x >= 10 && x < 40 && y >= 5 && y < 30;
            return raster.pixels[i] !== white && !isInside;
          });
          expect(painted).toEqual([]);
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('blends', () => {
  const three = createBlends(
    [
      [250, 250, 250],
      [20, 90, 200],
      [200, 60, 50],
    ],
    255,
  );

  it('mix two colours in even steps and fit into the palette', () => {
    expect(three.palette.length).toBeLessThanOrEqual(255);
    const reds = [0, 0.25, 0.5, 0.75, 1].map((share) => three.palette[three.mix(0, 1, share)]![0]);
    expect(reds).toEqual([250, 193, 135, 78, 20]);
  });

  it('approximate a colour blended over a shade', () => {
    const shade = three.mix(0, 1, 0.5);
    const [r, g, b] = three.palette[three.mix(shade, 2, 0.5)]!;
    expect(Math.hypot(r - 168, g - 115, b - 138)).toBeLessThan(60);
  });
});

describe('stroke font', () => {
  it('has a glyph for every letter, digit and common symbol', () => {
    const unknown = strokesOf('\u{1f600}', 10);
    const text =
      'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .,:;-−+=/()[]<>·×%\'"!?_#*…°';
    for (const character of text) expect(strokesOf(character, 10)).not.toEqual(unknown);
  });

  it('gives every digit the same width', () => {
    const widths = [...'0123456789'].map((digit) => strokesOf(digit, 10).width);
    expect(new Set(widths).size).toBe(1);
  });

  it('scales with its height', () => {
    expect(strokesOf('step 12', 20).width).toBeCloseTo(2 * strokesOf('step 12', 10).width, 9);
    expect(strokesOf('', 10)).toEqual({ strokes: [], width: 0 });
  });
});
