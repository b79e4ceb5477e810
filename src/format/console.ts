import { styleText } from 'node:util';
import { UserError } from '../errors.js';
import type { Cap, RunEvent, UsageTotals } from '../runs/events.js';

/** What a command may touch of the outside world. Only `cli.ts` makes one from the real process. */
export interface CommandContext {
  /** Results. */
  readonly print: (text: string) => void;
  /** Progress and warnings. */
  readonly note: (text: string) => void;
  /** The stream of `note`, where it is a terminal: bars are drawn on it. */
  readonly terminal: NodeJS.WriteStream | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The time of day, which may be set forwards and backwards meanwhile. */
  readonly now: () => Date;
  /** Milliseconds on a clock that only goes forwards: what durations are measured by. */
  readonly milliseconds: () => number;
  /** First and second Ctrl-C. */
  readonly stop: { readonly finish: AbortSignal; readonly abort: AbortSignal };
}

/** Exit codes of the CLI; 0 is success. */
export const exitCodes = { failure: 1, usage: 2, interrupted: 130 } as const;

/** Shows a run as it goes. */
export interface Display {
  show(event: RunEvent): void;
  /** Leaves the terminal as it was. */
  close(): void;
}

/** @throws UserError unless the value of a command-line option is a whole number of at least `minimum`. */
export function requireCount(option: string, value: number, minimum: number): number {
  if (Number.isSafeInteger(value) && value >= minimum) return value;
  throw new UserError({ field: option, message: `give a whole number of at least ${minimum}`, value });
}

/** A return, to a sensible number of digits. */
export function formatReturn(value: number): string {
  const magnitude = Math.abs(value);
  return value.toFixed(magnitude >= 1000 ? 0 : magnitude >= 100 ? 1 : magnitude >= 1 ? 2 : 3);
}

/** `12.3k`, `4.5M`. */
export function formatCount(value: number): string {
  if (value < 1000) return String(Math.round(value));
  if (value < 1e6) return `${(value / 1e3).toFixed(value < 1e4 ? 1 : 0)}k`;
  return `${(value / 1e6).toFixed(1)}M`;
}

/** `12.3 kB`, `988 MB`, `1.98 GB`: decimal units. */
export function formatBytes(bytes: number): string {
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(bytes < 1e5 ? 1 : 0)} kB`;
  if (bytes < 1e9) return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
  return `${(bytes / 1e9).toFixed(2)} GB`;
}

/** `820 ms`, `12.3 s`, `4 min 5 s`, `2 h 3 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `12 calls, 3 failed, 45.1k tokens in (80 % cached), 2.0k out, cost 0.0123`. */
export function formatUsage(usage: UsageTotals): string {
  const parts = [`${usage.calls} ${usage.calls === 1 ? 'call' : 'calls'}`];
  if (usage.errors > 0) parts.push(`${usage.errors} failed`);
  if (usage.retries > 0) parts.push(`${usage.retries} ${usage.retries === 1 ? 'retry' : 'retries'}`);
  if (usage.promptTokens > 0) {
    const cached = Math.round((100 * usage.cachedTokens) / usage.promptTokens);
    parts.push(`${formatCount(usage.promptTokens)} tokens in${cached > 0 ? ` (${cached} % cached)` : ''}`);
  }
  if (usage.completionTokens > 0) {
    const reasoning = usage.reasoningTokens > 0 ? ` (${formatCount(usage.reasoningTokens)} reasoning)` : '';
    parts.push(`${formatCount(usage.completionTokens)} out${reasoning}`);
  }
  if (usage.unreported !== undefined) {
    parts.push(`about ${formatCount(usage.unreported)} tokens that were not reported`);
  }
  if (usage.cost !== undefined) parts.push(`cost ${usage.cost.toFixed(4)}`);
  return parts.join(', ');
}

/** `tokens 12.3k/50k, cost 0.0123/2, time 3 min 6 s/2 h 0 min`. */
export function formatCaps(caps: readonly Cap[]): string {
  return caps
    .map(({ limit, used, cap }) => {
      const amount = limit.endsWith('minutes')
        ? (value: number) => formatDuration(60_000 * value)
        : capAmount;
      return `${limit.replace('minutes', 'time')} ${amount(used)}/${amount(cap)}`;
    })
    .join(', ');
}

const capAmount = (value: number) =>
  value >= 1000 || Number.isInteger(value) ? formatCount(value) : value.toPrecision(3).replace(/\.?0+$/, '');

/** `3 × rate-limit, 1 × cut`: the most frequent first. */
export function formatFaults(faults: Readonly<Record<string, number>>): string {
  return Object.entries(faults)
    .toSorted(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${count} × ${kind}`)
    .join(', ');
}

/** Columns padded to their widest cell; numbers to the right. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, c) => Math.max(title.length, ...rows.map((row) => row[c]!.length)));
  const numeric = header.map((_, c) => rows.every((row) => /^[-+−]?[\d.,/–]*\d?%?$/.test(row[c]!)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, c) => (numeric[c] ? cell.padStart(widths[c]!) : cell.padEnd(widths[c]!)))
      .join('  ')
      .trimEnd();
  return [styleText('dim', line(header)), ...rows.map(line)].join('\n');
}
