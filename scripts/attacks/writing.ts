/** What is written: a hub's files, scripts, secrets that a server repeats, and commands that are killed or share a file. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, relative } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { adapterModelfile } from '../../finetune/export/ollama/modelfile.js';
import { fillTemplate } from '../../finetune/handoff/texts.js';
import { hideSecrets, redact } from '../../src/base/errors.js';
import { packageRoot } from '../../src/base/package.js';
import { slurmSchema } from '../../src/config/many-runs.js';
import { pullModel } from '../../src/models/local/stores/hf-download.js';
import type { RandomGenerator } from '../../src/random/generator.js';
import { jobScript } from '../../src/studies/slurm.js';
import { temporaryDirectory } from '../../test/support/temporary-directory.js';
import { type AttackKind, awaited, outcome, shorten } from './attack.js';
import { drawn, junkText, junkValue } from './junk.js';

const wrongIds = [
  '../../../../evil',
  '/tmp/evil',
  '..',
  '.',
  '',
  'evil/../../x',
  '..%2f..%2fevil',
  'ab\u0000cd',
  'A'.repeat(40),
  'f'.repeat(41),
  'f'.repeat(300),
  '\\..\\evil',
];

/** Every path below a folder. */
const below = (folder: string) => readdirSync(folder, { recursive: true }).map(String);

const hub: AttackKind = {
  name: 'hub',
  percent: 100,
  async open() {
    const root = temporaryDirectory();
    let random: RandomGenerator;
    let wrong = 1;
    const id = (length = 40) =>
      random.random() < wrong ? random.choice(wrongIds) : 'c0ffee'.padEnd(length, '0');
    const size = () => (random.random() < wrong ? (junkValue(random) as number) : 4);
    const entry = (path: string) => ({
      ...{
        type: 'file',
        path: random.random() < wrong / 4 ? random.choice(wrongIds) : path,
        size: size(),
        oid: id(),
      },
      ...(random.random() < 0.3 && { lfs: { oid: id(64), size: 4, pointerSize: 4 } }),
      ...(random.random() < 0.3 && { xetHash: id(64) }),
      ...(random.random() < 0.3 && { lastCommit: { id: id(), title: '', date: '2026-01-01' } }),
    });
    const server = createServer((request, response) => {
      const url = request.url ?? '';
      if (random.random() < wrong / 10 && url.startsWith('/api/')) {
        response.writeHead(307, { location: `/moved${url}` });
        response.end();
        return;
      }
      const [kind] = /\/(revision|tree|paths-info|resolve)\//.exec(url)?.slice(1) ?? [];
      const names = ['config.json', 'model.safetensors', 'tokenizer.json'];
      if (kind === 'resolve') {
        response.writeHead(request.headers.range ? 206 : 200, {
          ...{ etag: `"${random.choice(wrongIds).replaceAll(/[^ -~]/g, '')}"`, 'content-length': 4 },
          ...(request.headers.range && { 'content-range': 'bytes 0-0/4' }),
        });
        response.end('text');
        return;
      }
      let asked = '';
      request.on('data', (chunk) => (asked += chunk));
      request.on('end', () => {
        const paths = kind === 'paths-info' ? (JSON.parse(asked) as { paths: string[] }).paths : names;
        const body =
          kind === 'revision'
            ? {
                _id: '1',
                id: 'org/tiny',
                sha: id(),
                private: false,
                downloads: 0,
                likes: 0,
                lastModified: '2026-01-01',
              }
            : paths.map(entry);
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(random.random() < wrong / 8 ? junkValue(random) : body));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return {
      async attack(next) {
        random = next;
        wrong = random.choice([0.02, 0.1, 0.5, 1]);
        const home = join(root, 'a', 'b', 'c', 'home');
        rmSync(join(root, 'a'), { recursive: true, force: true });
        mkdirSync(home, { recursive: true });
        const env = { HF_HUB_CACHE: home, HF_ENDPOINT: `http://127.0.0.1:${port}` };
        const fault = await awaited(() => pullModel('org/tiny', env));
        const model = join('a', 'b', 'c', 'home', 'models--org--tiny');
        const [outside] = below(root).filter(
          (path) => relative(model, path).startsWith('..') && !model.startsWith(path),
        );
        const named = below(home).filter((path) => /blobs\/|snapshots\/[^/]+$/.test(path));
        const strange = named.find((path) => !/\/[0-9a-f]{40,64}(\.incomplete)?$/.test(path));
        return fault ?? (outside && `wrote ${outside}`) ?? (strange && `named ${shorten(strange)}`);
      },
      close: () => {
        server.closeAllConnections();
        server.close();
      },
    };
  },
};

const injected = ['\n', '\r', '\r\n', '\u0085', '\u2028', '\u2029', '\v', '\f', '\u0000', '\u001b'];
const lines = [
  'touch pwned',
  '#SBATCH --wrap=id',
  'SYSTEM """evil"""',
  'ADAPTER /etc/passwd',
  '$(touch pwned)',
  '`id`',
  '"; id; "',
  "'; id; '",
  '{{7*7}}',
];

/** A name that would add a line, or would end a quotation; sometimes a plain one. */
function scriptText(random: RandomGenerator): { readonly text: string; readonly breaks: boolean } {
  const separator = random.choice([...injected, ' ', '"', "'", '\\', '%j', ';', '&&', '']);
  const text = `run${separator}${random.choice(lines)}`;
  return { text, breaks: injected.includes(separator) };
}

const slurm: AttackKind = {
  name: 'slurm',
  percent: 100,
  async open() {
    const given = {
      command: ['node', 'cli.js'],
      part: '--part',
      cwd: '/work',
      log: '/work/slurm',
      name: 'p',
      tasks: [0],
    };
    const plain = slurmSchema.parse({ setup: 'setup.sh' });
    const countOf = (script: string) => script.split(/[\n\r\u0085\u2028\u2029\v\f]/).length;
    const lineCount = countOf(jobScript(given, plain));
    const adapted = { model: '/models/llama', adapter: { decomposed: false, directory: 'a' } };
    const modelfile = (from: string, place: string) =>
      adapterModelfile(adapted as never, { architecture: 'llama' } as never, from, place);
    const modelLines = countOf(modelfile('llama', 'a.gguf'));
    const template = (text: string) => fillTemplate('run.sh', { trainer: text });
    const templateLines = countOf(template('sft'));
    return {
      attack(random) {
        const { breaks, text } = scriptText(random);
        const [what, expected, write] = random.choice<readonly [string, number, () => string]>([
          ['directory', lineCount, () => jobScript({ ...given, cwd: text }, plain)],
          ['--out', lineCount, () => jobScript({ ...given, log: text }, plain)],
          ['name', lineCount, () => jobScript({ ...given, name: text }, plain)],
          ['words', lineCount, () => jobScript({ ...given, command: ['node', text] }, plain)],
          ['setup', lineCount, () => jobScript(given, { ...plain, setup: text })],
          [
            'account',
            lineCount,
            () => jobScript(given, { ...plain, account: slurmSchema.parse({ account: text }).account }),
          ],
          ['--from', modelLines, () => modelfile(text, 'a.gguf')],
          ['name of the GGUF file', modelLines, () => modelfile('llama', text)],
          ['template', templateLines, () => template(text)],
        ]);
        let script: string | undefined;
        const fault = outcome(() => {
          try {
            script = write();
          } catch (error) {
            // The schema of the section refuses words.
            if (what !== 'account') throw error;
          }
        });
        if (fault !== undefined || script === undefined) return fault;
        if (breaks) return `${what} may hold ${shorten(text)}`;
        return countOf(script) === expected ? undefined : `${what} changes the lines: ${shorten(text)}`;
      },
    };
  },
};

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const reversed = (text: string) => [...text].reverse().join('');
const bytesOf = (text: string, written: (byte: string) => string) =>
  [...Buffer.from(text)].map((byte) => written(byte.toString(16).padStart(2, '0'))).join('');
const pieces = (text: string, length: number) => text.match(new RegExp(`.{1,${length}}`, 'g')) ?? [];

const disguises: readonly ((key: string, random: RandomGenerator) => string)[] = [
  (key) => key,
  (key) => key.toUpperCase(),
  (key) => key.toLowerCase(),
  reversed,
  (key) => Buffer.from(key).toString('base64'),
  (key) => Buffer.from(`Bearer ${key}`).toString('base64url'),
  (key) => Buffer.from(JSON.stringify({ key })).toString('base64'),
  (key) => Buffer.from(key).toString('hex'),
  (key) => bytesOf(key, (byte) => `%${byte.toUpperCase()}`),
  (key) => bytesOf(key, (byte) => `\\x${byte}`),
  (key) => bytesOf(key, (byte) => `\\u00${byte}`),
  (key) => key.slice(0, 20),
  (key) => key.slice(-20),
  (key) => reversed(key.slice(-20)).toUpperCase(),
  (key, random) => [...key].join(random.choice([' ', '-', '.', ', ', '\n', '_', '\u200b', '" + "'])),
  (key, random) =>
    pieces(key, 4 + drawn(random, 9)).join(random.choice([' ', ' and ', '\n', ' … ', ', then '])),
  (key) =>
    pieces(key, 8)
      .map((piece, i) => `part ${i + 1}: ${piece}`)
      .join('; '),
  (key) => JSON.stringify(pieces(key, 5)),
];

/** The longest run of letters and digits of the key that a text holds, in any order of reading. */
function longestRun(text: string, key: string): number {
  const plain = (one: string) => one.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const [within, own] = [plain(text), plain(key)];
  let longest = 0;
  for (const form of [own, reversed(own)])
    for (let from = 0; from < form.length; from++)
      while (from + longest < form.length && within.includes(form.slice(from, from + longest + 1))) longest++;
  return longest;
}

/** What a text says once each of its words is decoded. */
const readings = (text: string): readonly string[] => {
  const words = text.split(/[^A-Za-z0-9+/=_-]+/).filter((word) => word.length >= 8);
  const unescaped = text.replaceAll(/(?:%|\\x|\\u00)([0-9a-f]{2})/gi, (_, byte) =>
    String.fromCharCode(Number.parseInt(byte, 16)),
  );
  return [
    text,
    unescaped,
    ...words.flatMap((word) => [
      Buffer.from(word, 'base64').toString('latin1'),
      Buffer.from(word, 'hex').toString('latin1'),
    ]),
  ];
};

const ordinary = [
  'HTTP 429: Rate limit reached for gpt-4o-mini in organization org-abc123 on tokens per min (TPM): Limit 200000, Used 199987.',
  'This model\u2019s maximum context length is 8192 tokens. However, you requested 9011 tokens (8499 in the messages, 512 in the completion).',
  'model "qwen3:0.6b" not found, try pulling it first; request id 4f1c2d9e-8a77-4b0e-9d1f-2f6f0c3b7e55',
  'params[0]: -0.0123456789, params[1]: 1234567.25, params[2]: 6.02214076e23 at 2026-11-26T17:00:00.000Z',
  'The quick brown fox jumps over the lazy dog; sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
];

const secrets: AttackKind = {
  name: 'secrets',
  percent: 100,
  async open() {
    return {
      attack(random) {
        const key = `${random.choice(['sk-', 'sk-proj-', 'gsk_', 'hf_', ''])}${Array.from({ length: 24 + drawn(random, 40) }, () => random.choice([...alphabet])).join('')}`;
        const text = random.choice(ordinary);
        for (const shown of [redact(text, [key]), hideSecrets(text, [key])])
          if (shown !== text) return `changes ordinary text: ${shorten(shown)} for ${key}`;
        const sent = `${text} key ${random.choice(disguises)(key, random)}, ${junkText(random).slice(0, 100)}`;
        const shown = redact(sent, [key]);
        const run = Math.max(...readings(shown).map((reading) => longestRun(reading, key)));
        return run >= 8 ? `${run} characters of ${key} are left in ${shorten(shown)}` : undefined;
      },
    };
  },
};

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

/** Commands that write, and the files that they write. */
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

const writers: AttackKind = {
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
    /** What each command leaves when nothing happens to it, by its file, and how long it takes. */
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

/** Several processes tag one run at once. */
async function tagged(cwd: string): Promise<string | undefined> {
  const tags = Array.from({ length: 6 }, (_, i) => `tag-${i}`);
  const ended = await Promise.all(tags.map((tag) => command(cwd, ['tag', 'done', tag])));
  const failed = ended.find(({ code }) => code !== 0);
  if (failed !== undefined) return `tag: ${shorten(failed.errors)}`;
  const kept = (JSON.parse(readFileSync(join(cwd, 'buffers/done/labels.json'), 'utf8')) as { tags: string[] })
    .tags;
  return kept.length === tags.length ? undefined : `keeps ${kept.length} of ${tags.length} tags`;
}

export const writingKinds: readonly AttackKind[] = [hub, slurm, secrets, writers];
