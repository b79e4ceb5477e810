import type { Frame, Point, Shape } from '../environments/frame.js';
import { unreachable } from '../errors.js';
import type { Layout } from './animation.js';
import { colours, type Paint, paintOf } from './colours.js';
import { baselineBelowMiddle } from './stroke-font.js';

/** A shape of one moment as SVG: what it looks like, and where it is. */
export interface SvgShape {
  readonly kind: 'path' | 'text';
  /** Attributes beside the place. Shapes that differ in them only by chance of place are alike. */
  readonly attributes: string;
  readonly content: string;
  /** Path data, or where the text begins, from the top left corner of the first moment's view. */
  readonly inWorld: string;
  /** The same, from the top left corner of this moment's view. */
  readonly inView: string;
  /** The middle of its bounds, as in `inWorld`. */
  readonly middle: Point;
  /** Strokes can be joined into one path; areas can't, for they may overlap. */
  readonly joinable: boolean;
}

/** Colour by attribute, so that nothing depends on the style sheet, and by class, so that a dark page can change it. */
export function painted(paint: Paint): string {
  return `class="${paint}" color="${colours[paint].light}"`;
}

/** @param origin top left corner of the first moment's view */
export function svgShapes({ shapes, view }: Frame, origin: Point, { scale }: Layout): readonly SvgShape[] {
  const corner: Point = [view.min[0], view.max[1]];
  const place =
    ([left, top]: Point) =>
    ([x, y]: Point): Point => [Math.round((x - left) * scale), Math.round((top - y) * scale)];
  const [toWorld, toView] = [place(origin), place(corner)];
  return shapes.map((shape): SvgShape => {
    const data = (to: (point: Point) => Point) => placeData(shape, to, scale);
    const points = pointsOf(shape).map(toWorld);
    const middle: Point = [0, 1].map((axis) => {
      const values = points.map((point) => point[axis]!);
      return (Math.min(...values) + Math.max(...values)) / 2;
    }) as [number, number];
    return {
      kind: shape.kind === 'text' ? 'text' : 'path',
      attributes: attributesOf(shape, scale),
      content: shape.kind === 'text' ? escapeXml(shape.text) : '',
      inWorld: data(toWorld),
      inView: data(toView),
      middle,
      joinable: shape.kind === 'line' || shape.kind === 'circle',
    };
  });
}

function pointsOf(shape: Shape): readonly Point[] {
  switch (shape.kind) {
    case 'line':
    case 'polygon':
      return shape.points;
    case 'rectangle':
      return [shape.min, shape.max];
    case 'circle':
    case 'text':
      return [shape.centre];
    default:
      return unreachable(shape);
  }
}

function attributesOf(shape: Shape, scale: number): string {
  const colour = painted(paintOf(shape));
  switch (shape.kind) {
    case 'line':
      return `${colour} stroke-width="${rounded(shape.width * scale)}"`;
    case 'circle':
      return `${colour} stroke-width="${rounded(2 * shape.radius * scale)}"`;
    case 'rectangle':
    case 'polygon':
      return `${colour} fill="currentColor" stroke="none"`;
    case 'text':
      return `${colour} fill="currentColor" stroke="none" text-anchor="middle" font-size="${rounded(shape.height * scale)}"`;
    default:
      return unreachable(shape);
  }
}

function placeData(shape: Shape, to: (point: Point) => Point, scale: number): string {
  switch (shape.kind) {
    case 'line':
      return `M${joined(shape.points.map(to))}`;
    case 'polygon':
      return `M${joined(shape.points.map(to))}z`;
    case 'circle':
      // A line without length, whose round ends are the circle.
      return `M${joined([to(shape.centre)])}h0`;
    case 'rectangle': {
      const [[left, bottom], [right, top]] = [to(shape.min), to(shape.max)];
      return `M${joined([[left, top]])}H${right}V${bottom}H${left}z`;
    }
    case 'text': {
      const [x, y] = to(shape.centre);
      return `${x} ${y + Math.round(baselineBelowMiddle(shape.height * scale))}`;
    }
    default:
      return unreachable(shape);
  }
}

/** A minus sign separates two numbers as well as a space does. */
function joined(points: readonly Point[]): string {
  return points.flat().join(' ').replaceAll(' -', '-');
}

/** At least a hair's breadth. */
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

/** Text for element content and attributes; characters that XML has no place for become U+FFFD. */
export function escapeXml(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
      .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/gu, '\ufffd')
      .replace(/[&<>"']/g, (character) => entities[character]!)
  );
}
