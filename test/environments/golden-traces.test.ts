/** The recorded traces of Gymnasium and ProPS: the committed ones, and the full set if it is next to the checkout. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import { precision, replay, type Trace } from './trace.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const committed = join(root, 'test/fixtures/golden');
const complete = join(root, '../shared/golden');

const files = [
  ...traceFiles(committed, ['gymnasium-1.3.0', 'gymnasium-1.1.1', 'mujoco-3.14.0', 'props', 'variants']),
  ...traceFiles(complete, ['gymnasium-1.3.0', 'gymnasium-1.1.1', 'mujoco-3.14.0', 'props']),
];

describe('golden traces', () => {
  test.each(files)('match our environments within tolerances: $name', async ({ path }) => {
    const traces = readTraces(path);
    expect(traces.length).toBeGreaterThan(0);
    let environment = await makeEnvironment(traces[0]!.env, traces[0]!.kwargs);
    for (const trace of traces) {
      const label = `${JSON.stringify(trace.kwargs)} seed ${trace.seed}, episode ${trace.episode}`;
      if (trace.episode === 0) {
        environment.close?.();
        environment = await makeEnvironment(trace.env, trace.kwargs);
      }
      const { reset, step, steps } = precision(environment);
      const deviation = replay(environment, trace, steps);
      expect(deviation.flags, label).toBe(-1);
      expect(deviation.reset, label).toBeLessThanOrEqual(reset);
      expect(deviation.observation, label).toBeLessThanOrEqual(step);
      expect(deviation.reward, label).toBeLessThanOrEqual(step);
    }
    environment.close?.();
  });
});

function traceFiles(folder: string, sets: readonly string[]): readonly { name: string; path: string }[] {
  const present = sets.map((set) => join(folder, set)).filter((path) => existsSync(path));
  return present.flatMap((path) =>
    readdirSync(path)
      .filter((file) => file.endsWith('.jsonl.gz'))
      .map((file) => ({
        name: `${folder === complete ? 'complete, ' : ''}${basename(path)}: ${file}`,
        path: join(path, file),
      })),
  );
}

function readTraces(path: string): readonly Trace[] {
  const lines = gunzipSync(readFileSync(path)).toString('utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Trace);
}
