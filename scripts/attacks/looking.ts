/** Attacks with requests to the view, calls of MCP tools, and queries: each must be answered or refused in time. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { shownPages } from '../../finetune/evaluate/shown-pages.js';
import { loadTool } from '../../src/commands.js';
import { answered } from '../../src/mcp/serve-mcp.js';
import { tools } from '../../src/mcp/tools.js';
import type { RandomGenerator } from '../../src/random/generator.js';
import { authorizationOf } from '../../src/view/admission.js';
import { startView } from '../../src/view/server.js';
import { recordingContext } from '../../test/support/experiments.js';
import { temporaryDirectory } from '../../test/support/temporary-directory.js';
import { writeRun } from '../../test/support/written-runs.js';
import { requestText, sendRaw } from '../../test/view/raw-requests.js';
import { type AttackKind, faultOf, shorten } from './attack.js';
import { drawn, junkText, junkValue } from './junk.js';

function directoryOfRuns(): string {
  const cwd = temporaryDirectory();
  for (const name of ['a', 'b']) writeRun(join(cwd, 'buffers', name), { seed: 1 });
  mkdirSync(join(cwd, 'buffers', 'empty'));
  symlinkSync('/etc', join(cwd, 'buffers', 'out'));
  symlinkSync('/', join(cwd, 'root'));
  return cwd;
}

/** Content from outside the directory, which must not be shown. */
const outside = /root:x:0|daemon:x:1/;

const joined = (random: RandomGenerator, from: readonly string[], most: number) =>
  Array.from({ length: 1 + drawn(random, most) }, () => random.choice(from)).join('');

const addresses = [
  'page',
  'course',
  'episode',
  'question',
  'picture',
  'diff',
  'search',
  'events',
  'place',
  'x',
];
const names = [
  'a',
  'b',
  'out',
  '..',
  '/',
  '%2e%2e',
  '%00',
  'etc/passwd',
  '*',
  'a/report.html',
  '__proto__',
  '%ff',
];
const keys = [
  'of',
  'a',
  'b',
  'q',
  'iteration',
  'aIteration',
  'candidate',
  'episode',
  'all',
  'token',
  'key',
  'question',
];

const view: AttackKind = {
  name: 'view',
  percent: 100,
  async open() {
    const token = 'token';
    const running = await startView({
      ...{
        roots: [{ path: join(directoryOfRuns(), 'buffers'), prefix: '' }],
        place: 'p',
        port: 0,
      },
      milliseconds: () => performance.now(),
      ...{ note: () => undefined, token, pages: shownPages },
    });
    const port = Number(new URL(running.url).port);
    const authorized = `Authorization: ${authorizationOf(token)}`;
    return {
      async attack(random) {
        const path =
          random.random() < 0.3
            ? `/${random.choice(['saved/', 'of/', 'assets/', ''])}${joined(random, names, 3)}`
            : `/api/${random.choice(addresses)}?${Array.from({ length: 1 + drawn(random, 4) }, () => `${random.choice(keys)}=${random.random() < 0.7 ? joined(random, names, 2) : encodeURIComponent(junkText(random).replaceAll(/\p{Cs}/gu, '')).slice(0, 2000)}`).join('&')}`;
        const method = random.choice(['GET', 'GET', 'GET', 'HEAD', 'POST', 'PUT']);
        const sent = requestText(
          port,
          `${method} ${path} HTTP/1.1`,
          random.random() < 0.8 ? [authorized] : [],
        );
        const { statuses } = await sendRaw(port, sent, {
          cut: random.random() < 0.1,
          signal: AbortSignal.timeout(300),
        });
        if (statuses.some((status) => status >= 500)) return `HTTP ${statuses} to ${shorten(path)}`;
        const answer = await fetch(`http://127.0.0.1:${port}/saved/${joined(random, names, 2)}`, {
          headers: { authorization: authorizationOf(token) },
          signal: AbortSignal.timeout(5000),
        });
        return outside.test(await answer.text()) ? 'it shows /etc/passwd' : undefined;
      },
      close: () => running.close(),
    };
  },
};

const words = [
  'a',
  'b',
  'out',
  'latest',
  '*',
  '**',
  'a*a*a*a*a*a*b',
  '--runs-dir=/etc',
  '--help',
  '-x',
  '/etc',
  '../..',
  'root/etc',
  '~',
  'buffers/out',
  'root/*/passwd',
  'name=*a*a*a*a*a*a*a*a*a*b',
  'best=..',
  'c.yaml',
  'SELECT 1',
  'SELECT * FROM runs',
];

const mcp: AttackKind = {
  name: 'MCP',
  percent: 60,
  async open() {
    const cwd = directoryOfRuns();
    const reading = tools.filter(({ name, reads }) => reads && name !== 'doctor');
    const value = (random: RandomGenerator): unknown => {
      if (random.random() < 0.2) return junkValue(random);
      const word = random.random() < 0.8 ? random.choice(words) : junkText(random);
      return random.random() < 0.4 ? [word, random.choice(words)] : word;
    };
    return {
      async attack(random) {
        const tool = random.choice(reading);
        const given: Record<string, unknown> = {};
        for (const key of Object.keys(tool.input.shape))
          if (random.random() < 0.7) given[key] = value(random);
        const { data, success } = tool.input.safeParse(given);
        if (!success) return undefined;
        const { context } = recordingContext(cwd);
        const began = performance.now();
        const request = { runsDir: 'buffers', allowRuns: false };
        const answer = await answered(tool, data as Record<string, unknown>, request, loadTool, context);
        const text = JSON.stringify(answer.content);
        const at = `${tool.name} ${shorten(JSON.stringify(data))}`;
        if (performance.now() - began > 20_000) return `${at}: ${Math.round(performance.now() - began)} ms`;
        if (outside.test(text)) return `${at}: it shows what lies outside`;
        const fault =
          answer.isError === true ? faultOf((JSON.parse(text) as [{ text: string }])[0].text) : undefined;
        return fault && `${at}: ${fault}`;
      },
    };
  },
};

export const lookingKinds: readonly AttackKind[] = [view, mcp];
