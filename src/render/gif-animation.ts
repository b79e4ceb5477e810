import { createRequire } from 'node:module';
import { type Animation, captionsOf, holdSeconds, layoutOf } from './animation.js';
import { Painter } from './painter.js';

interface Encoder {
  writeFrame(
    pixels: Uint8Array,
    width: number,
    height: number,
    options: {
      /** The colours of the whole picture; given with the first frame. */
      readonly palette?: readonly (readonly number[])[];
      /** Milliseconds; GIF keeps hundredths of a second. */
      readonly delay: number;
      readonly transparent?: boolean;
      readonly transparentIndex?: number;
      /** 1: the next frame is painted over this one. */
      readonly dispose: number;
    },
  ): void;
  finish(): void;
  bytes(): Uint8Array;
}

// The package has no types, and names its exports to bundlers only.
const { GIFEncoder } = createRequire(import.meta.url)('gifenc') as { GIFEncoder: () => Encoder };

/** Index of the palette that stands for "as in the frame before". */
const unchanged = 255;
const shortestDelayMs = 20; // browsers slow down what is quicker

/** A picture file that moves. */
export interface Gif {
  readonly bytes: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/**
 * A GIF that repeats forever, in the colours of a light page.
 * @param width pixels
 * @param onFrame called after each frame with the number of frames that are drawn
 */
export function gifAnimation(
  animation: Animation,
  width: number,
  onFrame: (drawn: number) => void = () => undefined,
): Gif {
  const { moments, pace } = animation;
  const layout = layoutOf(moments[0]!.frame, width);
  const { height } = layout;
  const painter = new Painter(animation, layout, unchanged);
  const { pixels, palette } = painter;
  const wholePalette = Array.from({ length: unchanged + 1 }, (_, i) => palette[i] ?? ([0, 0, 0] as const));
  const captions = captionsOf(animation);
  const encoder = GIFEncoder();
  const before = new Uint8Array(pixels.length);
  const changes = new Uint8Array(pixels.length);
  for (const [i, { frame }] of moments.entries()) {
    painter.paint(frame, captions[i]!);
    const seconds = i === moments.length - 1 ? Math.max(pace.seconds, holdSeconds) : pace.seconds;
    const delay = Math.max(shortestDelayMs, Math.round(seconds * 100) * 10);
    if (i === 0) {
      encoder.writeFrame(pixels, width, height, { palette: wholePalette, delay, dispose: 1 });
    } else {
      for (let p = 0; p < changes.length; p++) {
        changes[p] = pixels[p] === before[p] ? unchanged : pixels[p]!;
      }
      const options = { delay, transparent: true, transparentIndex: unchanged, dispose: 1 };
      encoder.writeFrame(changes, width, height, options);
    }
    before.set(pixels);
    onFrame(i + 1);
  }
  encoder.finish();
  return { bytes: encoder.bytes(), width, height };
}
