/**
 * Draws moments of an episode side by side in a terminal: two pixels per character, in colour or with characters of
 * different darkness.
 */
import { type Animation, captionsOf, layoutOf } from './animation.js';
import { Painter } from './gif-animation.js';
import type { Rgb } from './raster.js';

/** Minimum width of a moment if several are shown, maximum width, and the gap between moments, in columns. */
const narrowest = 34;
const widest = 56;
const gap = 2;

const mostColours = 256;

/** Characters from lightest (blank) to darkest. */
const shades = ' .:-=+*#%@';

const escapeCharacter = '\u001b';

/**
 * Draws moments as lines of at most `columns` characters (but at least 8).
 * @param moments indices of the moments to show, oldest first; a narrow terminal shows fewer, but always the last
 * @param depth colour depth of the terminal in bits; below 8, no colours are used
 */
export function terminalPicture(
  animation: Animation,
  moments: readonly number[],
  { columns, depth }: { readonly columns: number; readonly depth: number },
): readonly string[] {
  const room = Math.max(1, Math.floor((columns + gap) / (narrowest + gap)));
  const shown = room === 1 ? moments.slice(-1) : spread(moments, Math.min(room, moments.length));
  const width = Math.max(8, Math.min(widest, Math.floor((columns + gap) / shown.length) - gap));
  const layout = layoutOf(animation.moments[0]!.frame, width);
  const painter = new Painter(animation, layout, mostColours);
  const captions = captionsOf(animation);
  const pictures = shown.map((at) => {
    painter.paint(animation.moments[at]!.frame, captions[at]!);
    const title = `step ${captions[at]!.step}`.slice(0, width).padEnd(width);
    return [title, ...linesOf(painter, layout, depth)];
  });
  return pictures[0]!.map((_, line) =>
    pictures
      .map((picture) => picture[line]!)
      .join(' '.repeat(gap))
      .trimEnd(),
  );
}

/** Evenly spaced items of a list, including the first and the last; only the last if `count` is 1. */
export function spread<T>(list: readonly T[], count: number): readonly T[] {
  if (count >= list.length) return list;
  if (count === 1) return list.slice(-1);
  return Array.from({ length: count }, (_, i) => list[Math.round((i * (list.length - 1)) / (count - 1))]!);
}

function linesOf(
  { palette, pixels }: Pick<Painter, 'palette' | 'pixels'>,
  { height, scene, width }: ReturnType<typeof layoutOf>,
  depth: number,
): readonly string[] {
  const lines: string[] = [];
  // Skip the caption above the scene, because it would be too small to read.
  for (let y = scene.top; y < height; y += 2) {
    let line = '';
    let style = '';
    for (let x = 0; x < width; x++) {
      const upper = palette[pixels[y * width + x]!]!;
      const lower = palette[pixels[Math.min(y + 1, height - 1) * width + x]!]!;
      if (depth < 8) {
        line += shadeOf(upper, lower);
        continue;
      }
      const wanted = `${colour(38, upper, depth)}${colour(48, lower, depth)}`;
      line += wanted === style ? '▀' : `${wanted}▀`;
      style = wanted;
    }
    lines.push(depth < 8 ? line : `${line}${escapeCharacter}[0m`);
  }
  return lines;
}

/** Chooses a character by brightness. The page is almost white; lines are darker. */
function shadeOf(...pixels: readonly Rgb[]): string {
  const brightness = pixels.flat().reduce((sum, part) => sum + part, 0) / (3 * 255 * pixels.length);
  return shades[Math.min(shades.length - 1, Math.floor((1 - brightness) * 1.6 * shades.length))]!;
}

/** @param place 38 for the foreground, 48 for the background */
function colour(place: 38 | 48, [red, green, blue]: Rgb, depth: number): string {
  if (depth >= 24) return `${escapeCharacter}[${place};2;${red};${green};${blue}m`;
  const level = (part: number) => Math.round((part / 255) * 5);
  return `${escapeCharacter}[${place};5;${16 + 36 * level(red) + 6 * level(green) + level(blue)}m`;
}
