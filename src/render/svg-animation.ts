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
import { sceneElements } from './svg-scene.js';
import { escapeXml, painted } from './svg-shape.js';
import { type Clock, lasting, motion, movingOrStill } from './svg-tracks.js';

/** Units across a picture: whole ones are exact enough, and short to write. */
const across = 1000;
/** A caption more often than this can't be read. */
const captionSeconds = 0.12;

/**
 * One SVG that repeats forever without a script, in colours for light and dark pages. Who asked their system for less
 * motion sees the last moment, as does a viewer that knows no animation.
 * @param width pixels, where nothing else decides
 */
export function svgAnimation(animation: Animation, width: number): string {
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
    caption(animation, layout, clock),
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

function caption(animation: Animation, layout: Layout, clock: Clock): string {
  const { title, figures, columns, margin } = layout.caption;
  const speed = speedText(animation.pace);
  // A letter is about 0.58 of its height wide.
  const room = layout.width - 3 * margin - (speed?.length ?? 0) * figures.size * 0.58;
  const size = Math.min(title.size, room / (animation.title.length * 0.58));
  const note = `${painted('note')} fill="currentColor" y="${figures.baseline}" font-size="${figures.size}"`;
  return [
    `<text ${painted('writing')} fill="currentColor" font-weight="600" x="${margin}" y="${title.baseline}" font-size="${Number(size.toFixed(1))}">${escapeXml(animation.title)}</text>`,
    speed &&
      `<text ${painted('note')} fill="currentColor" text-anchor="end" x="${layout.width - margin}" y="${title.baseline}" font-size="${figures.size}">${speed}</text>`,
    `<text ${note} x="${columns[0]}">return</text><text ${note} x="${columns[2]}">step</text>`,
    captionFigures(animation, layout, clock),
  ]
    .filter((line) => line !== undefined)
    .join('\n');
}

/** All figures one below the other, behind a window that shows one line. */
function captionFigures(animation: Animation, layout: Layout, clock: Clock): string {
  const { figures, columns, title } = layout.caption;
  const captions = captionsOf(animation);
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
