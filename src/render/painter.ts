/** Frames and captions on a raster. */
import type { Frame, Point, Shape } from '../environments/frame.js';
import { unreachable } from '../errors.js';
import { type Animation, type Caption, type Layout, placeIn, speedText } from './animation.js';
import { colours, createBlends, type Paint, paintOf, type Rgb, rgbOf } from './colours.js';
import { createRaster } from './raster.js';
import { baselineBelowMiddle, strokesOf, strokeWidth } from './stroke-font.js';

export interface Painter {
  /** Indices of the palette, row by row; the same array each time. */
  readonly pixels: Uint8Array;
  readonly palette: readonly Rgb[];
  /** Paints a whole picture. */
  paint(frame: Frame, caption: Caption): void;
}

/** @param size the most colours that the palette may have */
export function createPainter(animation: Animation, layout: Layout, size: number): Painter {
  const paints = paintsOf(animation);
  const blends = createBlends(
    paints.map((paint) => rgbOf(colours[paint].light)),
    size,
  );
  const { width, height, scene, scale } = layout;
  const raster = createRaster(width, height, blends);
  const indexOf = (paint: Paint) => paints.indexOf(paint);

  /** @param place where its baseline begins */
  const write = (text: string, [x, y]: Point, height: number, paint: Paint, bold = false): void => {
    const strokes = strokesOf(text, height).strokes.map((stroke) =>
      stroke.map(([dx, dy]): Point => [x + dx, y + dy]),
    );
    raster.strokes(strokes, height * (bold ? strokeWidth.bold : strokeWidth.regular), indexOf(paint));
  };

  const writeCaption = (caption: Caption): void => {
    const { title, figures, columns, margin } = layout.caption;
    const speed = speedText(animation.pace) ?? '';
    const speedWidth = strokesOf(speed, figures.size).width;
    const room = width - 3 * margin - speedWidth;
    const fitting = Math.min(1, room / strokesOf(animation.title, title.size).width);
    write(animation.title, [margin, title.baseline], title.size * fitting, 'writing', true);
    write(speed, [width - margin - speedWidth, title.baseline], figures.size, 'note');
    for (const [i, part] of ['return', caption.return, 'step', caption.step].entries()) {
      write(part, [columns[i]!, figures.baseline], figures.size, i % 2 === 0 ? 'note' : 'writing');
    }
  };

  const draw = (shape: Shape, place: (point: Point) => Point): void => {
    const colour = indexOf(paintOf(shape));
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
        write(shape.text, [begin, y + baselineBelowMiddle(size)], size, paintOf(shape));
        break;
      }
      default:
        unreachable(shape);
    }
  };

  return {
    pixels: raster.pixels,
    palette: blends.palette,
    paint({ view, shapes }, caption) {
      raster.clip(0, 0, width, height);
      raster.clear(indexOf('page'));
      writeCaption(caption);
      raster.clip(scene.left, scene.top, scene.left + scene.width, scene.top + scene.height);
      for (const shape of shapes) {
        draw(shape, (point) => {
          const [x, y] = placeIn(view, layout, point);
          return [scene.left + x, scene.top + y];
        });
      }
    },
  };
}

/** The fewer, the finer their edges. */
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
