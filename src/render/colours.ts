import type { Role, Shape } from '../environments/frame.js';

/** What a picture is painted with: the page, its writing, and what shapes stand for. */
export type Paint = Role | 'page' | 'writing' | 'note';

/** Red, green and blue, each 0 … 255. */
export type Rgb = readonly [number, number, number];

/** Each paint on a light and on a dark page. Roles that meet in one picture differ in lightness too, not in hue alone. */
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

/** What a shape is painted with. Guides are faint beside what they guide to, but what is written has to be read. */
export function paintOf({ kind, role }: Shape): Paint {
  return kind === 'text' && role === 'guide' ? 'note' : role;
}

export function rgbOf(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}
