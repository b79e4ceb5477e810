import { append } from '../../base/append.js';
import type { Point } from '../../environments/frame.js';
import {
  type Animation,
  type Caption,
  captionsOf,
  holdSeconds,
  type Layout,
  layoutOf,
  speedText,
} from './animation.js';
import { colours, type Paint } from './colours.js';
import {
  type Clock,
  escapeXml,
  lasting,
  motion,
  movingOrStill,
  painted,
  type SvgShape,
  svgShapes,
  type Track,
  tracksOf,
} from './svg-tracks.js';

/** Width of a picture in its own units; large enough to round coordinates to whole units. */
const across = 1000;
/** Minimum time in seconds that a caption is shown, so that it can be read; the last caption may come earlier. */
const captionSeconds = 0.12;

/**
 * Renders an SVG that loops forever without a script, with colours for light and dark pages. With reduced motion, or
 * in a viewer without animation, it shows the last moment.
 * @param width in pixels, unless the page overrides it
 */
export function svgAnimation(animation: Animation, width: number): string {
  return svgOf(animation, captionsOf(animation), width);
}

/** Renders each moment as an SVG without animation. @param width in pixels */
export function svgFrames(animation: Animation, width: number): readonly string[] {
  const captions = captionsOf(animation);
  return animation.moments.map((moment, i) =>
    svgOf({ ...animation, moments: [moment] }, [captions[i]!], width),
  );
}

function svgOf(animation: Animation, captions: readonly Caption[], width: number): string {
  const { moments, pace, title } = animation;
  const layout = layoutOf(moments[0]!.frame, across);
  const held = Math.max(1, Math.round(holdSeconds / pace.seconds)) - 1;
  const clock = { moments: moments.length + held, seconds: (moments.length + held) * pace.seconds };
  const { scene, height } = layout;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${across} ${height}" width="${width}" height="${Math.round((height * width) / across)}" role="img" font-family="system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>${style}</style>`,
    `<rect ${painted('page')} fill="currentColor" width="${across}" height="${height}"/>`,
    caption(animation, captions, layout, clock),
    `<svg x="${scene.left}" y="${scene.top}" width="${scene.width}" height="${scene.height}" fill="none" stroke="currentColor" stroke-linecap="round" stroke-linejoin="round" fill-rule="evenodd">`,
    ...sceneElements(animation, layout, clock),
    '</svg>',
    '</svg>\n',
  ].join('\n');
}

const style = [
  `@media(prefers-color-scheme:dark){${(Object.keys(colours) as Paint[]).map((paint) => `.${paint}{color:${colours[paint].dark}}`).join('')}}`,
  '@media(prefers-reduced-motion:reduce){.moving{display:none}.still{display:inline}}',
].join('');

function caption(animation: Animation, captions: readonly Caption[], layout: Layout, clock: Clock): string {
  const { title, figures, columns, margin } = layout.caption;
  const speed = speedText(animation.pace);
  // An average letter is about 0.58 times as wide as the font size.
  const room = layout.width - 3 * margin - (speed?.length ?? 0) * figures.size * 0.58;
  const size = Math.min(title.size, room / (animation.title.length * 0.58));
  const note = `${painted('note')} fill="currentColor" y="${figures.baseline}" font-size="${figures.size}"`;
  return [
    `<text ${painted('writing')} fill="currentColor" font-weight="600" x="${margin}" y="${title.baseline}" font-size="${Number(size.toFixed(1))}">${escapeXml(animation.title)}</text>`,
    speed &&
      `<text ${painted('note')} fill="currentColor" text-anchor="end" x="${layout.width - margin}" y="${title.baseline}" font-size="${figures.size}">${speed}</text>`,
    `<text ${note} x="${columns[0]}">return</text><text ${note} x="${columns[2]}">step</text>`,
    captionFigures(animation, captions, layout, clock),
  ]
    .filter((line) => line !== undefined)
    .join('\n');
}

/** Stacks the figures of the captions vertically, and moves them past a window one line high. */
function captionFigures(
  animation: Animation,
  captions: readonly Caption[],
  layout: Layout,
  clock: Clock,
): string {
  const { figures, columns, title } = layout.caption;
  const every = Math.max(1, Math.ceil(captionSeconds / animation.pace.seconds));
  const shown = captions.filter((_, i) => i % every === 0 && i < captions.length - 1);
  const lines = [...shown, captions.at(-1)!];
  const lineHeight = layout.scene.top - title.baseline;
  const top = title.baseline + figures.size * 0.3;
  const baseline = figures.baseline - top;
  const lineOf = (i: number) =>
    i === captions.length - 1 ? lines.length - 1 : Math.min(Math.floor(i / every), lines.length - 1);
  const shiftedBy = (line: number) => Number((baseline - lineHeight * (line + 1)).toFixed(1));
  const shifts = lasting(
    captions.map((_, i) => `${shiftedBy(lineOf(i))}`),
    clock,
  );
  const text = (from: readonly Caption[], y: string | number, inside = '') => {
    const spans = from.map(
      (line) =>
        `<tspan x="${columns[1]}" dy="${lineHeight}">${line.return}</tspan><tspan x="${columns[3]}">${line.step}</tspan>`,
    );
    return `<text ${painted('writing')} fill="currentColor" font-size="${figures.size}" y="${y}" font-variant-numeric="tabular-nums">${inside}${spans.join('')}</text>`;
  };
  const moving = text(lines, shifts.at(-1)!, motion({ attribute: 'y' }, shifts, clock));
  const still = text([captions.at(-1)!], shiftedBy(0));
  return `<svg y="${top}" width="${layout.width}" height="${lineHeight}">${movingOrStill(moving, still)}</svg>`;
}

function sceneElements({ moments }: Animation, layout: Layout, clock: Clock): readonly string[] {
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
    if (kind === 'moving')
      append(
        elements,
        group.map((track) => movingElement(track, clock)),
      );
    else if (kind === 'in view') elements.push(fixedElements(group, 'inView', camera, 'moving'));
    else elements.push(scenery(group, camera));
    i = end;
  }
  return elements;
}

interface Camera {
  /** Offset of the world from its first position, at each moment. */
  readonly offsets: readonly Point[];
  readonly layout: Layout;
  readonly clock: Clock;
}

interface DescribedTrack {
  readonly track: Track;
  /** The shape's appearance, and its position if it doesn't move. */
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
 * Draws shapes at rest, either in the view or in the world. Adjacent shapes that are always present and look alike
 * are joined into one path if possible; the visibility of shapes that come and go is animated.
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
    // Drawing a shape that is out of sight does no harm.
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

/** An invisible position: an empty path, or text far outside the picture. */
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

/** Draws a shape at a position; `inside` is inserted into the element before its text. */
function element(shape: SvgShape, place: string, inside = '', attributes = ''): string {
  if (shape.kind === 'text') {
    return `<text ${shape.attributes}${attributes} transform="translate(${place})">${inside}${shape.content}</text>`;
  }
  const start = `<path ${shape.attributes}${attributes} d="${place}"`;
  return inside === '' ? `${start}/>` : `${start}>${inside}</path>`;
}
