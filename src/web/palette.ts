/** Colours that colour-blind people can tell apart: Paul Tol's bright scheme with a darker grey, plus orange. */
const categoryColors = '#4477aa #ee6677 #228833 #ccbb44 #66ccee #aa3377 #ee7733 #969696'.split(' ');

/** Number of colours for choices. If there are more choices, heat maps colour them by magnitude, like other numbers. */
export const maxCategories = categoryColors.length;

const numbered = (name: string, all: readonly string[]) =>
  Object.fromEntries(all.map((color, i) => [`${name}-${i}`, [color]] as const));

/** Colours by meaning: light, and dark if it differs. */
const colors: Readonly<Record<string, readonly [light: string, dark?: string]>> = {
  page: ['#f6f6f4', '#121316'],
  card: ['#ffffff', '#1a1c20'],
  text: ['#1b1d21', '#e9eaed'],
  muted: ['#5b626c', '#a3aab4'],
  rule: ['#e2e3e1', '#2e3238'],
  grid: ['#ecedeb', '#262a2f'],
  accent: ['#1f55c4', '#86b0ff'],
  good: ['#0b7556', '#4fd0a4'],
  bad: ['#b3261e', '#ff8f84'],
  warn: ['#8a5300', '#f2b75c'],
  point: ['#6d7683', '#99a3b1'],
  spread: ['#b9c0ca', '#4d5662'],
  shade: ['#f3f3f0', '#212429'],
  mark: ['#fdf1c4', '#4a3d10'],
  edge: ['rgb(0 0 0 / 0.16)', 'rgb(255 255 255 / 0.22)'],
  'tokens-cached': ['#9db8e8'],
  'tokens-fresh': ['#3d6fd1'],
  'tokens-reasoning': ['#e0a24a'],
  'tokens-answer': ['#c2571f'],
  ...numbered('arm', 'var(--point) var(--accent) #c2571f #8a63d2 #1c8f6f #c23d86 #97810f #1f8fb5'.split(' ')),
  ...numbered('choice', categoryColors),
  positive: ['#d95421'],
  negative: ['#266ee0'],
  sequential: ['#16946e'],
};

/** Returns CSS: the colours as properties (`--accent`, `--choice-0`, …), and a class with a pale colour per choice. */
export const paletteStyle = (): string =>
  [
    `:root{${Object.entries(colors)
      .map(([name, [light, dark]]) => `--${name}:${dark ? `light-dark(${light},${dark})` : light}`)
      .join(';')}}`,
    ...categoryColors.map(
      (_, i) => `.choice-${i}{background:color-mix(in srgb,var(--choice-${i}) 38%,transparent)}`,
    ),
  ].join('\n');

/** Replaces properties in the value of an attribute by their light colours, for files without a style sheet. */
export const withLightColors = (value: string): string =>
  value.replaceAll(/var\(--([\w-]+)\)/g, (_, name: string) => withLightColors(colors[name]?.[0] ?? 'gray'));
