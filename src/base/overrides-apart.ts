/** Separates `key=value` overrides from other arguments, wherever they are on the command line. */
import { existsSync } from 'node:fs';

/** The options that a command declares, in the form that yargs provides. */
export interface DeclaredOptions {
  /** Options that take all values up to the next option. */
  readonly array: readonly string[];
  readonly boolean: readonly string[];
  readonly default: Readonly<Record<string, unknown>>;
  /** The keys are the names of all options and positional arguments. */
  readonly key: Readonly<Record<string, unknown>>;
}

/** True if text has the form `key=value` and doesn't name an existing file. */
const isOverride = (text: string) => /^[A-Za-z][\w.-]*=/.test(text) && !existsSync(text);

/** Splits `a b iterations=20` into files and overrides. */
export function splitOverrides(args: readonly string[]): {
  readonly files: readonly string[];
  readonly overrides: readonly string[];
} {
  return { files: args.filter((text) => !isOverride(text)), overrides: args.filter(isOverride) };
}

/**
 * Moves overrides before the options, so that no option takes them as values: `--baseline random iterations=50` becomes
 * `iterations=50 --baseline random`. An option with a single value keeps it, as in `--out a=b`.
 */
export function moveOverridesFirst(
  args: readonly string[],
  declared: Pick<DeclaredOptions, 'array' | 'boolean'>,
): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const [positionals, options, overrides]: [string[], string[], string[]] = [[], [], []];
  let expectedValues: 'none' | 'one' | 'all' = 'none';
  for (const [i, text] of args.slice(0, end).entries()) {
    if (expectedValues !== 'one' && isOverride(text)) {
      overrides.push(text);
      continue;
    }
    const isOption = expectedValues !== 'one' && /^--?[A-Za-z]/.test(text);
    (isOption || expectedValues !== 'none' ? options : positionals).push(text);
    if (isOption) expectedValues = valueCount(text, args[i + 1], declared);
    else if (expectedValues === 'one') expectedValues = 'none';
  }
  const rest = splitOverrides(args.slice(end + 1));
  return [
    ...[...positionals, ...overrides, ...rest.overrides, ...options],
    ...(rest.files.length > 0 ? ['--', ...rest.files] : []),
  ];
}

/** The number of arguments after an option that are its values. */
function valueCount(
  option: string,
  next: string | undefined,
  { array, boolean }: Pick<DeclaredOptions, 'array' | 'boolean'>,
): 'none' | 'one' | 'all' {
  const [, name = '', value] = /^--?([^=]+)(=.*)?$/s.exec(option) ?? [];
  if (array.includes(name)) return 'all';
  if (value !== undefined) return 'none';
  if (boolean.includes(name)) return next === 'true' || next === 'false' ? 'one' : 'none';
  return 'one';
}
