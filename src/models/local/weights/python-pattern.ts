/**
 * Regular expressions as PEFT's configs hold them: those of Python's `re`. What JavaScript reads the same way is
 * translated, everything else is refused. They come with files from elsewhere, so they get a time limit.
 */
import { createContext, runInContext } from 'node:vm';

/** The pattern can't be used; the message says why. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

const longest = 2000;

const milliseconds = 500;

/** Where patterns are matched: only there can it be ended. */
let place: ReturnType<typeof createContext> | undefined;

/**
 * @returns for each text whether the whole of it fits the pattern, as `re.fullmatch` has it
 * @throws PatternError where the pattern is none, means something else in Python, or takes too long
 */
export function fullMatches(pattern: string, texts: readonly string[]): readonly boolean[] {
  const { source, flags } = javaScriptPattern(pattern);
  try {
    place ??= createContext({});
    Object.assign(place, { pattern: new RegExp(`^(?:${source})$`, flags), texts: [...texts] });
    return runInContext('texts.map((text) => pattern.test(text))', place, {
      timeout: milliseconds,
    }) as boolean[];
  } catch (error) {
    if (error instanceof SyntaxError) throw new PatternError('it is no pattern that can be read here');
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      throw new PatternError('it takes too long to be matched');
    throw error;
  }
}

/** Tokens whose meaning differs, first those that are longer. A class is one token. */
const token =
  /^\(\?[aimsuxL]+\)|\(\?P<(?=[A-Za-z_])|\(\?(?:[:=!]|<[=!])|\(\?|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]|\{,|[\s\S]/g;

/** Escapes that mean the same in both. */
const sharedEscape = /^\\(?:[dDwWsSbBfnrtv]|x[0-9a-fA-F]{2}|[^A-Za-z0-9])$/;

function javaScriptPattern(pattern: string): { source: string; flags: string } {
  if (pattern.length > longest) throw new PatternError(`it is longer than ${longest} characters`);
  let flags = 'u';
  const parts = (pattern.match(token) ?? []).map((part): string => {
    if (/^\(\?[a-zA-Z]+\)$/.test(part)) {
      flags += flagsOf(part.slice(2, -1));
      return '';
    }
    if (part === '(?P<') return '(?<';
    if (part === '(?') throw new PatternError('it has a group of a kind that only Python knows');
    if (part === '{,') return '{0,';
    if (part === '\\A') return '^';
    if (part === '\\Z') return '$';
    if (part.startsWith('\\')) return escapeOf(part);
    return part.startsWith('[') && part.length > 1 ? classOf(part) : part;
  });
  return { source: parts.join(''), flags };
}

/** Texts are one line of ASCII, so `a`, `m`, `s` and `u` change nothing. */
function flagsOf(letters: string): string {
  if (/[^aimsu]/.test(letters)) throw new PatternError(`it has the flags ${letters}`);
  return letters.includes('i') ? 'i' : '';
}

/** With its flag `u`, JavaScript escapes only characters that have a meaning. */
function escapeOf(part: string): string {
  if (!sharedEscape.test(part)) throw new PatternError(`${part} means something else in Python`);
  return /^\\[^A-Za-z0-9^$\\.*+?()[\]{}|/]$/.test(part) ? part.slice(1) : part;
}

function classOf(part: string): string {
  const [, begin, inner] = /^(\[\^?)([\s\S]*)\]$/.exec(part)!;
  const translated = inner!.replace(/\\[\s\S]|[\s\S]/g, (one, at) => {
    if (one.startsWith('\\')) return one === '\\-' ? one : escapeOf(one);
    return one === '[' || (one === ']' && at === 0) ? `\\${one}` : one;
  });
  return `${begin}${translated}]`;
}
