import type { Point, Role, Shape } from '../environments/frame.js';

/** Number of scan lines per row of pixels. */
const subRows = 4;

interface Area {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** The pixels of a picture. x points right and y down from the top left corner; pixel centres are at half units. */
export class Raster {
  readonly pixels: Uint8Array;
  readonly #width: number;
  readonly #height: number;
  readonly #blends: Blends;
  /** How much of each pixel the current shape covers, 0 … 1. */
  readonly #cover: Float32Array;
  #bounds: Area;

  constructor(width: number, height: number, blends: Blends) {
    this.pixels = new Uint8Array(width * height);
    this.#cover = new Float32Array(width * height);
    this.#width = width;
    this.#height = height;
    this.#blends = blends;
    this.#bounds = { left: 0, top: 0, right: width, bottom: height };
  }

  /** Fills the whole raster, ignoring the clip. */
  clear(colour: number): void {
    this.pixels.fill(colour);
  }

  /** Restricts drawing to this rectangle from now on. */
  clip(left: number, top: number, right: number, bottom: number): void {
    this.#bounds = {
      left: Math.max(0, left),
      top: Math.max(0, top),
      right: Math.min(this.#width, right),
      bottom: Math.min(this.#height, bottom),
    };
  }

  /** Draws a line through the points of each stroke, with round caps and joins; a stroke with one point is a disc. */
  strokes(strokes: readonly (readonly Point[])[], thickness: number, colour: number): void {
    const radius = Math.max(thickness, 1) / 2;
    for (const points of strokes) {
      for (let i = 0; i < Math.max(1, points.length - 1); i++) {
        this.#coverSegment(points[i]!, points[i + 1] ?? points[i]!, radius);
      }
    }
    this.#paint(this.#around(strokes.flat(), radius + 0.5), colour);
  }

  /** Fills a polygon by the even-odd rule. */
  polygon(points: readonly Point[], colour: number): void {
    const area = this.#around(points, 0);
    const lines = crossingsOf(points, area.top * subRows, area.bottom * subRows);
    for (const [line, crossings] of lines.entries()) {
      const y = area.top + Math.floor(line / subRows);
      crossings.sort((a, b) => a - b);
      for (let i = 0; i + 1 < crossings.length; i += 2) {
        this.#coverSpan(y, crossings[i]!, crossings[i + 1]!, area);
      }
    }
    this.#paint(area, colour);
  }

  /** The area of pixels that a shape with these points may touch. */
  #around(points: readonly Point[], reach: number): Area {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const [x, y] of points) {
      [left, right] = [Math.min(left, x), Math.max(right, x)];
      [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
    }
    return {
      left: Math.max(this.#bounds.left, Math.floor(left - reach)),
      top: Math.max(this.#bounds.top, Math.floor(top - reach)),
      right: Math.min(this.#bounds.right, Math.ceil(right + reach)),
      bottom: Math.min(this.#bounds.bottom, Math.ceil(bottom + reach)),
    };
  }

  /** Colours the covered pixels, then resets the coverage. */
  #paint(area: Area, colour: number): void {
    const cover = this.#cover;
    for (let y = area.top; y < area.bottom; y++) {
      for (let i = y * this.#width + area.left; i < y * this.#width + area.right; i++) {
        const share = cover[i]!;
        if (share === 0) continue;
        this.pixels[i] = share === 1 ? colour : this.#blends.mix(this.pixels[i]!, colour, share);
        cover[i] = 0;
      }
    }
  }

  /** Computes coverage from the distance to the segment; a pixel with its centre on the edge is half covered. */
  #coverSegment(from: Point, to: Point, radius: number): void {
    const [[x0, y0], [x1, y1]] = [from, to];
    const cover = this.#cover;
    const reach = radius + 0.5;
    const area = this.#around([from, to], reach);
    const [dx, dy] = [x1 - x0, y1 - y0];
    const squared = dx * dx + dy * dy;
    for (let y = area.top; y < area.bottom; y++) {
      for (let x = area.left; x < area.right; x++) {
        const [px, py] = [x + 0.5 - x0, y + 0.5 - y0];
        const along = squared === 0 ? 0 : Math.min(1, Math.max(0, (px * dx + py * dy) / squared));
        const [ex, ey] = [px - along * dx, py - along * dy];
        const share = reach - Math.sqrt(ex * ex + ey * ey); // Math.hypot is many times slower
        const i = y * this.#width + x;
        if (share > cover[i]!) cover[i] = Math.min(1, share);
      }
    }
  }

  #coverSpan(y: number, from: number, to: number, area: Area): void {
    const cover = this.#cover;
    const [start, end] = [Math.max(from, area.left), Math.min(to, area.right)];
    for (let x = Math.floor(start); x < end; x++) {
      const i = y * this.#width + x;
      cover[i] = Math.min(1, cover[i]! + (Math.min(end, x + 1) - Math.max(start, x)) / subRows);
    }
  }
}

/** For each scan line from `first` to `end` (exclusive), the x positions where the polygon's outline crosses it. */
function crossingsOf(points: readonly Point[], first: number, end: number): readonly number[][] {
  const lines = Array.from({ length: Math.max(0, end - first) }, (): number[] => []);
  /** Index of the first scan line at or below y; each line runs through the middle of its quarter of a pixel row. */
  const lineAt = (y: number) => Math.ceil(y * subRows - 0.5);
  for (let i = 0; i < points.length; i++) {
    const [x0, y0] = points[i]!;
    const [x1, y1] = points[(i + 1) % points.length]!;
    const slope = (x1 - x0) / (y1 - y0);
    const last = Math.min(end, lineAt(Math.max(y0, y1)));
    for (let line = Math.max(first, lineAt(Math.min(y0, y1))); line < last; line++) {
      lines[line - first]!.push(x0 + ((line + 0.5) / subRows - y0) * slope);
    }
  }
  return lines;
}

export type Paint = Role | 'page' | 'writing' | 'note';

export type Rgb = readonly [number, number, number];

/** Each colour on a light and on a dark page. */
export const colours: Readonly<Record<Paint, { readonly light: string; readonly dark: string }>> = {
  page: { light: '#fbfbfa', dark: '#1a1c20' },
  writing: { light: '#1b1d21', dark: '#e9eaed' },
  note: { light: '#4f565f', dark: '#a3aab4' },
  agent: { light: '#2560c8', dark: '#79a8ff' },
  'agent-detail': { light: '#8db1f0', dark: '#3f66ad' },
  opponent: { light: '#8a3f9e', dark: '#d08be0' },
  object: { light: '#d9771c', dark: '#f0a04b' },
  goal: { light: '#1d9a6c', dark: '#3fbf90' },
  danger: { light: '#cf4037', dark: '#ef7469' },
  ground: { light: '#a9b0b9', dark: '#4f5762' },
  guide: { light: '#d6dade', dark: '#363c44' },
};

/** The colour of a shape. Guides are faint, but text in them must be readable. */
export function paintOf({ kind, role }: Shape): Paint {
  return kind === 'text' && role === 'guide' ? 'note' : role;
}

export function rgbOf(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** The colours of a picture and, for its edges, blends of any two of them. */
export interface Blends {
  readonly palette: readonly Rgb[];
  /** Palette index for a pixel of colour `under`, a share (0 … 1) of which is covered by `over`. */
  mix(under: number, over: number, share: number): number;
}

const mostLevels = 16;

/** @param colours different colours, which get the indices 0, 1, … @param size maximum palette size */
export function createBlends(colours: readonly Rgb[], size: number): Blends {
  const pairs = (colours.length * (colours.length - 1)) / 2;
  const levels = Math.min(mostLevels, 1 + Math.floor((size - colours.length) / Math.max(1, pairs)));
  const palette = [...colours];
  for (const [i, one] of colours.entries()) {
    for (const other of colours.slice(i + 1)) {
      for (let level = 1; level < levels; level++) palette.push(between(one, other, level / levels));
    }
  }
  /** Cache of blends by `under`, `over` and level; blends over a blend are rounded to the nearest palette colour. */
  const known = new Map<number, number>();
  return {
    palette,
    mix(under, over, share) {
      const level = Math.round(share * levels);
      if (level === 0 || under === over) return under;
      if (level === levels) return over;
      const key = (under * size + over) * levels + level;
      let index = known.get(key);
      if (index === undefined) {
        index = nearest(palette, between(palette[under]!, palette[over]!, level / levels));
        known.set(key, index);
      }
      return index;
    },
  };
}

function between(one: Rgb, other: Rgb, share: number): Rgb {
  const part = (i: 0 | 1 | 2) => Math.round(one[i] + share * (other[i] - one[i]));
  return [part(0), part(1), part(2)];
}

function nearest(palette: readonly Rgb[], [r, g, b]: Rgb): number {
  let [best, least] = [0, Infinity];
  for (const [i, colour] of palette.entries()) {
    const distance = (colour[0] - r) ** 2 + (colour[1] - g) ** 2 + (colour[2] - b) ** 2;
    if (distance < least) [best, least] = [i, distance];
  }
  return best;
}
