import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { UserError } from '../../src/base/errors.js';
import type { ConfigInput } from '../../src/config/config.js';
import { loadConfig, parseConfig } from '../../src/config/load.js';

const valid: ConfigInput = {
  name: 'cartpole',
  environment: { id: 'CartPole-v1', options: { sutton_barto_reward: true } },
  policy: {
    kind: 'q-table',
    discretize: [{ low: -1, high: 1, bins: 3 }, { edges: [0, 1] }],
    actions: [[0], [1]],
  },
  model: { provider: 'ollama', name: 'qwen3:8b', think: 'low', price: { input: 1, output: 2 } },
  target: { return: 475 },
  limits: { cost: 3 },
  memory: { best: 5 },
  prompts: { stepSize: 3 },
};

/** Fails on anything but a config or an error that is fit to be read. */
function expectConfigOrUserError(load: () => unknown): void {
  try {
    load();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    expect(error.problems.length).toBeGreaterThan(0);
    expect(error.problems.length).toBeLessThanOrEqual(7);
    expect(error.message.length).toBeLessThan(8_000);
    // Control characters other than the line breaks between problems would garble a terminal.
    expect(error.message.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  }
}

/** Every path of a nested value. */
function pathsOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...path, key]))];
}

function replaced(value: unknown, path: readonly string[], by: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return by;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>;
  copy[key] = replaced(copy[key], rest, by);
  return copy;
}

const junk = fc.oneof(
  fc.anything({ withNullPrototype: true, withBigInt: false }),
  fc.jsonValue(),
  fc.constantFrom<unknown>(
    '',
    null,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -0,
    [],
    {},
    'all',
    'linear',
    1e308,
  ),
);

describe('any input given as a config', () => {
  it('is accepted or refused with a UserError', () => {
    fc.assert(fc.property(junk, (input) => expectConfigOrUserError(() => parseConfig(input))));
  });

  it('is accepted or refused with a UserError if junk replaces one part of a valid config', () => {
    fc.assert(
      fc.property(fc.constantFrom(...pathsOf(valid)), junk, (path, by) =>
        expectConfigOrUserError(() => parseConfig(replaced(valid, path, by))),
      ),
      { numRuns: 500 },
    );
  });

  it('is accepted or refused with a UserError if written as YAML', () => {
    const document = fc.tuple(fc.constantFrom(...pathsOf(valid)), fc.jsonValue());
    fc.assert(
      fc.property(document, ([path, by]) => {
        const text = stringify(replaced(valid, path, by));
        expectConfigOrUserError(() => loadConfig({ file: 'my.yaml', readFile: () => text }));
      }),
      { numRuns: 300 },
    );
  });

  it('is accepted or refused with a UserError if the text is barely YAML', () => {
    const text = stringify(valid);
    const cut = fc.tuple(
      fc.nat(text.length),
      fc.nat(text.length),
      fc.string({ unit: 'binary', maxLength: 12 }),
    );
    const symbols = fc.string({ unit: fc.constantFrom(...'-:?[]{},&*!|>%@`\'"# \n\tab0<~'), maxLength: 40 });
    fc.assert(
      fc.property(
        fc.oneof(
          cut.map(([from, to, inserted]) => text.slice(0, from) + inserted + text.slice(to)),
          symbols.map((line) => `${text}${line}`),
          symbols,
          fc.string({ unit: 'binary' }),
        ),
        (written) => expectConfigOrUserError(() => loadConfig({ file: 'my.yaml', readFile: () => written })),
      ),
      { numRuns: 1000 },
    );
  });

  it('is accepted or refused with a UserError if given as overrides', () => {
    const keys = [...new Set(pathsOf(valid).map((path) => path.join('.')))];
    const override = fc.oneof(
      fc.string(),
      fc
        .tuple(
          fc.constantFrom(
            ...keys,
            'warmup.policies',
            'warmup.from',
            'memory',
            'target',
            'policy.low',
            'a.b.c',
            '__proto__.x',
          ),
          fc.oneof(
            fc.string(),
            fc.jsonValue().map((value) => JSON.stringify(value)),
          ),
        )
        .map(([key, value]) => `${key}=${value}`),
    );
    const text = stringify(valid);
    fc.assert(
      fc.property(fc.array(override, { maxLength: 3 }), (overrides) =>
        expectConfigOrUserError(() => loadConfig({ file: 'my.yaml', overrides, readFile: () => text })),
      ),
      { numRuns: 500 },
    );
    expect(Object.prototype).not.toHaveProperty('x');
  });
});
