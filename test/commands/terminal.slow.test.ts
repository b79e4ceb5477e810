/** Nothing from outside controls the terminal: neither providers nor the files of a run. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { startCommand } from '../support/command.js';
import { listening } from '../support/fake-server.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { writeRun } from '../support/written-runs.js';

const attack =
  '\u001b[2J\u001b[31mred\u001b]0;owned\u0007\u001b]8;;http://x\u001b\\\u009b1A\u202eevil\rover\nerror forged';

const stripStyles = (text: string) =>
  [1, 2, 22, 31, 33, 39].reduce((left, style) => left.replaceAll(`\u001b[${style}m`, ''), text);

/** The escape sequences that remain without the styles of the program. */
function requireHarmless(text: string): void {
  const own = stripStyles(text).replaceAll(/[\n\t]/g, '');
  expect(own).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
  expect(text).not.toContain('\u001b[31mred');
  expect(text).not.toMatch(/^error forged/m);
}

let url: string;
let answer: { readonly status: number; readonly body: unknown };
beforeAll(async () => {
  ({ url } = await listening((_, response) => {
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer.body));
  }));
});

const play = async (cwd: string, args: readonly string[]) =>
  startCommand(cwd, args, { NO_COLOR: '', FORCE_COLOR: '1', OPENAI_API_KEY: 'a-key-of-tests' }).ended;

const choices = [{ message: { content: attack }, finish_reason: attack }];

it.each([
  ['an error', { status: 400, body: { error: { message: attack } } }],
  ['a finish reason', { status: 200, body: { choices, model: attack } }],
])('control characters from a provider never reach the terminal: %s', async (_, given) => {
  answer = given;
  const cwd = temporaryDirectory();
  writeFileSync(
    join(cwd, 'config.yaml'),
    `environment: CartPole-v1\nmodel: { provider: openai, name: x, baseUrl: '${url}/v1', maxRetries: 0 }\niterations: 1\nwarmup: 2\nevaluation: { episodes: 1 }\ncorrections: 0\n`,
  );
  const { stderr, stdout } = await play(cwd, ['run', 'config.yaml', '--run-dir', 'run']);
  requireHarmless(stderr);
  requireHarmless(stdout);
  const shown = await play(cwd, ['show', 'run', '--iteration', '1']);
  requireHarmless(shown.stdout + shown.stderr);
  const json = await play(cwd, ['show', 'run', '--json']);
  requireHarmless(json.stdout);
  JSON.parse(json.stdout);
});

it('control characters in a manifest never reach the terminal', async () => {
  const cwd = temporaryDirectory();
  mkdirSync(join(cwd, 'buffers'));
  const run = writeRun(join(cwd, 'buffers', 'a'), { seed: 1, confirmed: 30 });
  const file = join(run, 'manifest.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  const reason = { kind: 'model-error', message: attack };
  const changed = { run: attack, environment: attack, model: attack, status: 'failed', reason };
  writeFileSync(file, JSON.stringify({ ...manifest, ...changed }));
  for (const line of ['list', 'list --json', 'show a', 'compare a', 'compare a --unfinished']) {
    const { stderr, stdout } = await play(cwd, line.split(' '));
    requireHarmless(stderr);
    requireHarmless(stdout);
  }
});
