import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { packageRoot } from '../src/base/package.js';
import type { Finding } from './finding.js';
import { median } from './rollouts.js';

/** Measures the wall time of `policyloop --help`, compared with an empty Node process. */
export function benchStartUp(): readonly Finding[] {
  const time = (args: readonly string[]): number => {
    const start = performance.now();
    spawnSync(process.execPath, args);
    return performance.now() - start;
  };
  const cli = join(packageRoot(), 'dist/src/cli.js');
  const turns = Array.from({ length: 7 }, () => ({ help: time([cli, '--help']), empty: time(['-e', '']) }));
  const help = median(turns.map((turn) => turn.help));
  const empty = median(turns.map((turn) => turn.empty));
  return [
    {
      name: 'policyloop --help',
      value: `${help.toFixed(0)} ms`,
      note: `target ≤ 300 ms; an empty Node process takes ${empty.toFixed(0)} ms`,
    },
  ];
}
