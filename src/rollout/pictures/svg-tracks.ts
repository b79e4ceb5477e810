/** Converts frames to SVG shapes, and animates them with SVG's own animation (SMIL), which needs no script. */
import { append } from '../../base/append.js';
import { escapeXml } from '../../base/text/content.js';
import type { Frame, Point, Shape } from '../../environments/frame.js';
import type { Layout } from './animation.js';
import { colors, type Paint, paintOf } from './colors.js';

export interface LoopTiming {
  readonly momentCount: number;
  readonly seconds: number;
}

/** An `animate` or `animateTransform` element that jumps from the value of one moment to the next. */
export function motionElement(
  target: { readonly attribute: string } | { readonly transform: 'translate' },
  values: readonly string[],
  { momentCount, seconds }: LoopTiming,
): string {
  const element =
    'attribute' in target
      ? `<animate attributeName="${target.attribute}"`
      : `<animateTransform attributeName="transform" type="${target.transform}"`;
  return `${element} calcMode="discrete" dur="${Number(seconds.toFixed(3))}s" repeatCount="indefinite" ${shortestMotion(values, momentCount)}/>`;
}

/** Writes all values at equal intervals, or each change with its time, whichever is shorter. */
function shortestMotion(values: readonly string[], momentCount: number): string {
  const changes = [...values.keys()].filter((i) => i === 0 || values[i] !== values[i - 1]);
  const times = changes.map(
    (i) =>
      (i / momentCount)
        .toFixed(4)
        .replace(/^0\./, '.')
        .replace(/\.?0{1,4}$/, '') || '0',
  );
  const sparse = `values="${changes.map((i) => values[i]).join(';')}" keyTimes="${times.join(';')}"`;
  const dense = `values="${values.join(';')}"`;
  return sparse.length < dense.length ? sparse : dense;
}

/** Moving elements, and their final state, which is shown instead if users prefer reduced motion. */
export const movingOrStill = (moving: string, still: string) =>
  `<g class="moving">${moving}</g><g class="still" display="none">${still}</g>`;

/** Extends the values by repeating the last one until the loop restarts. */
export function extendToLoop<Value>(values: readonly Value[], { momentCount }: LoopTiming): readonly Value[] {
  return Array.from({ length: momentCount }, (_, i) => values[Math.min(i, values.length - 1)]!);
}

/** A shape at each moment, or undefined while it is absent; it is present at least once. */
export type Track = readonly (SvgShape | undefined)[];

/**
 * Matches each shape with the next track whose latest shape looks the same, so that it is written only once, with all
 * its places.
 * @returns the tracks in a valid drawing order: the order of shapes within each moment is preserved
 */
export function tracksOf(moments: readonly (readonly SvgShape[])[]): readonly Track[] {
  let tracks: (SvgShape | undefined)[][] = [];
  const lastShapes = new Map<readonly (SvgShape | undefined)[], SvgShape>();
  for (const [moment, shapes] of moments.entries()) {
    const nextTracks: typeof tracks = [];
    let start = 0;
    for (const shape of shapes) {
      const index = tracks.findIndex((track, i) => i >= start && looksSame(lastShapes.get(track)!, shape));
      const track = tracks[index] ?? Array.from({ length: moment });
      if (index >= 0) {
        append(nextTracks, tracks.slice(start, index));
        start = index + 1;
      }
      track[moment] = shape;
      lastShapes.set(track, shape);
      nextTracks.push(track);
    }
    append(nextTracks, tracks.slice(start));
    tracks = nextTracks;
  }
  return tracks.map((track) => Array.from({ length: moments.length }, (_, moment) => track[moment]));
}

const looksSame = (a: SvgShape, b: SvgShape) =>
  a.attributes === b.attributes && a.content === b.content && a.kind === b.kind;

/** A shape at one moment, as SVG: its appearance and position. */
export interface SvgShape {
  readonly kind: 'path' | 'text';
  /** All attributes except the position. */
  readonly attributes: string;
  readonly content: string;
  /** Path data, or the middle of the text's baseline, relative to the top left corner of the view. */
  readonly place: string;
  /** Strokes can be joined into one path; areas can't, because they may overlap. */
  readonly isJoinable: boolean;
}

/**
 * Sets the colour as an attribute, so that no style sheet is needed, and as a class, so that a dark page can
 * change it.
 */
export const paintAttributes = (paint: Paint): string => `class="${paint}" color="${colors[paint].light}"`;

export function svgShapes({ shapes, view }: Frame, { scale }: Layout): readonly SvgShape[] {
  const toView = ([x, y]: Point): Point => [
    Math.round((x - view.min[0]) * scale),
    Math.round((view.max[1] - y) * scale),
  ];
  return shapes.map((shape): SvgShape => {
    const { style, place } = partsOf(shape, scale, toView);
    return {
      kind: shape.kind === 'text' ? 'text' : 'path',
      attributes: `${paintAttributes(paintOf(shape))} ${style}`,
      content: shape.kind === 'text' ? escapeXml(shape.text) : '',
      place,
      isJoinable: shape.kind === 'line' || shape.kind === 'circle',
    };
  });
}

/** Height of capitals, relative to the font size. */
const capitalHeight = 0.72;

const fillAttributes = 'fill="currentColor" stroke="none"';

/** @param toView maps a point of a frame to the picture */
function partsOf(
  shape: Shape,
  scale: number,
  toView: (point: Point) => Point,
): { readonly style: string; readonly place: string } {
  const strokeAttribute = (width: number) => `stroke-width="${roundLength(width * scale)}"`;
  switch (shape.kind) {
    case 'line':
      return { style: strokeAttribute(shape.width), place: `M${joinNumbers(shape.points.map(toView))}` };
    case 'polygon':
      return { style: fillAttributes, place: `M${joinNumbers(shape.points.map(toView))}z` };
    case 'circle':
      // A line of zero length; its round caps form the circle.
      return { style: strokeAttribute(2 * shape.radius), place: `M${joinNumbers([toView(shape.center)])}h0` };
    case 'rectangle': {
      const [[left, bottom], [right, top]] = [toView(shape.min), toView(shape.max)];
      return { style: fillAttributes, place: `M${joinNumbers([[left, top]])}H${right}V${bottom}H${left}z` };
    }
    case 'text': {
      const size = shape.height * scale;
      const [x, y] = toView(shape.center);
      return {
        style: `${fillAttributes} text-anchor="middle" font-size="${roundLength(size)}"`,
        place: `${x} ${y + Math.round((size * capitalHeight) / 2)}`,
      };
    }
  }
}

/** Joins coordinates. A minus sign also separates numbers, so it needs no space before it. */
const joinNumbers = (points: readonly Point[]): string => points.flat().join(' ').replaceAll(' -', '-');

/** Rounds to one decimal, but to at least 1, because thinner lines would be invisible. */
const roundLength = (length: number): number => Math.max(1, Math.round(length * 10) / 10);
