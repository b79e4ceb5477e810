import { distance } from 'fastest-levenshtein';
import { safeLine, safeLines, safeText } from './terminal-text.js';

const mask = '[redacted]';

const minSecretLength = 4;

/** Hides the given secrets, credentials and query values in URLs, and anything that looks like a key. */
export function redact(text: string, secrets: readonly string[]): string {
  return redactAddresses(hideSecrets(text, secrets, true)).replaceAll(/\b(sk|gsk|hf)[-_][\w-]{8,}/g, mask);
}

/** Values after a secret's name and `=` or `:`, common key formats, and credentials in URLs without a scheme. */
const secretPatterns = [
  /(?<=(?:api[_-]?key|secret|passw(?:or)?d|access[_-]?token|auth[_-]?token|authorization)=)(?!…)[^\s"'`&]+/gi,
  /(?<=[{,]\s{0,40}['"]?\w{0,40}(?:api[_-]?key|secret|passw(?:or)?d|token)['"]?:\s{0,40})[^\s,}]+/gi,
  /\b(?:sk|gsk|hf)[-_](?=[\w-]{0,200}\d)[\w-]{12,}/g,
  /(?<![^\s"'`=(,])[^\s:@/"'`=(,]{1,200}:[^\s@/"'`]{1,200}(?=@[\w[])/g,
];

/** Hides user names, passwords and query values in URLs, and secrets that `secretPatterns` match. */
export function redactAddresses(text: string): string {
  const result = text
    // A password can contain spaces.
    .replaceAll(/(?<=:\/\/)[^/?#\n"']*@/g, `${mask}@`)
    .replaceAll(/(?<=:\/\/)[^\s"']+/g, (rest) => {
      const afterLogin = rest.slice(Math.max(0, rest.lastIndexOf('@')));
      const [address, ...query] = afterLogin.split('?');
      return [
        afterLogin === rest ? address! : mask + address!,
        ...query.map((part) => part.replaceAll(/=[^&]*/g, `=${mask}`)),
      ].join('?');
    });
  return secretPatterns.reduce((shown, pattern) => shown.replaceAll(pattern, mask), result);
}

/**
 * Hides secrets that appear verbatim or URL-encoded.
 * @param mayBeCut true if `…` may replace the end of a secret; the start, of at least 4 characters, is then hidden, too
 */
export function hideSecrets(text: string, secrets: readonly string[], mayBeCut = false): string {
  let result = text;
  // Longest first, because one secret may contain another.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length)) {
    // Shorter values occur in many words and numbers, so don't hide them.
    if (secret.length < minSecretLength) continue;
    result = result.replaceAll(secret, mask).replaceAll(encodeURIComponent(secret), mask);
    for (let length = secret.length - 1; mayBeCut && length >= 4; length--) {
      result = result.replaceAll(`${secret.slice(0, length)}…`, `${mask}…`);
    }
  }
  return result;
}

/** Values of environment variables whose names suggest a secret, if they have at least 16 characters. */
export const secretsIn = (env: Readonly<Record<string, string | undefined>>): readonly string[] =>
  Object.entries(env).flatMap(([name, value = '']) =>
    /(KEY|TOKEN|SECRET|PASSWORD)S?$/i.test(name) && value.length >= 16 ? [value] : [],
  );

/** One problem with the user's input. */
export interface Problem {
  readonly message: string;
  readonly file?: string;
  /** 1-based. */
  readonly line?: number;
  /** 1-based. */
  readonly column?: number;
  /** Dotted path of the config field, or name of the option. */
  readonly field?: string;
  readonly value?: unknown;
  /** What the user probably meant, in backticks if it comes with remarks; shown instead of the alternatives. */
  readonly near?: string | undefined;
  /** Accepted values or keys. */
  readonly alternatives?: readonly string[];
  /** How to fix the problem. */
  readonly hint?: string;
}

export type MaybeProblem = Problem | false | undefined;

/** A misconfiguration or misuse. The CLI shows no stack trace, and exits with code 2, except for a `WorkError`. */
export class UserError extends Error {
  override readonly name = 'UserError';
  readonly problems: readonly Problem[];

  constructor(problems: Problem | readonly Problem[]) {
    // The invalid value may contain a secret.
    const problemList = isList(problems) ? problems : [problems];
    const safeProblems = problemList.map((problem) => mapText(problem, redactAddresses));
    super(safeProblems.map(formatProblem).join('\n'));
    this.problems = safeProblems;
  }
}

/** Work that failed although the command was used correctly; the CLI exits with code 1. */
export class WorkError extends UserError {}

/** Applies a change to every string value in plain data. */
function mapText<T>(value: T, change: (text: string) => string): T;
function mapText(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapText(item, change));
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) {
    return value;
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapText(item, change)]));
}

function isList(problems: Problem | readonly Problem[]): problems is readonly Problem[] {
  return Array.isArray(problems);
}

/** `file:line:column: field: message`, with the hint, value and alternatives indented below it. */
export function formatProblem(problem: Problem): string {
  const { alternatives = [], hint, near } = problem;
  const place = [problem.file, problem.line, problem.column].filter((part) => part !== undefined).join(':');
  const isOverride = problem.file?.startsWith(`override ${problem.field}=`) === true;
  const field = !problem.field || isOverride ? '' : `${problem.field}: `;
  const lines = [`${place === '' ? '' : `${place}: `}${field}${safeLines(problem.message)}`];
  const suggestion = near && `did you mean ${near.includes('`') ? near : `\`${near}\``}?`;
  const hints = [suggestion, hint && (suggestion ? `Otherwise, ${hint}` : hint)].filter(Boolean).join(' ');
  if (hints !== '') lines.push(`  hint: ${hints}`);
  if (problem.value !== undefined && !isOverride) lines.push(`  got: ${shorten(valueText(problem.value))}`);
  const expectation = alternatives.length === 1 ? 'expected' : 'one of';
  if (near === undefined && alternatives.length > 0)
    lines.push(`  ${expectation}: ${firstItems(alternatives.map(safeLine))}`);
  return safeText(lines.join('\n'));
}

/** Lists the first items, up to about two lines, and says how many more there are. */
function firstItems(items: readonly string[]): string {
  const shownItems = items.filter((_, i) => i === 0 || items.slice(0, i + 1).join(', ').length <= 200);
  const more = items.length - shownItems.length;
  return shorten(shownItems.join(', '), 400) + (more === 0 ? '' : `, and ${more} more`);
}

/** The value as JSON, if possible. */
function valueText(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  try {
    const replacer = (_: string, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part);
    return JSON.stringify(value, replacer) ?? String(value);
  } catch {
    return messageOf(value);
  }
}

function shorten(text: string, limit = 160): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1)}…`;
}

/** The alternative with the smallest edit distance, or one that begins with `name`; undefined if none is similar. */
export function closestMatch(name: string, alternatives: readonly string[]): string | undefined {
  const lowerName = name.toLowerCase();
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const alternative of alternatives) {
    const candidate = alternative.toLowerCase();
    const isPrefix = lowerName.length > 2 && candidate.startsWith(lowerName);
    const d = isPrefix ? 0.5 : distance(lowerName, candidate);
    if (d < bestDistance) [best, bestDistance] = [alternative, d];
  }
  return bestDistance <= Math.max(2, Math.floor(lowerName.length * 0.4)) ? best : undefined;
}

/** For the `default:` of a switch over a union: fails to compile if a case is missing. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return 'an error without a readable message';
  }
}

/** The problems of a UserError; for any other error, its message as a single problem. */
export function problemsOf(error: unknown): readonly Problem[] {
  return error instanceof UserError ? error.problems : [{ message: messageOf(error) }];
}

/** The result of `work`; undefined if it throws a UserError. */
export function unlessRejected<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

/** Changes the problems of a UserError (a WorkError becomes a UserError); returns any other error unchanged. */
export const mapProblems = (error: unknown, change: (problem: Problem) => Problem): unknown =>
  error instanceof UserError ? new UserError(error.problems.map(change)) : error;

/** Runs work, and changes the problems of a UserError that it throws. */
export async function mapThrownProblems<T>(
  work: () => T | Promise<T>,
  change: (problem: Problem) => Problem,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw mapProblems(error, change);
  }
}
