/** Values that change over time, as SVG's own animation (SMIL), which needs no script. */
import { append } from '../base/append.js';
import type { SvgShape } from './svg-shape.js';

export interface Clock {
  /** Number of moments in the loop. */
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

/** Writes either all values at equal intervals or each change with its time, whichever is shorter. */
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

/** The moving elements, and their last moment for systems set to reduced motion. */
export const movingOrStill = (moving: string, still: string) =>
  `<g class="moving">${moving}</g><g class="still" display="none">${still}</g>`;

/** Repeats the last value until the loop restarts. */
export function lasting<Value>(values: readonly Value[], { moments }: Clock): readonly Value[] {
  return Array.from({ length: moments }, (_, i) => values[Math.min(i, values.length - 1)]!);
}

/** One shape through all moments; undefined where it is absent. Present at least once. */
export type Track = readonly (SvgShape | undefined)[];

interface OpenTrack {
  /** Its latest appearance. */
  shape: SvgShape;
  readonly shapes: (SvgShape | undefined)[];
  /** Whether it has moved in the world, and how often it was seen. */
  moved: boolean;
  seen: number;
}

/**
 * Matches the shapes of each moment with those of the moment before, so that each is written once with its
 * positions. A shape at rest in the world or in the view is recognised by its position, the others by their
 * appearance. Any matching draws the same pictures; a good one gives a short file.
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

/** The track of each shape, in ascending order; undefined for a new one. */
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
          // A shape at rest in the world can't have moved, so this must be another one that came into view.
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
