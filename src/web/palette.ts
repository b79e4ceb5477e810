export type Rgb = readonly [number, number, number];

/** Colours of numbers. */
export const positive: Rgb = [217, 84, 33];
export const negative: Rgb = [38, 110, 224];
export const sequential: Rgb = [22, 148, 110];

/** Distinguishable with common forms of colour blindness: Paul Tol's bright scheme with a darker grey, plus orange. */
export const categorical: readonly Rgb[] = [
  [68, 119, 170],
  [238, 102, 119],
  [34, 136, 51],
  [204, 187, 68],
  [102, 204, 238],
  [170, 51, 119],
  [238, 119, 51],
  [150, 150, 150],
];

/** Maximum number of choices to show as colours; if there are more, they are shown as numbers. */
export const maxCategories = categorical.length;

/** Line colours of the arms, starting with `arm-0`. */
const arms = [
  'var(--point)',
  'var(--accent)',
  '#c2571f',
  '#8a63d2',
  '#1c8f6f',
  '#c23d86',
  '#97810f',
  '#1f8fb5',
];
const tokens = { cached: '#9db8e8', fresh: '#3d6fd1', reasoning: '#e0a24a', answer: '#c2571f' };

/** The colours as CSS properties (`--positive`, `--choice-0`, …), and classes of cells, light enough for text. */
export function paletteStyle(): string {
  const colors = {
    positive,
    negative,
    ...Object.fromEntries(categorical.map((rgb, i) => [`choice-${i}`, rgb])),
  };
  const properties = [
    ...Object.entries(colors).map(([name, rgb]) => `--${name}:rgb(${rgb.join(' ')})`),
    ...arms.map((color, i) => `--arm-${i}:${color}`),
    ...Object.entries(tokens).map(([kind, color]) => `--tokens-${kind}:${color}`),
  ];
  const choices = categorical.map(
    (_, i) =>
      `.choice-${i}{background:color-mix(in srgb,var(--choice-${i}) 38%,transparent)}.swatch.choice-${i}{background:var(--choice-${i})}`,
  );
  return [`:root{${properties.join(';')}}`, ...choices].join('\n');
}
