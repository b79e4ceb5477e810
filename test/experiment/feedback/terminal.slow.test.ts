/** A person at a terminal: a real one, where the system has util-linux's `script`. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { readManifest, readRun } from '../../../src/runs/reader.js';
import { built } from '../../support/built.js';
import { startFakeOpenAI } from '../../support/fake-openai.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const hasScript = spawnSync('script', ['--version']).stdout?.toString().includes('util-linux') === true;

/** Runs a command in a terminal, and types a line each time that it asks. */
async function typing(cwd: string, words: string, lines: readonly string[]) {
  const command = `"${process.execPath}" "${built('src/cli.js')}" ${words}`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd,
    env: { PATH: process.env.PATH, OPENAI_API_KEY: 'k', TERM: 'xterm-256color' },
  });
  let shown = '';
  const left = [...lines];
  child.stdout.on('data', (chunk: Buffer) => {
    shown += String(chunk);
    const asked = shown.split('> \u001b[3G').length - 1;
    while (left.length > 0 && lines.length - left.length < asked) child.stdin.write(left.shift()!);
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, shown };
}

it.skipIf(!hasScript)(
  'a person can answer in a terminal, stop the run with Ctrl-C, and is asked again on resume',
  async () => {
    const cwd = temporaryDirectory();
    let calls = 0;
    const server = await startFakeOpenAI({
      reply: () =>
        Array.from({ length: 10 }, (_, i) => `params[${i}]: ${((calls++ * 7 + i) % 50) / 10}`).join(', '),
    });
    writeFileSync(
      join(cwd, 'asks.yaml'),
      `environment: CartPole-v1
model: { provider: openai, name: m, baseUrl: "${server.url}" }
feedback: { from: person, every: 1 }
warmup: 2
iterations: 2
evaluation: { episodes: 3, maxSteps: 60 }
confirmation: { candidates: 1, episodes: 4 }
`,
    );
    const first = await typing(cwd, 'run asks.yaml --run-dir asks', ['9\r', '4: too jerky\r', '\u0003']);
    expect([first.code, first.shown]).toEqual([130, expect.stringContaining('a rating is a whole number')]);
    expect(first.shown).toContain('▀');
    expect(first.shown).toContain('feedback: rated 4 of 5, “too jerky”');
    expect(readManifest(join(cwd, 'asks'))).toMatchObject({ status: 'interrupted', iterations: { done: 1 } });
    expect(existsSync(join(cwd, 'asks', 'question.json'))).toBe(false);
    const second = await typing(cwd, 'resume asks', ['\r']);
    expect([second.code, second.shown]).toEqual([0, expect.stringContaining('feedback: skipped')]);
    const said = readRun(join(cwd, 'asks')).entries.flatMap(({ feedback }) => feedback ?? []);
    expect(said).toMatchObject([{ rating: 4, remark: 'too jerky' }]);
  },
);

it.skipIf(!hasScript)('output lines are not cut in a terminal that does not report its width', async () => {
  const cwd = temporaryDirectory();
  const cli = `"${process.execPath}" "${built('src/cli.js')}"`;
  const words = 'run cartpole-numeric model.provider=random iterations=1 warmup=1 evaluation.episodes=1';
  const command = `stty cols 0 rows 0 && ${cli} ${words} confirmation.episodes=2 --run-dir narrow`;
  const child = spawn('script', ['-qec', command, '/dev/null'], { cwd, env: { PATH: process.env.PATH } });
  let shown = '';
  child.stdout.on('data', (chunk: Buffer) => {
    shown += String(chunk);
  });
  const [code] = (await once(child, 'close')) as [number];
  expect([code, shown]).toEqual([0, expect.stringMatching(/finished.* after 1 iteration/)]);
});
