/** Renders an animation as a GIF, with frames and captions drawn on a raster. */
import { createRequire } from 'node:module';
import { unreachable } from '../base/errors.js';
import type { Frame, Point, Shape } from '../environments/frame.js';
import {
  type Animation,
  type Caption,
  captionsOf,
  holdSeconds,
  type Layout,
  layoutOf,
  placeIn,
  speedText,
} from './animation.js';
import { colours, createBlends, type Paint, paintOf, Raster, type Rgb, rgbOf } from './raster.js';
import { baselineBelowMiddle, strokesOf, strokeWidth } from './stroke-font.js';

interface Encoder {
  writeFrame(
    pixels: Uint8Array,
    width: number,
    height: number,
    options: {
      /** Palette of the whole picture; passed only with the first frame. */
      readonly palette?: readonly (readonly number[])[];
      /** In milliseconds, although GIF stores hundredths of a second. */
      readonly delay: number;
      readonly transparent?: boolean;
      readonly transparentIndex?: number;
      /** 1 means that the next frame is drawn over this one. */
      readonly dispose: number;
    },
  ): void;
  finish(): void;
  bytes(): Uint8Array;
}

// The gifenc package has no types, and Node can't detect the named exports of its CommonJS build.
const { GIFEncoder } = createRequire(import.meta.url)('gifenc') as { GIFEncoder: () => Encoder };

/** Palette index that means "unchanged since the previous frame". */
const unchanged = 255;
const shortestDelayMs = 20; // browsers slow down anything faster

export interface Gif {
  readonly bytes: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/**
 * Encodes an animation as a GIF that loops forever, in the colours of a light page.
 * @param width in pixels
 * @param onFrame called after each frame with the number of frames drawn so far
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

export class Painter {
  /** Palette indices, row by row; the array is reused for every frame. */
  readonly pixels: Uint8Array;
  readonly palette: readonly Rgb[];
  readonly #animation: Animation;
  readonly #layout: Layout;
  readonly #paints: readonly Paint[];
  readonly #raster: Raster;

  /** @param size maximum number of palette colours */
  constructor(animation: Animation, layout: Layout, size: number) {
    this.#animation = animation;
    this.#layout = layout;
    this.#paints = paintsOf(animation);
    const blends = createBlends(
      this.#paints.map((paint) => rgbOf(colours[paint].light)),
      size,
    );
    this.#raster = new Raster(layout.width, layout.height, blends);
    this.pixels = this.#raster.pixels;
    this.palette = blends.palette;
  }

  paint({ view, shapes }: Frame, caption: Caption): void {
    const { width, height, scene } = this.#layout;
    this.#raster.clip(0, 0, width, height);
    this.#raster.clear(this.#indexOf('page'));
    this.#writeCaption(caption);
    this.#raster.clip(scene.left, scene.top, scene.left + scene.width, scene.top + scene.height);
    for (const shape of shapes) {
      this.#draw(shape, (point) => {
        const [x, y] = placeIn(view, this.#layout, point);
        return [scene.left + x, scene.top + y];
      });
    }
  }

  #indexOf(paint: Paint): number {
    return this.#paints.indexOf(paint);
  }

  /** Writes text whose baseline starts at the given point. */
  #write(text: string, [x, y]: Point, height: number, paint: Paint, bold = false): void {
    const strokes = strokesOf(text, height).strokes.map((stroke) =>
      stroke.map(([dx, dy]): Point => [x + dx, y + dy]),
    );
    const width = height * (bold ? strokeWidth.bold : strokeWidth.regular);
    this.#raster.strokes(strokes, width, this.#indexOf(paint));
  }

  #writeCaption(caption: Caption): void {
    const { width } = this.#layout;
    const { title, figures, columns, margin } = this.#layout.caption;
    const animation = this.#animation;
    const speed = speedText(animation.pace) ?? '';
    const speedWidth = strokesOf(speed, figures.size).width;
    const room = width - 3 * margin - speedWidth;
    const fitting = Math.min(1, room / strokesOf(animation.title, title.size).width);
    this.#write(animation.title, [margin, title.baseline], title.size * fitting, 'writing', true);
    this.#write(speed, [width - margin - speedWidth, title.baseline], figures.size, 'note');
    for (const [i, part] of ['return', caption.return, 'step', caption.step].entries()) {
      this.#write(part, [columns[i]!, figures.baseline], figures.size, i % 2 === 0 ? 'note' : 'writing');
    }
  }

  #draw(shape: Shape, place: (point: Point) => Point): void {
    const { scale } = this.#layout;
    const raster = this.#raster;
    const colour = this.#indexOf(paintOf(shape));
    switch (shape.kind) {
      case 'line':
        raster.strokes([shape.points.map(place)], shape.width * scale, colour);
        break;
      case 'circle':
        raster.strokes([[place(shape.centre)]], 2 * shape.radius * scale, colour);
        break;
      case 'rectangle':
        raster.polygon(cornersOf(place(shape.min), place(shape.max)), colour);
        break;
      case 'polygon':
        raster.polygon(shape.points.map(place), colour);
        break;
      case 'text': {
        const size = shape.height * scale;
        const [x, y] = place(shape.centre);
        const begin = x - strokesOf(shape.text, size).width / 2;
        this.#write(shape.text, [begin, y + baselineBelowMiddle(size)], size, paintOf(shape));
        break;
      }
      default:
        unreachable(shape);
    }
  }
}

/** The colours that the animation uses. Unused colours are omitted to leave more of the palette for smooth edges. */
function paintsOf({ moments }: Animation): readonly Paint[] {
  const used = moments.flatMap(({ frame }) => frame.shapes.map(paintOf));
  return [...new Set<Paint>(['page', 'writing', 'note', ...used])];
}

function cornersOf([left, bottom]: Point, [right, top]: Point): readonly Point[] {
  return [
    [left, top],
    [right, top],
    [right, bottom],
    [left, bottom],
  ];
}
