import type { Role, Shape } from '../../environments/frame.js';

export type Paint = Role | 'page' | 'writing' | 'note';

/** Each colour on a light and on a dark page. */
export const colors: Readonly<Record<Paint, { readonly light: string; readonly dark: string }>> = {
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

/** Returns the colour of a shape. Guides are faint, except for their text, which must be readable. */
export function paintOf({ kind, role }: Shape): Paint {
  return kind === 'text' && role === 'guide' ? 'note' : role;
}
