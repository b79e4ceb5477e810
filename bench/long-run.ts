/**
 * `npm run bench:long -- [iterations] [candidates] [history]`: measures the disk space of a long run, and the time and
 * memory that resume, show and report need to read it.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { formatBytes } from '../src/base/text/numbers.js';
import { number, terminalTable, text } from '../src/base/text/table.js';
import type { Finding } from './finding.js';
import { writeSyntheticRun } from './synthetic-run.js';

const [iterations = 10_000, candidates = 10, history = 400] = process.argv.slice(2).map(Number);

/** Prints the program's peak memory when it exits. */
const preload = `data:text/javascript,${encodeURIComponent(
  "process.on('exit', () => console.error('\\npeak', process.resourceUsage().maxRSS));",
)}`;

function measured(name: string, run: string, command: readonly string[]): Finding {
  const cli = resolve('dist/src/cli.js');
  const started = performance.now();
  const { status, stderr } = spawnSync(process.execPath, ['--import', preload, cli, ...command], {
    cwd: run,
    encoding: 'utf8',
    maxBuffer: 1e9,
  });
  const seconds = (performance.now() - started) / 1000;
  if (status !== 0) return { name, value: 'failed', note: stderr.slice(0, 300) };
  const peak = Number(/\npeak (\d+)\n/.exec(stderr)?.[1]);
  return { name, value: `${seconds.toFixed(1)} s`, note: `${Math.round(peak / 1024)} MiB at most` };
}

const root = mkdtempSync(join(tmpdir(), 'policyloop-long-'));
try {
  const run = join(root, 'run');
  const started = performance.now();
  await writeSyntheticRun(run, { iterations, candidates, history });
  const written = `${((performance.now() - started) / 1000).toFixed(1)} s`;
  const bytes = (name: string) => statSync(join(run, name)).size;
  const logs = ['calls', 'evaluations', 'episodes', 'events'].map((name) => `${name}.jsonl`);
  const findings: readonly Finding[] = [
    { name: `writing ${iterations} × ${candidates}`, value: written },
    ...logs.map((name) => ({
      name,
      value: formatBytes(bytes(name)),
      note: `${formatBytes(Math.round(bytes(name) / iterations))} per iteration`,
    })),
    measured('show', root, ['show', run]),
    measured('report', root, ['report', run]),
    { name: 'report.html', value: formatBytes(bytes('report.html')) },
    measured('resume for one more iteration', root, [
      'resume',
      run,
      `iterations=${iterations + 1}`,
      '--quiet',
    ]),
  ];
  process.stdout.write(
    `${terminalTable(findings, [
      text('what', ({ name }) => name),
      number('figure', ({ value }) => value),
      text('', ({ note }) => note ?? ''),
    ])}\n`,
  );
} finally {
  rmSync(root, { recursive: true });
}
