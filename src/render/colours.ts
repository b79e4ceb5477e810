import type { Role, Shape } from '../environments/frame.js';

/** The colours of a picture: for the page, its text, and each role. */
export type Paint = Role | 'page' | 'writing' | 'note';

/** Red, green and blue, each 0 … 255. */
export type Rgb = readonly [number, number, number];

/**
 * Each colour on a light and on a dark page. Roles that occur in the same picture differ in lightness too,
 * not just in hue.
 */
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

/** The colour of a shape. Guides are faint, but their text must be readable. */
export function paintOf({ kind, role }: Shape): Paint {
  return kind === 'text' && role === 'guide' ? 'note' : role;
}

export function rgbOf(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** The colours of a picture plus, for its edges, blends between any two of them: at most `size` in all. */
export interface Blends {
  readonly palette: readonly Rgb[];
  /** Palette index of colour `under` with a share (0 … 1) of the pixel covered by `over`. */
  mix(under: number, over: number, share: number): number;
}

const mostLevels = 16;

/** @param colours at most 16 different ones; they get the indices 0, 1, … */
export function createBlends(colours: readonly Rgb[], size: number): Blends {
  const pairs = (colours.length * (colours.length - 1)) / 2;
  const levels = Math.min(mostLevels, 1 + Math.floor((size - colours.length) / Math.max(1, pairs)));
  const palette = [...colours];
  for (const [i, one] of colours.entries()) {
    for (const other of colours.slice(i + 1)) {
      for (let level = 1; level < levels; level++) palette.push(between(one, other, level / levels));
    }
  }
  /**
   * Cache of blends by `under`, `over` and level; blends over another blend are rounded to the nearest palette colour.
   */
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
