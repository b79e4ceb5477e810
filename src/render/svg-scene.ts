import type { Point } from '../environments/frame.js';
import type { Animation, Layout } from './animation.js';
import { type SvgShape, svgShapes } from './svg-shape.js';
import { type Clock, lasting, motion, movingOrStill, type Track, tracksOf } from './svg-tracks.js';

/** The elements of the scene, what lies behind first. */
export function sceneElements({ moments }: Animation, layout: Layout, clock: Clock): readonly string[] {
  const views = moments.map(({ frame }) => frame.view);
  const origin: Point = [views[0]!.min[0], views[0]!.max[1]];
  const camera: Camera = {
    offsets: views.map(({ min, max }) => [
      Math.round((origin[0] - min[0]) * layout.scale),
      Math.round((max[1] - origin[1]) * layout.scale),
    ]),
    layout,
    clock,
  };
  const moves = camera.offsets.some(([x, y]) => x !== 0 || y !== 0);
  const shapes = moments.map(({ frame }) => svgShapes(frame, origin, layout));
  const tracks = tracksOf(shapes, moves).map((track) => describe(track, moves));
  const elements: string[] = [];
  for (let i = 0; i < tracks.length; ) {
    const { motion: kind } = tracks[i]!;
    let end = i + 1;
    while (end < tracks.length && tracks[end]!.motion === kind) end++;
    const group = tracks.slice(i, end);
    if (kind === 'moving') elements.push(...group.map((track) => movingElement(track, clock)));
    else if (kind === 'in view') elements.push(fixedElements(group, 'inView', camera, 'moving'));
    else elements.push(scenery(group, camera));
    i = end;
  }
  return elements;
}

interface Camera {
  /** What has to be added to a place in the world at each moment. */
  readonly offsets: readonly Point[];
  readonly layout: Layout;
  readonly clock: Clock;
}

interface DescribedTrack {
  readonly track: Track;
  /** What it looks like, and where it is if it does not move. */
  readonly shape: SvgShape;
  readonly motion: 'moving' | 'in view' | 'in world';
}

function describe(track: Track, cameraMoves: boolean): DescribedTrack {
  const present = track.filter((shape) => shape !== undefined);
  const shape = present[0]!;
  const stays = (place: 'inView' | 'inWorld') => present.every((one) => one[place] === shape[place]);
  if (cameraMoves && present.length > 1 && stays('inWorld')) return { track, shape, motion: 'in world' };
  return { track, shape, motion: stays('inView') ? 'in view' : 'moving' };
}

/** What the camera passes by. */
function scenery(tracks: readonly DescribedTrack[], camera: Camera): string {
  const { offsets, clock } = camera;
  const values = lasting(
    offsets.map((offset) => offset.join(' ')),
    clock,
  );
  const group = (inside: string) => `<g transform="translate(${values.at(-1)})">${inside}</g>`;
  const moved = motion({ transform: 'translate' }, values, clock);
  return movingOrStill(
    group(moved + fixedElements(tracks, 'inWorld', camera, 'moving')),
    group(fixedElements(tracks, 'inWorld', camera, 'still')),
  );
}

/**
 * What stays where it is, in the view or in the world. Neighbours that are always there and look alike become one path
 * where they can; what comes and goes is shown and hidden.
 */
function fixedElements(
  tracks: readonly DescribedTrack[],
  place: 'inView' | 'inWorld',
  camera: Camera,
  version: 'moving' | 'still',
): string {
  const { clock, offsets, layout } = camera;
  const last = offsets.length - 1;
  const elements: string[] = [];
  let run: SvgShape[] = [];
  const endRun = () => {
    if (run[0] !== undefined) elements.push(element(run[0], run.map((shape) => shape[place]).join('')));
    run = [];
  };
  for (const { track, shape } of tracks) {
    const isThere = (moment: number) => track[moment] !== undefined;
    const isInSight = (moment: number) => isVisible(shape, offsets[moment]!, layout);
    // Where it is out of sight it may as well be drawn.
    const always = offsets.every(
      (_, moment) => isThere(moment) || (place === 'inWorld' && !isInSight(moment)),
    );
    if (version === 'still' && !isThere(last)) continue;
    if (version === 'still' || always) {
      if (!shape.joinable || run[0]?.attributes !== shape.attributes) endRun();
      run.push(shape);
      continue;
    }
    endRun();
    const shown = offsets.map((_, moment) => (isThere(moment) ? 'inline' : 'none'));
    const visibility = motion({ attribute: 'display' }, lasting(shown, clock), clock);
    const moving = element(shape, shape[place], visibility, isThere(last) ? '' : ' display="none"');
    const still = isThere(last) ? element(shape, shape[place]) : '';
    elements.push(place === 'inView' ? movingOrStill(moving, still) : moving);
  }
  endRun();
  return elements.join('');
}

function isVisible({ middle }: SvgShape, [dx, dy]: Point, { scene }: Layout): boolean {
  const [x, y] = [middle[0] + dx, middle[1] + dy];
  return x > 0 && x < scene.width && y > 0 && y < scene.height;
}

/** Where nothing is drawn: a path that only sets out, a text far away. */
const nowhere = { path: 'M0 0', text: '-9999 0' } as const;

function movingElement({ track, shape }: DescribedTrack, clock: Clock): string {
  const places = track.map((one) => one?.inView ?? nowhere[shape.kind]);
  const last = places.at(-1)!;
  const target = shape.kind === 'text' ? ({ transform: 'translate' } as const) : { attribute: 'd' };
  return movingOrStill(
    element(shape, last, motion(target, lasting(places, clock), clock)),
    track.at(-1) === undefined ? '' : element(shape, last),
  );
}

/** A shape at a place; `inside` goes into the element, before its text. */
function element(shape: SvgShape, place: string, inside = '', attributes = ''): string {
  if (shape.kind === 'text') {
    return `<text ${shape.attributes}${attributes} transform="translate(${place})">${inside}${shape.content}</text>`;
  }
  const start = `<path ${shape.attributes}${attributes} d="${place}"`;
  return inside === '' ? `${start}/>` : `${start}>${inside}</path>`;
}
