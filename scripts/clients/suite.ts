/**
 * Checks what common clients can do with `policyloop serve`, and prints a table:
 *
 *     npm run test:clients -- DIRECTORY MODEL.gguf SCORED.gguf
 *
 * Installs the clients' current versions into DIRECTORY (a Python environment and a Node project of about 4 GB; what
 * is installed stays), serves MODEL to them, and compares the scores that lm-evaluation-harness gives SCORED with those
 * of its own Transformers backend. Exits with 1 if a check fails. `--only NAME` runs one client.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

const root = path.resolve(import.meta.dirname, '../..');
const pythonPackages = [
  ...['openai', 'langchain', 'langchain-openai', 'litellm', 'inspect-ai', 'pydantic'],
  ...['lm-eval[api,hf]', 'torch', 'accelerate', 'gguf'],
];
const nodePackages = ['openai', 'ai', '@ai-sdk/openai', '@ai-sdk/openai-compatible', 'promptfoo', 'zod'];

const clients = [
  { name: 'OpenAI, Python', script: 'python/openai_client.py' },
  { name: 'OpenAI, Node', script: 'node/openai-client.mjs' },
  { name: 'LangChain', script: 'python/langchain_client.py' },
  { name: 'AI SDK', script: 'node/ai-sdk.mjs' },
  { name: 'LiteLLM', script: 'python/litellm_client.py' },
  { name: 'Inspect', script: 'python/inspect_client.py' },
  { name: 'promptfoo', script: 'node/promptfoo-client.mjs' },
  { name: 'lm-evaluation-harness', script: 'python/harness_client.py', isScored: true },
];

interface Line {
  readonly version?: string;
  readonly check?: string;
  readonly error?: string | null;
}

const say = (text: string) => process.stderr.write(`${text}\n`);

/** Installs the clients unless they are there. @returns the Python of the environment, and the Node project */
function install(directory: string): { readonly python: string; readonly project: string } {
  const python = path.join(directory, 'venv/bin/python');
  if (!existsSync(python)) {
    say('installing Python clients …');
    execFileSync('python3', ['-m', 'venv', path.join(directory, 'venv')], { stdio: 'inherit' });
    execFileSync(python, ['-m', 'pip', 'install', '-q', ...pythonPackages], { stdio: 'inherit' });
  }
  const project = path.join(directory, 'node');
  if (!existsSync(path.join(project, 'node_modules'))) {
    say('installing Node clients …');
    mkdirSync(project, { recursive: true });
    writeFileSync(path.join(project, 'package.json'), '{"private": true}');
    execFileSync('npm', ['install', '--no-audit', '--no-fund', ...nodePackages], {
      ...{ cwd: project, stdio: 'inherit' },
    });
  }
  cpSync(path.join(import.meta.dirname, 'node'), project, { recursive: true });
  return { python, project };
}

async function served<T>(model: string, use: (url: string, name: string) => Promise<T>): Promise<T> {
  const command = ['--import', 'tsx', 'src/cli.ts', 'serve', '--model', model, '--port', '0', '--json'];
  const child = spawn(process.execPath, command, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const ready = JSON.parse(line) as { readonly url: string; readonly model: string };
    return await use(ready.url, ready.model);
  } finally {
    child.kill('SIGTERM');
  }
}

/** @returns the lines that a client's checks print */
async function linesOf(command: string, args: readonly string[], cwd: string): Promise<readonly Line[]> {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: 1_800_000 });
  let stderr = '';
  child.stderr.on('data', (data: Buffer) => {
    stderr = (stderr + data.toString()).slice(-4000);
  });
  const lines: Line[] = [];
  for await (const line of createInterface(child.stdout)) {
    if (!/^\{"(version|check)"/.test(line)) continue;
    say(line);
    lines.push(JSON.parse(line) as Line);
  }
  if (child.exitCode === null) await once(child, 'exit');
  if (child.exitCode === 0) return lines;
  return [...lines, { check: 'start', error: stderr.trim().split('\n').at(-1) ?? 'failed' }];
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string' } },
});
const [directory, model, scored] = positionals.map((one) => path.resolve(one));
if (directory === undefined || model === undefined || scored === undefined) {
  say('usage: npm run test:clients -- DIRECTORY MODEL.gguf SCORED.gguf [--only NAME]');
  process.exit(2);
}
const { python, project } = install(directory);
const unpacked = path.join(directory, path.basename(scored, '.gguf'));

const rows: string[] = [];
let failures = 0;
for (const { isScored = false, name, script } of clients) {
  if (values.only !== undefined && values.only !== name) continue;
  say(`${name} …`);
  const source = path.join(import.meta.dirname, script);
  if (isScored && !existsSync(unpacked)) {
    const unpack = path.join(import.meta.dirname, 'python/unpack_gguf.py');
    execFileSync(python, [unpack, scored, unpacked], { stdio: 'inherit' });
  }
  const lines = await served(isScored ? unpacked : model, (url, served) =>
    script.startsWith('node/')
      ? linesOf(process.execPath, [path.basename(script), url, served], project)
      : linesOf(python, [source, url, served, ...(isScored ? [unpacked] : [])], directory),
  );
  const failed = lines.filter(({ error }) => error != null);
  failures += failed.length;
  const passed = lines.filter(({ error }) => error === null).map(({ check }) => check);
  const version = lines.find((line) => line.version !== undefined)?.version ?? '';
  const broken = failed.map(({ check, error }) => `${check} (${error})`);
  rows.push(`| ${name} | ${version} | ${passed.join(', ')} | ${broken.join(', ') || 'nothing'} |`);
}
process.stdout.write(`| client | version | works | fails |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`);
process.exitCode = failures > 0 || rows.length === 0 ? 1 : 0;
