/** Number formats for people, in pages and terminals; JSON and CSV contain unformatted numbers. */

export const missingMark = '–';

/** A number with about `digits` significant digits, a true minus sign, and thin spaces in numbers from 10 000. */
export function formatNumber(value: number | undefined, digits = 4): string {
  if (value === undefined || Number.isNaN(value)) return missingMark;
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (value === 0) return '0';
  const abs = Math.abs(value);
  if (abs >= 1e12 || abs < 1e-4) return value.toExponential(digits - 1).replaceAll('-', '−');
  const decimals = Math.max(0, Math.min(Math.max(6, digits + 2), digits - 1 - Math.floor(Math.log10(abs))));
  const [whole = '0', fraction = ''] = abs.toFixed(decimals).split('.');
  const trimmed = fraction.replace(/(?<!0)0+$/, '');
  return `${value < 0 ? '−' : ''}${groupDigits(whole)}${trimmed === '' ? '' : `.${trimmed}`}`;
}

/** Formats a number for people, with about `digits` significant digits; the default depends on the kind of number. */
export type NumberFormat = (value: number, digits?: number) => string;

/**
 * A return or score with about `digits` significant digits. Keeps trailing zeros (below 1, up to three decimals), so
 * that columns line up.
 */
export function formatReturn(value: number | undefined, digits = 4): string {
  if (value === undefined || !Number.isFinite(value)) return formatNumber(value);
  const abs = Math.abs(value);
  if (abs >= 1e9 || (abs < 1e-4 && abs > 0)) return formatNumber(value, digits);
  const order = abs === 0 ? 0 : Math.floor(Math.log10(abs));
  const rounded = abs.toFixed(Math.max(0, digits - 1 - order));
  const [whole = '0', fraction] = (
    order < 0 ? rounded.replace(/(\.\d{3}(?:0*[1-9])*)0+$/, '$1') : rounded
  ).split('.');
  return `${value < 0 ? '−' : ''}${groupDigits(whole)}${fraction === undefined ? '' : `.${fraction}`}`;
}

export const formatScore: NumberFormat = (value, digits = 5) => formatNumber(value, digits);

export const withSign =
  (format: NumberFormat): NumberFormat =>
  (value, digits) =>
    `${value > 0 ? '+' : ''}${format(value, digits)}`;

export const formatSigned = withSign(formatReturn);

/** Maximum number of digits. Returns that agree to this many digits differ only by rounding errors. */
const maxDigits = 11;

/**
 * A format for numbers shown together: each number gets enough digits to differ from the next lower and the
 * next higher one, so that the order is visible.
 */
export function distinctFormat(
  values: Iterable<number | null | undefined>,
  format: NumberFormat = formatReturn,
): (value: number) => string {
  const sorted = [...new Set(values)].filter((value) => Number.isFinite(value)) as number[];
  sorted.sort((a, b) => a - b);
  const digitsOf = new Map<number, number>();
  for (const [i, high] of sorted.entries()) {
    const low = sorted[i - 1];
    if (low === undefined || format(low) !== format(high)) continue;
    let digits = 3;
    while (digits <= maxDigits && format(low, digits) === format(high, digits)) digits++;
    if (digits > maxDigits) continue;
    for (const value of [low, high]) digitsOf.set(value, Math.max(digits, digitsOf.get(value) ?? 0));
  }
  return (value) => format(value, digitsOf.get(value));
}

/** A share in [0, 1], formatted as a percentage: `62.5 %`. */
export const formatShare = (share: number): string => `${formatNumber(100 * share, 3)} %`;

/** The ends of an interval, formatted like `1.250 … 3.500`. */
export function formatInterval(
  ends: readonly [number, number] | null | undefined,
  format: NumberFormat = formatReturn,
): string {
  return ends ? ends.map(distinctFormat(ends, format)).join(' … ') : missingMark;
}

/** A parameter with all its digits, and a true minus sign. */
export function formatParameter(value: number | string): string {
  return String(value).replaceAll('-', '−');
}

export function formatCount(value: number): string {
  return `${value < 0 ? '−' : ''}${groupDigits(String(Math.abs(Math.round(value))))}`;
}

function groupDigits(digits: string): string {
  return digits.length < 5 ? digits : digits.replace(/\B(?=(\d{3}){1,8}$)/g, '\u202f');
}

/** A count with its noun: `1 call`, `2 calls`. */
export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** A large count in a few characters: `812`, `43.1k`, `1.2M`. */
export function formatCompact(value: number): string {
  const abs = Math.abs(value);
  if (abs >= 999_500_000) return `${formatNumber(value / 1e9, 3)}G`;
  if (abs >= 999_500) return `${formatNumber(value / 1e6, 3)}M`;
  if (abs >= 1000) return `${formatNumber(value / 1e3, 3)}k`;
  return formatNumber(value, 3);
}

/** Bytes in decimal units up to GB, with about three significant digits: `512 B`, `12.3 kB`, `988 MB`, `1.98 GB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 999.5) return `${Math.round(bytes)} B`;
  if (bytes < 999_500) return `${formatNumber(bytes / 1e3, 3)} kB`;
  if (bytes < 999_500_000) return `${formatNumber(bytes / 1e6, 3)} MB`;
  return `${formatNumber(bytes / 1e9, 3)} GB`;
}

/** Milliseconds as `850 ms`, `4.2 s`, `3 min 20 s`, `25 min`, `2 h 5 min`. */
export function formatDuration(milliseconds: number): string {
  if (Number.isNaN(milliseconds)) return missingMark;
  if (milliseconds < 1) return milliseconds <= 0 ? '0 s' : '< 1 ms';
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${formatNumber(milliseconds / 1000, milliseconds < 9950 ? 2 : 3)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 600) return twoUnits(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  if (seconds < 3570) return `${Math.round(seconds / 60)} min`;
  const minutes = Math.round(seconds / 60);
  return twoUnits(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** Formats a time as `2025-11-21 07:04 UTC`; returns an invalid one unchanged. */
export function formatTime(iso: string): string {
  const time = Date.parse(iso);
  if (Number.isNaN(time)) return iso;
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** States the currency of a cost. @param listed month of the list prices used for it */
export const costNote = ({ listed }: { readonly listed?: string | undefined }): string =>
  listed === undefined
    ? 'in US dollars, or the currency of model.price'
    : `in US dollars, at the list price of ${listed}, without discounts`;

/** A cost without its currency: two decimals, or three significant digits if it is below one. */
export function formatCost(cost: number): string {
  if (cost === 0) return '0';
  return cost >= 0.995 ? cost.toFixed(2) : formatNumber(cost, 3);
}
