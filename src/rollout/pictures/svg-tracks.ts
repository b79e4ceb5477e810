/** Converts frames to SVG shapes, and animates them with SVG's own animation (SMIL), which needs no script. */
import { append } from '../../base/append.js';
import type { Frame, Point, Shape } from '../../environments/frame.js';
import { largest, smallest } from '../../statistics/descriptive.js';
import type { Layout } from './animation.js';
import { colours, type Paint, paintOf } from './colours.js';

export interface Clock {
  readonly moments: number;
  readonly seconds: number;
}

/** An `animate` or `animateTransform` element that jumps from the value of one moment to the next. */
export function motion(
  target: { readonly attribute: string } | { readonly transform: 'translate' },
  values: readonly string[],
  { moments, seconds }: Clock,
): string {
  const element =
    'attribute' in target
      ? `<animate attributeName="${target.attribute}"`
      : `<animateTransform attributeName="transform" type="${target.transform}"`;
  return `${element} calcMode="discrete" dur="${Number(seconds.toFixed(3))}s" repeatCount="indefinite" ${shortest(values, moments)}/>`;
}

/** Writes all values at equal intervals, or each change with its time, whichever is shorter. */
function shortest(values: readonly string[], moments: number): string {
  const changes = [...values.keys()].filter((i) => i === 0 || values[i] !== values[i - 1]);
  const times = changes.map(
    (i) =>
      (i / moments)
        .toFixed(4)
        .replace(/^0\./, '.')
        .replace(/\.?0+$/, '') || '0',
  );
  const sparse = `values="${changes.map((i) => values[i]).join(';')}" keyTimes="${times.join(';')}"`;
  const all = `values="${values.join(';')}"`;
  return sparse.length < all.length ? sparse : all;
}

/** Moving elements, and their still final state for users who prefer reduced motion. */
export const movingOrStill = (moving: string, still: string) =>
  `<g class="moving">${moving}</g><g class="still" display="none">${still}</g>`;

/** Extends the values by repeating the last one until the loop restarts. */
export function lasting<Value>(values: readonly Value[], { moments }: Clock): readonly Value[] {
  return Array.from({ length: moments }, (_, i) => values[Math.min(i, values.length - 1)]!);
}

/** A shape at each moment, or undefined while it is absent; it is present at least once. */
export type Track = readonly (SvgShape | undefined)[];

interface OpenTrack {
  shape: SvgShape;
  readonly shapes: (SvgShape | undefined)[];
  /** True if the shape has moved in the world. */
  moved: boolean;
  /** Number of moments in which the shape was present. */
  seen: number;
}

/**
 * Matches the shapes of each moment with those of the previous one, so that each is written only once, with its
 * positions. Shapes at rest in the world or in the view are matched by position, others by appearance. Any matching
 * draws the same pictures; a good one makes the file shorter.
 * @returns the tracks in a valid drawing order: the order of shapes within each moment is preserved
 */
export function tracksOf(moments: readonly (readonly SvgShape[])[], cameraMoves: boolean): readonly Track[] {
  let tracks: OpenTrack[] = [];
  for (const [moment, shapes] of moments.entries()) {
    const found = matchesOf(shapes, tracks, moment, cameraMoves);
    const next: OpenTrack[] = [];
    let passed = 0;
    for (const [i, shape] of shapes.entries()) {
      const track = found[i] ?? { shape, shapes: Array.from({ length: moment }), moved: false, seen: 0 };
      if (found[i] !== undefined) {
        const position = tracks.indexOf(track, passed);
        append(next, tracks.slice(passed, position));
        passed = position + 1;
      }
      if (track.shape.inWorld !== shape.inWorld) track.moved = true;
      track.shape = shape;
      track.seen++;
      track.shapes[moment] = shape;
      next.push(track);
    }
    append(next, tracks.slice(passed));
    tracks = next;
  }
  return tracks.map(({ shapes }) => Array.from({ length: moments.length }, (_, moment) => shapes[moment]));
}

/** Matches each shape to a track, without changing the order of tracks; undefined for a new shape. */
function matchesOf(
  shapes: readonly SvgShape[],
  tracks: readonly OpenTrack[],
  moment: number,
  cameraMoves: boolean,
): readonly (OpenTrack | undefined)[] {
  const found: (number | undefined)[] = [];
  let after = -1;
  const unmoved = positionsBy(tracks, ({ shape }) => [
    `${keyOf(shape)} ${shape.inWorld}`,
    `${keyOf(shape)} in view ${shape.inView}`,
  ]);
  for (const [i, shape] of shapes.entries()) {
    const position = [`${keyOf(shape)} ${shape.inWorld}`, `${keyOf(shape)} in view ${shape.inView}`]
      .flatMap((key) => unmoved.get(key) ?? [])
      .find((candidate) => candidate > after);
    if (position !== undefined) [found[i], after] = [position, position];
  }
  let before = -1;
  for (const [i, shape] of shapes.entries()) {
    if (found[i] === undefined) {
      const limit = found.slice(i).find((position) => position !== undefined) ?? tracks.length;
      const position = tracks.findIndex(
        (track, candidate) =>
          candidate > before &&
          candidate < limit &&
          keyOf(track.shape) === keyOf(shape) &&
          // A track at rest in the world can't have moved, so this shape must be a different one that came into view.
          !(cameraMoves && !track.moved && (track.seen > 1 || track.shapes[moment - 1] === undefined)),
      );
      if (position >= 0) found[i] = position;
    }
    before = found[i] ?? before;
  }
  return shapes.map((_, i) => (found[i] === undefined ? undefined : tracks[found[i]]));
}

const keyOf = ({ kind, attributes, content }: SvgShape) => `${kind} ${attributes} ${content}`;

function positionsBy(
  tracks: readonly OpenTrack[],
  keysOf: (track: OpenTrack) => readonly string[],
): ReadonlyMap<string, readonly number[]> {
  const positions = new Map<string, number[]>();
  for (const [position, track] of tracks.entries()) {
    for (const key of keysOf(track)) {
      const list = positions.get(key);
      if (list === undefined) positions.set(key, [position]);
      else list.push(position);
    }
  }
  return positions;
}

/** A shape at one moment, as SVG: its appearance and position. */
export interface SvgShape {
  readonly kind: 'path' | 'text';
  /** All attributes except the position; shapes with equal attributes look alike. */
  readonly attributes: string;
  readonly content: string;
  /** Path data, or the middle of the text's baseline, relative to the top left corner of the first moment's view. */
  readonly inWorld: string;
  /** The same position, relative to the top left corner of this moment's view. */
  readonly inView: string;
  /** Centre of the shape's bounds, in the coordinates of `inWorld`. */
  readonly middle: Point;
  /** Strokes can be joined into one path; areas can't, because they may overlap. */
  readonly joinable: boolean;
}

/**
 * Sets the colour as an attribute, so that no style sheet is needed, and as a class, so that a dark page can
 * change it.
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

/** Height of capitals, relative to the font size. */
const capitalHeight = 0.72;

/** Maps a point of a frame to the picture. */
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
      // A line of zero length; its round caps form the circle.
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
        return `${x} ${y + Math.round((size * capitalHeight) / 2)}`;
      };
      const look = `${filled} text-anchor="middle" font-size="${rounded(size)}"`;
      return { points: [shape.centre], look, data };
    }
  }
}

/** Joins coordinates. A minus sign also separates numbers, so it needs no space before it. */
function joined(points: readonly Point[]): string {
  return points.flat().join(' ').replaceAll(' -', '-');
}

/** Rounds to one decimal, but to at least 1, because thinner lines would be invisible. */
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
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are replaced
      .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/gu, '\ufffd')
      .replace(/[&<>"']/g, (character) => entities[character]!)
  );
}
