/**
 * Runs every command in the README and in `docs/`: `npm run test:docs`. Each page starts in its own folder, with the package
 * built; the marks that blocks.ts reads create what a reader has, and state what is not run.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { beforeAll, describe, expect, it } from 'vitest';
import { built } from '../support/built.js';
import { startFakeOllama } from '../support/fake-ollama.js';
import type { FakeServer } from '../support/fake-server.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { type Block, commandsOf, isShell, pages, policyloopWords, readBlocks, root } from './blocks.js';

let bin: string;
let ollama: FakeServer;
let answers = 0;
beforeAll(async () => {
  bin = temporaryDirectory();
  const cli = `"${process.execPath}" "${built('src/cli.js')}" "$@"`;
  writeFileSync(join(bin, 'policyloop'), `#!/bin/sh\nexec ${cli}\n`);
  writeFileSync(join(bin, 'npx'), `#!/bin/sh\n[ "$1" = policyloop ] || exit 127\nshift\nexec ${cli}\n`);
  // Nothing opens a browser of who runs the tests.
  for (const name of ['xdg-open', 'open']) writeFileSync(join(bin, name), '#!/bin/sh\n');
  for (const name of ['policyloop', 'npx', 'xdg-open', 'open']) chmodSync(join(bin, name), 0o755);
  ollama = await startFakeOllama({
    // As slow as a model, so that a run can be stopped meanwhile.
    faults: { rate: 1, seed: 0, kinds: [{ kind: 'slow', milliseconds: 50 }] },
    // A program if the prompt asks for one; otherwise, as many parameters as the prompt names.
    reply: ({ messages }) => {
      answers++;
      if (messages.some(({ content }) => content.includes('function act(')))
        return `\`\`\`js\nconst act = (observation) => (observation[1] > ${(answers % 7) / 100} ? 2 : 0);\n\`\`\``;
      const named = messages.flatMap(({ content }) => [...content.matchAll(/params\[(\d+)\]/g)]);
      const count = 1 + Math.max(...named.map(([, index]) => Number(index)));
      const value = (i: number) => (((answers * (i + 1)) % 61) / 10 - 3).toFixed(1);
      return Array.from({ length: count }, (_, i) => `params[${i}]: ${value(i)}`).join(', ');
    },
  });
});

/** The environment of a reader's shell, without the keys of whoever runs the tests. */
function environment(place: string): NodeJS.ProcessEnv {
  return {
    PATH: [bin, process.env.PATH].join(delimiter),
    HOME: place,
    TMPDIR: process.env.TMPDIR,
    OLLAMA_HOST: ollama.url,
    PACKAGE: root,
    CI: 'true',
  };
}

function shell(command: string, place: string): Promise<void> {
  const child = spawn('bash', ['-e', '-o', 'pipefail', '-c', command], {
    cwd: place,
    env: environment(place),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => {
      said += String(text);
    });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`${command}\nended with ${code}:\n${said.slice(-3000)}`)),
    );
  });
}

/** Starts a command that runs until Ctrl-C, and sends one as soon as it prints its address. */
function endless(words: readonly string[], place: string): Promise<void> {
  const child = spawn(process.execPath, [built('src/cli.js'), ...words], {
    cwd: place,
    env: environment(place),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  let asked = false;
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => {
      said += String(text);
      if (!asked && /http:\/\//.test(said)) asked = child.kill('SIGINT');
    });
  return new Promise((resolve, reject) =>
    child.once('close', (code) =>
      /http:\/\//.test(said) && (code === 0 || code === 130)
        ? resolve()
        : reject(new Error(`${words.join(' ')}\nended with ${code}:\n${said.slice(-3000)}`)),
    ),
  );
}

/** A command with the words that its block adds to it, by name: `train` for `policyloop finetune train`. */
function smaller(command: string, { words }: Block): string {
  const given = policyloopWords(command)?.slice(0, 2);
  const added = [...words].find(([name]) => given?.includes(name))?.[1] ?? '';
  const options = [...added.matchAll(/--[\w-]+ /g)].map(([option]) => option);
  // Options are given once.
  return `${options.reduce((left, option) => left.replace(new RegExp(`${option}\\S+`), ''), command)} ${added}`;
}

async function runBlock(block: Block, place: string): Promise<void> {
  for (const command of block.first) await shell(command, place);
  for (const command of commandsOf(block)) {
    if (block.endless) await endless(policyloopWords(command)!, place);
    else await shell(smaller(command, block), place);
  }
}

const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const hasPandas = spawnSync(python, ['-c', 'import pandas, pyarrow']).status === 0;
if (!hasPandas) process.stderr.write(`Cells of Python skipped: ${python} has no pandas and pyarrow\n`);

/** A Python cell and the text block right after it, which shows its output. */
function cellsOf(blocks: readonly Block[]): readonly { readonly block: Block; readonly prints: string }[] {
  return blocks.flatMap((block, i) =>
    block.language === 'python' && blocks[i + 1]?.language === 'text'
      ? [{ block, prints: blocks[i + 1]!.code }]
      : [],
  );
}

/** What a cell prints after the cells before it. */
function runCell(before: readonly Block[], { code }: Block, place: string): string {
  const mark = '-- this cell --';
  const script = [...before.map((block) => block.code), `print("${mark}")\n`, code].join('\n');
  const said = execFileSync(python, ['-c', script], {
    cwd: place,
    env: environment(place),
    encoding: 'utf8',
  });
  return said.slice(said.indexOf(mark) + mark.length);
}

const wordsOf = (text: string) => text.trim().split(/\s+/);

describe.each(pages)('%s', (page) => {
  const blocks = readBlocks(page);
  const place = temporaryDirectory();
  beforeAll(() => {
    for (const { file, code } of blocks) if (file !== undefined) writeFileSync(join(place, file), code);
  });
  for (const block of blocks.filter(isShell)) {
    const { line, notRun } = block;
    const name = `${page}:${line} ${commandsOf(block)[0]}`;
    if (notRun === undefined) it(name, { timeout: 600_000 }, () => runBlock(block, place));
    else it.skip(`${name} (${notRun})`, () => undefined);
  }
  const cells = cellsOf(blocks);
  for (const [i, { block, prints }] of cells.entries()) {
    const before = cells.slice(0, i).map((cell) => cell.block);
    it.skipIf(!hasPandas)(`the cell at ${page}:${block.line} prints what is shown`, { timeout: 60_000 }, () =>
      expect(wordsOf(runCell(before, block, place))).toEqual(wordsOf(prints)),
    );
  }
  it.skipIf(blocks.some(isShell))('has no commands', () => expect(blocks.filter(isShell)).toEqual([]));
});

it('the shell for these tests has no API keys or tokens from this machine', () => {
  const seen = execFileSync('bash', ['-c', 'env'], { env: environment('/nowhere'), encoding: 'utf8' });
  expect(seen).not.toMatch(/_KEY=|_TOKEN=/);
});
