import { describe, expect, it } from 'vitest';
import { captionsOf, layoutOf } from '../../src/render/animation.js';
import { Painter } from '../../src/render/gif-animation.js';
import { pngFrames } from '../../src/render/png.js';
import { spread, terminalPicture } from '../../src/render/terminal-picture.js';
import { animationOf, followed, rolling } from './frames.js';
import { readPng } from './png-reader.js';

it('PNG files contain each frame exactly as painted', () => {
  const animation = animationOf(followed(6));
  const moments = [0, 3, 5];
  const painter = new Painter(animation, layoutOf(animation.moments[0]!.frame, 120), 256);
  for (const [i, bytes] of pngFrames(animation, moments, 120).entries()) {
    const at = moments[i]!;
    painter.paint(animation.moments[at]!.frame, captionsOf(animation)[at]!);
    const read = readPng(bytes);
    expect([read.width, read.height]).toEqual([120, 75]);
    expect(Buffer.compare(read.pixels, painter.pixels)).toBe(0);
    expect(read.palette).toEqual(painter.palette);
  }
});

it('the PNG reader of the tests rejects damaged files', () => {
  const whole = pngFrames(animationOf(rolling(2)), [0], 60)[0]!;
  for (const at of [3, 20, 60, whole.length - 30]) {
    const damaged = Uint8Array.from(whole);
    damaged[at]! ^= 1;
    expect(() => readPng(damaged), `byte ${at}`).toThrow();
  }
});

it('spread selects evenly spaced items that include the last', () => {
  const list = [0, 1, 2, 3, 4, 5, 6];
  expect(spread(list, 3)).toEqual([0, 3, 6]);
  expect(spread(list, 7)).toEqual(list);
  expect(spread(list, 20)).toEqual(list);
  expect(spread(list, 1)).toEqual([6]);
});

describe('the terminal picture', () => {
  const animation = animationOf(rolling(8));
  const all = [0, 1, 3, 5, 7];
  const esc = String.fromCharCode(27);
  const plain = (line: string) => line.replaceAll(new RegExp(`${esc}\\[[\\d;]*m`, 'g'), '');

  it.each([20, 40, 79, 120, 200])('fits into %i columns and always shows the last frame', (columns) => {
    for (const depth of [1, 8, 24]) {
      const lines = terminalPicture(animation, all, { columns, depth });
      for (const line of lines) expect(plain(line).length).toBeLessThanOrEqual(columns);
      expect(lines[0]).toContain('step 7 of 7');
      // Letters may be blanks, which are left out at the end.
      if (depth > 1) expect(new Set(lines.slice(1).map((line) => plain(line).length)).size).toBe(1);
      if (columns >= 120) expect(lines[0]).toContain('step 0 of 7');
    }
  });

  it('shows shapes at their positions, with and without colours', () => {
    const [columns, depth] = [40, 1];
    const ball = (at: number) => {
      const lines = terminalPicture(animation, [at], { columns, depth });
      const across = lines.slice(1, -3).map((line) => line.search(/[^ ]/));
      return Math.min(...across.filter((x) => x >= 0));
    };
    expect(ball(7)).toBeGreaterThan(ball(0) + 10);
    const coloured = terminalPicture(animation, [0], { columns, depth: 8 }).join('');
    expect(coloured).toContain('▀');
    expect(coloured).toContain(`${esc}[38;5;`);
    expect(terminalPicture(animation, [0], { columns, depth: 24 }).join('')).toContain(`${esc}[38;2;`);
    expect(terminalPicture(animation, [0], { columns, depth }).join('')).not.toContain(esc);
  });
});
