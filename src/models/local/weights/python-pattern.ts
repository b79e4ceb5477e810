/**
 * Regular expressions from PEFT configs, in the syntax of Python's `re`. Syntax with the same meaning in JavaScript is
 * translated, anything else is rejected. The patterns are untrusted, so matching has a time limit.
 */
import { createContext, runInContext } from 'node:vm';

/** The pattern can't be used; the message says why. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

const longest = 2000;

const milliseconds = 500;

/** Patterns are matched in this context, where they can be interrupted. */
let place: ReturnType<typeof createContext> | undefined;

/**
 * @returns for each text, whether all of it matches the pattern, as in `re.fullmatch`
 * @throws PatternError if the pattern is invalid, has a different meaning in Python, or takes too long
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

/** Tokens with different meanings, longer ones first. A character class is one token. */
const token =
  /^\(\?[aimsuxL]+\)|\(\?P<(?=[A-Za-z_])|\(\?(?:[:=!]|<[=!])|\(\?|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]|\{,|[\s\S]/g;

/** Escapes with the same meaning in both languages. */
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

/** Texts are a single line of ASCII, so `a`, `m`, `s` and `u` have no effect. */
function flagsOf(letters: string): string {
  if (/[^aimsu]/.test(letters)) throw new PatternError(`it has the flags ${letters}`);
  return letters.includes('i') ? 'i' : '';
}

/** With the `u` flag, JavaScript only allows escaping characters that have a special meaning. */
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
