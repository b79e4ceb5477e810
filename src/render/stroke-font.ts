/**
 * A stroke font, for pictures that can't embed a real one. Its grid: baseline at y = 2, lower-case letters such as x up
 * to 6, ascenders, capitals and digits up to 8, descenders down to 0.
 */
import type { Point } from '../environments/frame.js';

/** For each glyph, its width, then its strokes: points with one digit each for x and y. A repeated point is a dot. */
const glyphs: Readonly<Record<string, string>> = {
  ' ': '1',
  '0': '4 030718384743321203',
  '1': '4 172822 1232',
  '2': '4 07183847460242',
  '3': '4 07183847463525 354443321203',
  '4': '4 380444 3832',
  '5': '4 480805354443321203',
  '6': '4 473818070312324344351504',
  '7': '4 084812',
  '8': '4 183847463515060718 1504031232434435',
  '9': '4 031232434738180706153546',
  A: '4 022842 1434',
  B: '4 02083847463505 3544433202',
  C: '4 4738180703123243',
  D: '4 02082847433202 2838',
  E: '4 48080242 0535',
  F: '4 480802 0535',
  G: '4 47381807031232434525',
  H: '4 0208 4248 0545',
  I: '0 0802',
  J: '3 3833221203',
  K: '4 0208 4804 1542',
  L: '3 080232',
  M: '4 0208254842',
  N: '4 02084248',
  O: '4 030718384743321203',
  P: '4 02083847463505',
  Q: '4 030718384743321203 2442',
  R: '4 02083847463505 2542',
  S: '4 473818070615354443321203',
  T: '4 0848 2822',
  U: '4 080312324348',
  V: '4 082248',
  W: '4 0812263248',
  X: '4 0842 0248',
  Y: '4 082548 2522',
  Z: '4 08480242',
  a: '3 0516263532 341403122233',
  b: '3 0802 0516263533221203',
  c: '3 3526160503122233',
  d: '3 3832 3526160503122233',
  e: '3 04343526160503122233',
  f: '2 28180712 0626 07',
  g: '3 3631201001 3526160503122233',
  h: '3 0802 0516263532',
  i: '0 0602 0808',
  j: '1 161100 1818',
  k: '3 0802 3604 1532',
  l: '0 0802',
  m: '4 0602 05162522 25364542',
  n: '3 0602 0516263532',
  o: '3 030516263533221203',
  p: '3 0600 0516263533221203',
  q: '3 3630 3526160503122233',
  r: '2 0602 051626',
  s: '3 35261605142433221203',
  t: '2 18131222 0626',
  u: '3 0603122233 3632',
  v: '4 062246',
  w: '4 0612253246',
  x: '3 0632 0236',
  y: '4 0622 4610',
  z: '3 06360232',
  '.': '0 0202',
  ',': '1 1201',
  ':': '0 0202 0505',
  ';': '1 1201 1515',
  '-': '3 0535',
  '−': '3 0535',
  '+': '4 0545 2327',
  '=': '4 0646 0444',
  '/': '3 0138',
  '(': '1 18070312',
  ')': '1 08171302',
  '[': '1 18080212',
  ']': '1 08181202',
  '<': '3 370533',
  '>': '3 073503',
  '·': '0 0505',
  '×': '3 0336 0633',
  '%': '4 0248 0717 3343',
  "'": '0 0807',
  '"': '1 0807 1817',
  '!': '0 0804 0202',
  '?': '4 07183847462524 2222',
  _: '4 0141',
  '#': '4 1218 3238 0444 0646',
  '*': '2 0717 0626 1517',
  '…': '4 0202 2222 4242',
  '°': '1 0708181707',
};

/** Shown for characters without a glyph. */
const box = '4 0208484202';

const capital = 6; // height of a capital on the grid
const gap = 2; // between letters
/** Height of a capital relative to the font height, as in common fonts. */
const capitalHeight = 0.72;

/** Thickness of a stroke relative to the font height. */
export const strokeWidth = { regular: 0.085, bold: 0.12 } as const;

/** Text as strokes, starting at the origin on the baseline, with y pointing down. */
export interface StrokeText {
  readonly strokes: readonly (readonly Point[])[];
  readonly width: number;
}

export function strokesOf(text: string, height: number): StrokeText {
  const unit = (height * capitalHeight) / capital;
  const strokes: Point[][] = [];
  let left = 0;
  for (const character of text) {
    const [width = '0', ...lines] = (glyphs[character] ?? box).split(' ');
    for (const line of lines) {
      const stroke: Point[] = [];
      for (let i = 0; i + 1 < line.length; i += 2) {
        stroke.push([(left + Number(line[i])) * unit, (2 - Number(line[i + 1])) * unit]);
      }
      strokes.push(stroke);
    }
    left += Number(width) + gap;
  }
  return { strokes, width: Math.max(0, left - gap) * unit };
}

/** Distance from the vertical centre of the text down to its baseline. */
export function baselineBelowMiddle(height: number): number {
  return (height * capitalHeight) / 2;
}
