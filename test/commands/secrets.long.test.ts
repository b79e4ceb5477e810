/** No secret that reaches a server is ever written or printed, whatever the server returns. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { execute as checkCommand } from '../../src/commands/check.js';
import { execute as listCommand } from '../../src/commands/list.js';
import { execute as runCommand } from '../../src/commands/run.js';
import { execute as showCommand } from '../../src/commands/show.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';
import { listening } from '../support/fake-server.js';

/** No part may remain: the tests search for `canary` alone, and for the login in base64. */
const key = 'canary.0123456789-key';
const login = { name: 'me', password: 'canary pass/word' };
const token = Buffer.from(`${login.name}:${login.password}`).toString('base64');
const forms = new RegExp(`canary|${token.slice(0, 12)}`, 'i');

interface Echo {
  readonly status: number;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Answers that echo the request in every place that a client may quote. */
function echoes(sent: string): readonly Echo[] {
  const error = (message: string) => JSON.stringify({ error: { message, code: null } });
  return [
    { status: 500, body: error(`no such user: ${sent}`) },
    { status: 429, body: error(sent) },
    { status: 502, type: 'text/html', body: `<html><title>${sent}</title>` },
    { status: 200, type: 'text/html', body: `<!doctype html><title>${sent}</title>` },
    { status: 200, body: `not JSON: ${sent}` },
    { status: 200, body: error(sent) },
    { status: 400, body: error(`flagged by the content filter: ${sent}`) },
    { status: 200, body: JSON.stringify({ error: { code: 502, message: sent } }) },
    {
      status: 200,
      body: JSON.stringify({ choices: [{ message: {}, error: { code: 503, message: sent } }] }),
    },
    // Cut within a secret, after 300 characters.
    ...Array.from({ length: 12 }, (_, i) => ({
      status: 500,
      body: error(`${'.'.repeat(270 + 2 * i)}${sent}`),
    })),
    // This ends the run.
    { status: 307, headers: { location: `http://${login.name}:x@127.0.0.1/?key=${key}` }, body: '' },
  ];
}

/** The headers that can carry a secret, and the path. */
function sentBy({ headers, url }: IncomingMessage): string {
  const { authorization = '', 'x-team': team = '' } = headers;
  const plain = authorization.startsWith('Basic ')
    ? Buffer.from(authorization.slice(6), 'base64').toString()
    : '';
  return [plain || authorization, String(team), authorization, url].join(' ');
}

/** Answers every second request properly and the others with an echo, in the format of either API. */
async function startEcho() {
  const received: IncomingMessage['headers'][] = [];
  const { port } = await listening((request, response) => {
    request.resume();
    request.on('end', () => {
      received.push(request.headers);
      const sent = sentBy(request);
      const all = echoes(sent);
      const n = received.length - 1;
      const text =
        n % 4 === 0 ? `I was sent ${sent}` : 'params[0]: 1, params[1]: 1, params[2]: 1, params[3]: 1';
      const message = { role: 'assistant', content: text };
      const good = { choices: [{ index: 0, message, finish_reason: 'stop' }], message, done: true };
      const echo = n % 2 === 0 ? undefined : all[((n - 1) / 2) % all.length]!;
      response.writeHead(echo?.status ?? 200, {
        'content-type': echo?.type ?? 'application/json',
        ...echo?.headers,
      });
      response.end(echo?.body ?? JSON.stringify(good));
    });
  });
  return { received, address: `127.0.0.1:${port}` };
}

const config = (model: string) => `environment: CartPole-v1
model: { ${model}, maxRetries: 0, concurrency: 1 }
policy: { kind: linear, bias: false, projection: { rank: 4 } }
iterations: 80
corrections: 1
warmup: 1
evaluation: { episodes: 1, maxSteps: 5 }
confirmation: { candidates: 0 }
`;

const providers = [
  {
    name: 'a key and headers',
    model: () => 'provider: openai, name: fake, baseUrl: "http://ADDRESS/v1"',
    env: () => ({ OPENAI_API_KEY: key, OPENAI_CUSTOM_HEADERS: `X-Team: ${key}-team` }),
    sends: `Bearer ${key}`,
  },
  {
    name: 'a login in OPENAI_BASE_URL',
    model: () => 'provider: openai, name: fake',
    env: (address: string) => ({ OPENAI_BASE_URL: `http://${userinfo}@${address}/v1` }),
    sends: `Basic ${token}`,
  },
  {
    name: 'a login in OLLAMA_HOST',
    model: () => 'provider: ollama, name: fake',
    env: (address: string) => ({ OLLAMA_HOST: `http://${userinfo}@${address}` }),
    sends: `Basic ${token}`,
  },
] as const;
const userinfo = `${login.name}:${encodeURIComponent(login.password)}`;

const args = { overrides: [], runDir: undefined, runsDir: 'runs', quiet: false, dryRun: false } as const;

afterEach(() => vi.unstubAllEnvs());

describe('a secret that a server echoes', () => {
  it.each(providers)(
    'never appears in files or output: $name',
    async ({ model, env, sends }) => {
      const server = await startEcho();
      const variables = env(server.address);
      // The client libraries look there themselves.
      for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
      const cwd = temporaryDirectory();
      writeFileSync(join(cwd, 'config.yaml'), config(model().replace('ADDRESS', server.address)));
      const recording = recordingContext(cwd, { env: variables });
      const runDir = join(cwd, 'runs', 'echoed');
      for (const json of [true, false]) {
        server.received.length = 0;
        const path = json ? runDir : `${runDir}-2`;
        const config = join(cwd, 'config.yaml');
        expect(await runCommand({ ...args, config, runDir: path, json }, recording.context)).toBe(1);
        await showCommand({ run: path, runsDir: 'runs', top: 3, json }, recording.context);
        await listCommand({ runsDir: 'runs', json }, recording.context);
      }
      // What asks once, and is refused with an echo.
      for (const json of [true, false]) {
        await checkCommand(
          { configs: [join(cwd, 'config.yaml')], offline: false, strict: false, json },
          recording.context,
        ).catch((error: Error) => recording.noted.push(error.message));
      }

      expect(server.received.every(({ authorization }) => authorization === sends)).toBe(true);
      expect(readManifest(runDir).reason).toMatchObject({
        kind: 'model-error',
        message: expect.stringMatching(/307.*redacted/),
      });
      // It was tried: the calls were given back what they sent, and say so.
      const { calls } = readRun(runDir);
      const failed = calls.flatMap(({ outcome }) => (outcome.kind === 'error' ? [outcome] : []));
      expect(new Set(failed.map(({ error }) => error)).size).toBeGreaterThanOrEqual(4);
      expect(failed.filter(({ message }) => message.includes('[redacted]')).length).toBeGreaterThan(10);
      expect(calls.some(({ completion }) => completion?.text.includes('[redacted]'))).toBe(true);
      const files = readdirSync(runDir);
      expect(files).toEqual(expect.arrayContaining(['calls.jsonl', 'report.html', 'config.yaml']));
      for (const path of [runDir, `${runDir}-2`]) {
        for (const file of readdirSync(path)) {
          expect(readFileSync(join(path, file), 'utf8').match(forms), file).toBeNull();
        }
      }
      expect([...recording.printed, ...recording.noted].join('\n').match(forms)).toBeNull();
    },
    30_000,
  );
});

describe('a secret in a config', () => {
  const host = `${userinfo}@127.0.0.1:1`;
  it.each([
    ['a login in baseUrl', `provider: openai, name: m, baseUrl: "http://${host}/v1"`, 'OPENAI_BASE_URL'],
    ['a login in host', `provider: ollama, name: m, host: "http://${host}"`, 'OLLAMA_HOST'],
    ['a key in a query', `provider: openai, name: m, baseUrl: "http://h/v1?key=${key}"`, 'apiKeyEnv'],
    ['a key in apiKeyEnv', `provider: openai, name: m, apiKeyEnv: ${key}`, 'environment variable'],
    ['a login in an invalid address', `provider: ollama, name: m, host: "http://a b:${key}@h"`, 'host'],
  ])('is rejected with a hint, without being shown: %s', async (_, model, hint) => {
    const cwd = temporaryDirectory();
    const { context, printed, noted } = recordingContext(cwd);
    const started = async (file: string, overrides: readonly string[]) => {
      writeFileSync(join(cwd, 'config.yaml'), file);
      await runCommand({ ...args, config: join(cwd, 'config.yaml'), overrides, json: false }, context);
    };
    const own = config(model).replace(', concurrency: 1', '');
    const [, name, value] = /(baseUrl|host|apiKeyEnv): "?([^"]*?)"?$/.exec(model)!;
    const plain = config(model.replace(/, (baseUrl|host|apiKeyEnv): .*$/, ''));
    for (const attempt of [() => started(own, []), () => started(plain, [`model.${name}=${value}`])]) {
      const error = await attempt().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(UserError);
      const { message, problems } = error as UserError;
      expect(message).toContain(hint);
      expect(`${message}${JSON.stringify(problems)}`).not.toMatch(forms);
    }
    expect([...printed, ...noted]).toEqual([]);
    expect(existsSync(join(cwd, 'runs'))).toBe(false);
  });
});

describe('an address in an environment variable', () => {
  const attempt = async (env: Record<string, string>, model: string) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'config.yaml'), config(model));
    const { context } = recordingContext(cwd, { env });
    const run = runCommand({ ...args, config: join(cwd, 'config.yaml'), json: false }, context);
    return run.then(
      () => expect.unreachable(),
      (error: Error) => error.message,
    );
  };
  const openai = 'provider: openai, name: m';

  it.each([
    ['a query', { OPENAI_BASE_URL: `http://h/v1?key=${key}`, OPENAI_API_KEY: 'x' }, openai],
    ['an invalid OPENAI_BASE_URL', { OPENAI_BASE_URL: `canary:${key}@h` }, openai],
    ['an invalid OLLAMA_HOST', { OLLAMA_HOST: `me:can ary:${key}@h:x` }, 'provider: ollama, name: m'],
  ])("is rejected if it can't be used, and its key isn't shown: %s", async (_, env, model) => {
    const message = await attempt(env, model);
    expect(message).toMatch(/OPENAI_BASE_URL|OLLAMA_HOST/);
    expect(message).toContain('hint: ');
    expect(message).not.toMatch(forms);
  });
});
