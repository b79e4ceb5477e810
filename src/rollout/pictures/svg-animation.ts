import { escapeXml } from '../../base/text/content.js';
import {
  type Animation,
  type Caption,
  captionsOf,
  holdSeconds,
  type Layout,
  layoutOf,
  speedText,
} from './animation.js';
import { colors, type Paint } from './colors.js';
import {
  extendToLoop,
  type LoopTiming,
  motionElement,
  movingOrStill,
  paintAttributes,
  type SvgShape,
  svgShapes,
  type Track,
  tracksOf,
} from './svg-tracks.js';

/** Width of a picture in its own units; large enough to round coordinates to whole units. */
const viewBoxWidth = 1000;
/** Minimum time in seconds that a caption is shown, so that it can be read; the last caption may come earlier. */
const captionSeconds = 0.12;

/**
 * Renders an SVG that loops forever without a script, with colours for light and dark pages. With reduced motion, or
 * in a viewer without animation, it shows the last moment.
 * @param width in pixels, unless the page overrides it
 */
export function svgAnimation(animation: Animation, width: number): string {
  const captions = captionsOf(animation);
  const { moments, pace, title } = animation;
  const layout = layoutOf(moments[0]!.frame, viewBoxWidth);
  const hold = Math.max(1, Math.round(holdSeconds / pace.seconds)) - 1;
  const timing = { momentCount: moments.length + hold, seconds: (moments.length + hold) * pace.seconds };
  const { scene, height } = layout;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${viewBoxWidth} ${height}" width="${width}" height="${Math.round((height * width) / viewBoxWidth)}" role="img" font-family="system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>${style}</style>`,
    `<rect ${paintAttributes('page')} fill="currentColor" width="${viewBoxWidth}" height="${height}"/>`,
    captionSvg(animation, captions, layout, timing),
    `<svg x="${scene.left}" y="${scene.top}" width="${scene.width}" height="${scene.height}" fill="none" stroke="currentColor" stroke-linecap="round" stroke-linejoin="round" fill-rule="evenodd">`,
    ...sceneElements(animation, layout, timing),
    '</svg>',
    '</svg>\n',
  ].join('\n');
}

const style = [
  `@media(prefers-color-scheme:dark){${(Object.keys(colors) as Paint[]).map((paint) => `.${paint}{color:${colors[paint].dark}}`).join('')}}`,
  '@media(prefers-reduced-motion:reduce){.moving{display:none}.still{display:inline}}',
].join('');

function captionSvg(animation: Animation, captions: readonly Caption[], layout: Layout, timing: LoopTiming) {
  const { title, figures, columns, margin } = layout.caption;
  const speed = speedText(animation.pace);
  // An average letter is about 0.58 times as wide as the font size.
  const room = layout.width - 3 * margin - (speed?.length ?? 0) * figures.size * 0.58;
  const size = Math.min(title.size, room / (animation.title.length * 0.58));
  const noteAttributes = `${paintAttributes('note')} fill="currentColor" y="${figures.baseline}" font-size="${figures.size}"`;
  return [
    `<text ${paintAttributes('writing')} fill="currentColor" font-weight="600" x="${margin}" y="${title.baseline}" font-size="${Number(size.toFixed(1))}">${escapeXml(animation.title)}</text>`,
    speed &&
      `<text ${paintAttributes('note')} fill="currentColor" text-anchor="end" x="${layout.width - margin}" y="${title.baseline}" font-size="${figures.size}">${speed}</text>`,
    `<text ${noteAttributes} x="${columns[0]}">return</text><text ${noteAttributes} x="${columns[2]}">step</text>`,
    captionFigures(animation, captions, layout, timing),
  ]
    .filter((line) => line !== undefined)
    .join('\n');
}

/** Stacks the figures of the captions vertically, and moves them past a window one line high. */
function captionFigures(
  animation: Animation,
  captions: readonly Caption[],
  layout: Layout,
  timing: LoopTiming,
): string {
  const { figures, columns, title } = layout.caption;
  const stride = Math.max(1, Math.ceil(captionSeconds / animation.pace.seconds));
  const shownCaptions = captions.filter((_, i) => i % stride === 0 && i < captions.length - 1);
  const lines = [...shownCaptions, captions.at(-1)!];
  const lineHeight = layout.scene.top - title.baseline;
  const top = title.baseline + figures.size * 0.3;
  const baseline = figures.baseline - top;
  const lineOf = (i: number) =>
    i === captions.length - 1 ? lines.length - 1 : Math.min(Math.floor(i / stride), lines.length - 1);
  const shiftOf = (line: number) => Number((baseline - lineHeight * (line + 1)).toFixed(1));
  const shifts = extendToLoop(
    captions.map((_, i) => `${shiftOf(lineOf(i))}`),
    timing,
  );
  const text = (from: readonly Caption[], y: string | number, inside = '') => {
    const spans = from.map(
      (line) =>
        `<tspan x="${columns[1]}" dy="${lineHeight}">${line.return}</tspan><tspan x="${columns[3]}">${line.step}</tspan>`,
    );
    return `<text ${paintAttributes('writing')} fill="currentColor" font-size="${figures.size}" y="${y}" font-variant-numeric="tabular-nums">${inside}${spans.join('')}</text>`;
  };
  const movingText = text(lines, shifts.at(-1)!, motionElement({ attribute: 'y' }, shifts, timing));
  const stillText = text([captions.at(-1)!], shiftOf(0));
  return `<svg y="${top}" width="${layout.width}" height="${lineHeight}">${movingOrStill(movingText, stillText)}</svg>`;
}

/** Renders the shapes; if possible, joins adjacent ones that never move and look alike into one path. */
function sceneElements({ moments }: Animation, layout: Layout, timing: LoopTiming): readonly string[] {
  const elements: string[] = [];
  let run: SvgShape[] = [];
  const endRun = () => {
    if (run[0] !== undefined) elements.push(element(run[0], run.map(({ place }) => place).join('')));
    run = [];
  };
  for (const track of tracksOf(moments.map(({ frame }) => svgShapes(frame, layout)))) {
    const [firstShape] = track;
    if (firstShape === undefined || track.some((shape) => shape?.place !== firstShape.place)) {
      endRun();
      elements.push(movingElement(track, timing));
      continue;
    }
    if (!firstShape.isJoinable || run[0]?.attributes !== firstShape.attributes) endRun();
    run.push(firstShape);
  }
  endRun();
  return elements;
}

/** Invisible positions: an empty path, and text far outside the picture. */
const offscreen = { path: 'M0 0', text: '-9999 0' } as const;

function movingElement(track: Track, timing: LoopTiming): string {
  const shape = track.find((item) => item !== undefined)!;
  const places = track.map((item) => item?.place ?? offscreen[shape.kind]);
  const lastPlace = places.at(-1)!;
  const target = shape.kind === 'text' ? ({ transform: 'translate' } as const) : { attribute: 'd' };
  return movingOrStill(
    element(shape, lastPlace, motionElement(target, extendToLoop(places, timing), timing)),
    track.at(-1) === undefined ? '' : element(shape, lastPlace),
  );
}

/** Draws a shape at a place; `inside` is inserted into the element before its text. */
function element(shape: SvgShape, place: string, inside = ''): string {
  if (shape.kind === 'text')
    return `<text ${shape.attributes} transform="translate(${place})">${inside}${shape.content}</text>`;
  const start = `<path ${shape.attributes} d="${place}"`;
  return inside === '' ? `${start}/>` : `${start}>${inside}</path>`;
}
