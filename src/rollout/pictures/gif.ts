/** Renders an animation as a GIF from its SVG frames, with two packages that users install only for this. */
import { createRequire } from 'node:module';
import { UserError } from '../../base/errors.js';
import { type Animation, holdSeconds } from './animation.js';
import { svgFrames } from './svg-animation.js';

type Palette = readonly (readonly number[])[];

interface Encoder {
  /** `delay` is in milliseconds, although GIF stores hundredths of a second. */
  writeFrame(
    pixels: Uint8Array,
    width: number,
    height: number,
    options: { readonly palette: Palette; readonly delay: number },
  ): void;
  finish(): void;
  bytes(): Uint8Array;
}

interface Gifenc {
  GIFEncoder(): Encoder;
  quantize(pixels: Uint8Array, colours: number): Palette;
  applyPalette(pixels: Uint8Array, palette: Palette): Uint8Array;
}

interface Resvg {
  readonly Resvg: new (
    svg: string,
    options: { readonly fitTo: { readonly mode: 'width'; readonly value: number } },
  ) => { render(): { readonly pixels: Uint8Array; readonly width: number; readonly height: number } };
}

/** @throws UserError if a package isn't installed */
function loadPackages(): Gifenc & Resvg {
  const require = createRequire(import.meta.url);
  try {
    return { ...(require('@resvg/resvg-js') as Resvg), ...(require('gifenc') as Gifenc) };
  } catch {
    throw new UserError({
      message: 'a GIF needs the packages @resvg/resvg-js and gifenc, which are not installed',
      hint: 'run npm install @resvg/resvg-js gifenc, or write an .svg file',
    });
  }
}

const shortestDelayMs = 20; // browsers slow down anything faster

/**
 * Encodes an animation as a GIF that loops forever, in the colours of a light page.
 * @param width in pixels
 * @throws UserError if a package isn't installed
 */
export function gifAnimation(animation: Animation, width: number): Uint8Array {
  const { GIFEncoder, Resvg, applyPalette, quantize } = loadPackages();
  const frames = svgFrames(animation, width);
  const encoder = GIFEncoder();
  for (const [i, svg] of frames.entries()) {
    // resvg would resolve the inherited `currentColor` outside of the shape, which has the colour.
    const coloured = svg.replaceAll('stroke-width=', 'stroke="currentColor" stroke-width=');
    const picture = new Resvg(coloured, { fitTo: { mode: 'width', value: width } }).render();
    const pixels = Uint8Array.from(picture.pixels);
    const palette = quantize(pixels, 256);
    const seconds =
      i === frames.length - 1 ? Math.max(animation.pace.seconds, holdSeconds) : animation.pace.seconds;
    const delay = Math.max(shortestDelayMs, Math.round(seconds * 100) * 10);
    encoder.writeFrame(applyPalette(pixels, palette), picture.width, picture.height, { palette, delay });
  }
  encoder.finish();
  return encoder.bytes();
}
