/** A run from someone else, with each of its files damaged in turn: all that display it report a clear error. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  linkSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { runExperimentFrom, temporaryDirectory } from '../support/experiments.js';
import { openLooks } from './looks.js';

/** Limits for a command. */
const mostSeconds = 5;
const mostBytes = 500 * 2 ** 20;

const secret = 'what-nobody-may-see';

/** Damages a file: creates the replacement at its path. */
function damagesIn(outside: string): Readonly<Record<string, (file: string) => void>> {
  writeFileSync(join(outside, 'secret.jsonl'), `{"kind":"${secret}"}\n`);
  const long = join(outside, 'long');
  writeFileSync(long, `{"iteration":0,"candidate":0,"kind":"${'x'.repeat(80e6)}"}\n`);
  return {
    'binary junk': (file) => writeFileSync(file, Buffer.from([0, 255, 254, 10, 123, 34, 0, 10, 128, 91])),
    'another JSON': (file) => writeFileSync(file, '{"a":[null,{"__proto__":1}]}\n[]\n0\n'),
    'deep JSON': (file) => writeFileSync(file, `${'['.repeat(100_000)}${']'.repeat(100_000)}\n`),
    nothing: (file) => writeFileSync(file, ''),
    'a link': (file) => symlinkSync(join(outside, 'secret.jsonl'), file),
    'a link to a device': (file) => symlinkSync('/dev/zero', file),
    'a link to itself': (file) => symlinkSync(file, file),
    'a pipe': (file) => void execFileSync('mkfifo', [file]),
    'a folder': (file) => mkdirSync(file),
    'a sparse file of 1 TB': (file) => {
      writeFileSync(file, '');
      truncateSync(file, 2 ** 40);
    },
    'a line of 80 MB': (file) => linkSync(long, file),
  };
}

/** Writes a run and a training run. @returns the files to damage */
async function writeRuns(buffers: string): Promise<readonly string[]> {
  const { path } = await runExperimentFrom({
    environment: 'CartPole-v1',
    model: { provider: 'random' },
    iterations: 2,
    warmup: 2,
    evaluation: { episodes: 2, maxSteps: 20, workers: 1 },
    confirmation: { candidates: 1, episodes: 2 },
  });
  cpSync(path, join(buffers, 'run'), { recursive: true });
  const training = join(buffers, 'training');
  mkdirSync(training);
  const record = {
    method: 'lora',
    base: { model: '/models/m' },
    dataset: { path: 'data' },
    config: {},
    outcome: { ended: 'complete', step: 2 },
  };
  writeFileSync(join(training, 'training.json'), JSON.stringify(record));
  writeFileSync(
    join(training, 'metrics.jsonl'),
    '{"kind":"start","step":0,"totalSteps":2}\n{"kind":"step","step":1,"loss":2}\n{"kind":"validation","step":2,"loss":1,"best":true}\n',
  );
  return ['run', 'training'].flatMap((name) =>
    [...new Set([...readdirSync(join(buffers, name)), 'labels.json'])].map((file) => `${name}/${file}`),
  );
}

it('damaged run files cause at most user or system errors, within limits on time and memory', async () => {
  const [whole, cwd] = [temporaryDirectory(), temporaryDirectory()];
  const files = await writeRuns(whole);
  const damages = Object.entries(damagesIn(temporaryDirectory()));
  const buffers = join(cwd, 'buffers');
  mkdirSync(buffers);
  const { close, looksAt } = await openLooks(cwd);
  const failures: string[] = [];
  for (const [i, file] of files.entries())
    for (const [j, [name, damage]] of damages.entries()) {
      if ((i + j) % 4 > 0) continue;
      const prepare = () => {
        rmSync(buffers, { recursive: true, force: true });
        cpSync(whole, buffers, { recursive: true });
        rmSync(join(buffers, file), { recursive: true, force: true });
        damage(join(buffers, file));
      };
      prepare();
      const looks = looksAt([file.split('/')[0]!]).filter((look) =>
        /^(?:list .*true|show .*"json":true|report|view .*(?:page|course)\?of=[^&]*$|MCP show_run)/.test(
          look.name,
        ),
      );
      expect(looks.length).toBeGreaterThan(3);
      for (const { look, name: looked } of looks) {
        const started = process.cpuUsage();
        const before = process.resourceUsage().maxRSS;
        const { error, text } = await look();
        const wrong = faultOf(looked, text, error);
        if (wrong !== undefined) failures.push(`${name}, ${file}, ${looked}: ${wrong}`);
        expect(process.cpuUsage(started).user).toBeLessThan(1e6 * mostSeconds);
        expect(1024 * (process.resourceUsage().maxRSS - before)).toBeLessThan(mostBytes);
        if (looked.startsWith('report')) prepare();
      }
    }
  await close();
  expect(failures).toEqual([]);
}, 240_000);

function faultOf(looked: string, text: string, error: unknown): string | undefined {
  if (text.includes(secret)) return 'it shows a file outside the run';
  if (looked.startsWith('view') && /^5\d\d /.test(text)) return text.slice(0, 200);
  if (error === undefined || error instanceof UserError) return undefined;
  return error instanceof Error && 'syscall' in error ? undefined : `no UserError: ${String(error)}`;
}
