import { describe, expect, it } from 'vitest';
import { captionsOf, layoutOf } from '../../src/render/animation.js';
import { gifAnimation, Painter } from '../../src/render/gif-animation.js';
import { colours, rgbOf } from '../../src/render/raster.js';
import { animationOf, followed, rolling } from './frames.js';
import { readGif } from './gif-reader.js';

const width = 120;

describe('gifAnimation', () => {
  const animation = animationOf(followed(8));
  const written = gifAnimation(animation, width);
  const gif = readGif(written.bytes);

  it('has the size, frames and timing of the animation, and loops', () => {
    expect([gif.width, gif.height]).toEqual([width, 75]);
    expect([written.width, written.height]).toEqual([width, 75]);
    expect(gif.loops).toBe(true);
    expect(gif.frames.map(({ delay }) => delay)).toEqual([10, 10, 10, 10, 10, 10, 10, 120]);
  });

  it('contains each frame exactly as painted', () => {
    const layout = layoutOf(animation.moments[0]!.frame, width);
    const painter = new Painter(animation, layout, 255);
    expect(gif.palette.slice(0, painter.palette.length)).toEqual(painter.palette);
    const captions = captionsOf(animation);
    for (const [i, { frame }] of animation.moments.entries()) {
      painter.paint(frame, captions[i]!);
      expect(Buffer.compare(gif.frames[i]!.pixels, painter.pixels)).toBe(0);
    }
  });

  it('paints shapes at their positions, later ones over earlier ones', () => {
    const { frames, palette } = readGif(gifAnimation(animationOf(rolling(5)), width).bytes);
    const colourAt = (frame: number, x: number, y: number) =>
      palette[frames[frame]!.pixels[Math.round(15 + 12 * (5 - y)) * width + Math.round(12 * x)]!];
    for (const frame of [0, 2, 4]) {
      expect(colourAt(frame, 1 + frame, 2)).toEqual(rgbOf(colours.agent.light));
      expect(colourAt(frame, 1 + frame, 1.2)).toEqual(rgbOf(colours.agent.light));
      expect(colourAt(frame, 9, 0.5)).toEqual(rgbOf(colours.ground.light));
      expect(colourAt(frame, 9, 4)).toEqual(rgbOf(colours.page.light));
    }
  });

  it('reports its progress and is reproducible', () => {
    const drawn: number[] = [];
    const again = gifAnimation(animation, width, (frames) => drawn.push(frames));
    expect(drawn).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(Buffer.compare(again.bytes, written.bytes)).toBe(0);
  });

  it('can be a single frame with a title that is too long', () => {
    const still = gifAnimation(
      animationOf(rolling(1), 'A title of very many words that go on and on and on'),
      width,
    );
    expect(readGif(still.bytes).frames.length).toBe(1);
  });
});
