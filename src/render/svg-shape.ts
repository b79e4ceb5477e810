import type { Frame, Point, Shape } from '../environments/frame.js';
import { largest, smallest } from '../statistics/descriptive.js';
import type { Layout } from './animation.js';
import { colours, type Paint, paintOf } from './colours.js';
import { baselineBelowMiddle } from './stroke-font.js';

/** A shape at one moment as SVG: its appearance and its position. */
export interface SvgShape {
  readonly kind: 'path' | 'text';
  /** All attributes except the position; shapes with equal attributes look alike. */
  readonly attributes: string;
  readonly content: string;
  /** Path data, or the start of a text, relative to the top left corner of the first moment's view. */
  readonly inWorld: string;
  /** The same, relative to the top left corner of this moment's view. */
  readonly inView: string;
  /** Centre of its bounds, in the coordinates of `inWorld`. */
  readonly middle: Point;
  /** Strokes can be joined into one path; areas can't, because they may overlap. */
  readonly joinable: boolean;
}

/**
 * Sets the colour by attribute, so that nothing depends on the style sheet, and by class, so that a dark page
 * can change it.
 */
export function painted(paint: Paint): string {
  return `class="${paint}" color="${colours[paint].light}"`;
}

/** @param origin top left corner of the first moment's view */
export function svgShapes({ shapes, view }: Frame, origin: Point, { scale }: Layout): readonly SvgShape[] {
  const from =
    ([left, top]: Point): Place =>
    ([x, y]) => [Math.round((x - left) * scale), Math.round((top - y) * scale)];
  const [toWorld, toView] = [from(origin), from([view.min[0], view.max[1]])];
  return shapes.map((shape): SvgShape => {
    const { points, look, data } = partsOf(shape, scale);
    const placed = points.map(toWorld);
    const middleOf = (values: readonly number[]) => (smallest(values) + largest(values)) / 2;
    return {
      kind: shape.kind === 'text' ? 'text' : 'path',
      attributes: `${painted(paintOf(shape))} ${look}`,
      content: shape.kind === 'text' ? escapeXml(shape.text) : '',
      inWorld: data(toWorld),
      inView: data(toView),
      middle: [middleOf(placed.map(([x]) => x)), middleOf(placed.map(([, y]) => y))],
      joinable: shape.kind === 'line' || shape.kind === 'circle',
    };
  });
}

/** Maps a point of the frame to the picture. */
type Place = (point: Point) => Point;

const filled = 'fill="currentColor" stroke="none"';

function partsOf(
  shape: Shape,
  scale: number,
): { readonly points: readonly Point[]; readonly look: string; readonly data: (to: Place) => string } {
  const stroked = (width: number) => `stroke-width="${rounded(width * scale)}"`;
  switch (shape.kind) {
    case 'line': {
      const { points, width } = shape;
      return { points, look: stroked(width), data: (to) => `M${joined(points.map(to))}` };
    }
    case 'polygon': {
      const { points } = shape;
      return { points, look: filled, data: (to) => `M${joined(points.map(to))}z` };
    }
    case 'circle': {
      // A line of zero length, whose round caps form the circle.
      const data = (to: Place) => `M${joined([to(shape.centre)])}h0`;
      return { points: [shape.centre], look: stroked(2 * shape.radius), data };
    }
    case 'rectangle': {
      const data = (to: Place) => {
        const [[left, bottom], [right, top]] = [to(shape.min), to(shape.max)];
        return `M${joined([[left, top]])}H${right}V${bottom}H${left}z`;
      };
      return { points: [shape.min, shape.max], look: filled, data };
    }
    case 'text': {
      const size = shape.height * scale;
      const data = (to: Place) => {
        const [x, y] = to(shape.centre);
        return `${x} ${y + Math.round(baselineBelowMiddle(size))}`;
      };
      const look = `${filled} text-anchor="middle" font-size="${rounded(size)}"`;
      return { points: [shape.centre], look, data };
    }
  }
}

/** A minus sign separates two numbers just as a space does. */
function joined(points: readonly Point[]): string {
  return points.flat().join(' ').replaceAll(' -', '-');
}

/** Rounds to one decimal, at least 1: thinner lines would be invisible. */
function rounded(length: number): number {
  return Math.max(1, Math.round(length * 10) / 10);
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for element content and attributes; characters that XML doesn't allow become U+FFFD. */
export function escapeXml(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
      .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/gu, '\ufffd')
      .replace(/[&<>"']/g, (character) => entities[character]!)
  );
}
