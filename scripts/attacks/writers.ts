/** Attacks on commands that write: kills them at any time, or makes several share a file. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { packageRoot } from '../../src/base/package.js';
import { temporaryDirectory } from '../../test/support/temporary-directory.js';
import { type AttackKind, below, shorten } from './attack.js';

const cli = join(packageRoot(), 'dist', 'src', 'cli.js');

/** @param killAfter milliseconds */
async function command(cwd: string, words: readonly string[], killAfter?: number) {
  const child = spawn(process.execPath, [cli, ...words], { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const closed = once(child, 'close') as Promise<[number | null]>;
  if (killAfter !== undefined) {
    await Promise.race([closed, delay(killAfter)]);
    child.kill('SIGKILL');
  }
  const [code] = await closed;
  return { code, errors };
}

/** Commands that write, with the files that each writes. */
const writing: readonly { readonly words: readonly string[]; readonly whole: readonly string[] }[] = [
  {
    words: ['export', 'done', '--out', 'tables'],
    whole: ['tables/runs.csv', 'tables/evaluations.csv', 'tables/episodes.csv', 'tables/calls.csv'],
  },
  { words: ['export', 'done', '--format', 'parquet', '--out', 'tables'], whole: ['tables/runs.parquet'] },
  {
    words: [
      'finetune',
      'dataset',
      'buffers/done',
      '--recipe',
      'improvement',
      '--validation',
      'none',
      '--out',
      'data',
    ],
    whole: ['data/manifest.json', 'data/train.jsonl', 'data/index.html'],
  },
  { words: ['init', 'environment', 'own.js'], whole: ['own.js'] },
  { words: ['render', 'done', '--format', 'svg', '--out', 'best.svg'], whole: ['best.svg'] },
  { words: ['compare', 'done', 'done', '--csv', 'groups.csv'], whole: ['groups.csv'] },
];

export const writers: AttackKind = {
  name: 'writers',
  percent: 4,
  async open() {
    if (!existsSync(cli)) return undefined;
    const source = temporaryDirectory();
    const run = [
      'run',
      'quickstart',
      'model={provider: random}',
      'iterations=6',
      '--run-dir',
      'buffers/done',
      '--quiet',
    ];
    const made = await command(source, run);
    if (made.code !== 0) throw new Error(made.errors);
    /** For each command, the files that it leaves when undisturbed, and how long it takes. */
    const wholes = new Map<string, { readonly files: ReadonlyMap<string, Buffer>; readonly took: number }>();
    const contents = (cwd: string, files: readonly string[]) =>
      new Map(
        files.flatMap((file) => (existsSync(join(cwd, file)) ? [[file, readFileSync(join(cwd, file))]] : [])),
      );
    return {
      async attack(random) {
        const cwd = temporaryDirectory();
        cpSync(source, cwd, { recursive: true });
        try {
          if (random.random() < 0.25) return await tagged(cwd);
          const chosen = random.choice(writing);
          const key = chosen.words.join(' ');
          if (!wholes.has(key)) {
            const started = performance.now();
            const { code, errors } = await command(cwd, chosen.words);
            if (code !== 0) return `${key}: ${code} ${shorten(errors)}`;
            wholes.set(key, { files: contents(cwd, chosen.whole), took: performance.now() - started });
            for (const file of chosen.whole)
              rmSync(join(cwd, file.split('/')[0]!), { recursive: true, force: true });
          }
          const { files, took } = wholes.get(key)!;
          await command(cwd, chosen.words, random.uniform(0.3, 1.05) * took);
          for (const [file, found] of contents(cwd, chosen.whole))
            if (!found.equals(files.get(file)!)) return `${key}: killed, it leaves another ${file}`;
          const { code, errors } = await command(cwd, chosen.words);
          const isKept =
            /is there already|not empty/.test(errors) && contents(cwd, chosen.whole).size === files.size;
          if (code !== 0 && !isKept) return `${key} again: ${code} ${shorten(errors)}`;
          const left = below(cwd).filter((name) => /\.(partial|new|lock|lease)/.test(name));
          return left.length > 0 && code === 0 ? `${key} leaves ${left.join(', ')}` : undefined;
        } finally {
          rmSync(cwd, { recursive: true, force: true });
        }
      },
    };
  },
};

/** Several processes tag one run concurrently. */
async function tagged(cwd: string): Promise<string | undefined> {
  const tags = Array.from({ length: 6 }, (_, i) => `tag-${i}`);
  const ended = await Promise.all(tags.map((tag) => command(cwd, ['tag', 'done', tag])));
  const failed = ended.find(({ code }) => code !== 0);
  if (failed !== undefined) return `tag: ${shorten(failed.errors)}`;
  const kept = (JSON.parse(readFileSync(join(cwd, 'buffers/done/labels.json'), 'utf8')) as { tags: string[] })
    .tags;
  return kept.length === tags.length ? undefined : `keeps ${kept.length} of ${tags.length} tags`;
}
