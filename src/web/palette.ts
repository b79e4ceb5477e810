import { png } from './png.js';

export type Rgba = readonly [number, number, number, number];

/** Encodes a PNG as a data URI; `pixels` are palette indices, row by row. */
export function pngDataUri(pixels: Uint8Array, width: number, palette: readonly Rgba[]): string {
  const file = png(pixels, palette, { width, height: pixels.length / width });
  return `data:image/png;base64,${Buffer.from(file).toString('base64')}`;
}

/**
 * Colours of numbers and choices. Numbers are drawn with varying opacity, so that the same image works on
 * light and dark pages and 0 has the colour of the page.
 */
const positive = [217, 84, 33] as const;
const negative = [38, 110, 224] as const;
const sequential = [22, 148, 110] as const;

/** Distinguishable with common forms of colour blindness: Paul Tol's bright scheme with a darker grey, plus orange. */
const categorical = [
  [68, 119, 170],
  [238, 102, 119],
  [34, 136, 51],
  [204, 187, 68],
  [102, 204, 238],
  [170, 51, 119],
  [238, 119, 51],
  [150, 150, 150],
] as const;

/** Maximum number of choices to show as colours; if there are more, they are shown as numbers. */
export const maxCategories = categorical.length;

export const categoricalPalette: readonly Rgba[] = categorical.map(([r, g, b]) => [r, g, b, 255]);

const steps = 127;

/** 0 is transparent; 1 … 127 are positive, 128 … 254 negative, with increasing opacity. */
export const divergingPalette: readonly Rgba[] = Array.from({ length: 2 * steps + 1 }, (_, i): Rgba => {
  const [r, g, b] = i <= steps ? positive : negative;
  return [r, g, b, Math.round(((i <= steps ? i : i - steps) / steps) * 255)];
});

/** Index in the diverging palette; values of magnitude `scale` or more are fully opaque. */
export function divergingIndex(value: number, scale: number): number {
  const level = scale > 0 ? Math.round(Math.min(1, Math.abs(value) / scale) * steps) : 0;
  return value < 0 && level > 0 ? steps + level : level;
}

export const sequentialPalette: readonly Rgba[] = Array.from({ length: steps + 1 }, (_, i): Rgba => {
  const [r, g, b] = sequential;
  return [r, g, b, Math.round((i / steps) * 255)];
});

/** Index in the sequential palette for a share in [0, 1]. */
export function sequentialIndex(share: number): number {
  return Math.round(Math.min(1, Math.max(0, share)) * steps);
}

const cellLevels = 10;

/** CSS class that gives a table cell one of 21 shades; values of magnitude `scale` or more get the strongest. */
export function cellClass(value: number, scale: number): string {
  const level = scale > 0 ? Math.round(Math.min(1, Math.abs(value) / scale) * cellLevels) : 0;
  return level === 0 ? '' : `${value < 0 ? 'neg' : 'pos'}-${level}`;
}

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

/** The colours as CSS properties (`--positive`, `--choice-0`, …) and classes; cells stay light enough for text. */
export function paletteStyle(): string {
  const colours = {
    positive,
    negative,
    ...Object.fromEntries(categorical.map((rgb, i) => [`choice-${i}`, rgb])),
  };
  const properties = [
    ...Object.entries(colours).map(([name, rgb]) => `--${name}:rgb(${rgb.join(' ')})`),
    ...arms.map((colour, i) => `--arm-${i}:${colour}`),
    ...Object.entries(tokens).map(([kind, colour]) => `--tokens-${kind}:${colour}`),
  ];
  const cell = (name: string, colour: string, percent: number) =>
    `.${name}{background:color-mix(in srgb,var(--${colour}) ${percent}%,transparent)}`;
  const shades = Array.from({ length: cellLevels }, (_, i) =>
    ['positive', 'negative'].map((sign) => cell(`${sign.slice(0, 3)}-${i + 1}`, sign, 5.5 * (i + 1))),
  );
  const choices = categorical.map(
    (_, i) => `${cell(`choice-${i}`, `choice-${i}`, 38)}.swatch.choice-${i}{background:var(--choice-${i})}`,
  );
  return [`:root{${properties.join(';')}}`, ...shades.flat(), ...choices].join('\n');
}
