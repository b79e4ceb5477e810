import process from 'node:process';
import { afterEach, describe, expect, test } from 'vitest';
import { childEnv } from '../../../src/base/child-environment.js';
import { BridgeProcess } from '../../../src/environments/remote/bridge-process.js';
import { EnvironmentError } from '../../../src/environments/remote/remote-environment.js';

const opened: BridgeProcess[] = [];
afterEach(async () => {
  for (const bridge of opened.splice(0)) await bridge.close();
});

/** A child whose answer to the parsed line `request` is the expression `answer`. */
function start(answer: string, timeoutMs = 20_000): BridgeProcess {
  const script = `
    require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const request = JSON.parse(line);
      const answer = ${answer};
      if (answer !== undefined) console.log(request.mark + answer);
    });`;
  return open(process.execPath, ['-e', script], timeoutMs);
}

function open(command: string, args: readonly string[], timeoutMs = 20_000): BridgeProcess {
  const bridge = new BridgeProcess('a task', command, args, timeoutMs);
  opened.push(bridge);
  return bridge;
}

async function failureOf(bridge: BridgeProcess): Promise<EnvironmentError> {
  const error: unknown = await bridge.request({ n: 1 }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EnvironmentError);
  return error as EnvironmentError;
}

describe('BridgeProcess', () => {
  test('gives every request its own reply, even a long one', async () => {
    const bridge = start('JSON.stringify({ n: request.n, text: "ä".repeat(request.n) })');
    for (const n of [1, 200_000, 3]) expect(await bridge.request({ n })).toEqual({ n, text: 'ä'.repeat(n) });
  });

  test('ignores noise, and late or repeated replies', async () => {
    const script = `
      require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { mark, n } = JSON.parse(line);
        process.stdout.write('noise\\n[0]\\nhalf a line ' + mark + n + '\\n' + mark + n + '\\n');
      });`;
    const bridge = open(process.execPath, ['-e', script]);
    for (const n of [1, 2, 3]) expect(await bridge.request({ n })).toBe(n);
  });

  test('rejects a reply that is too deeply nested', async () => {
    const deep = start('"[".repeat(5000) + "]".repeat(5000)');
    expect(await failureOf(deep)).toMatchObject({ kind: 'protocol' });
  });

  test('passes the variables that a child needs, and no keys', async () => {
    const names = {
      OPENAI_API_KEY: false,
      ANTHROPIC_API_KEY: false,
      AWS_SECRET_ACCESS_KEY: false,
      PYTHON_KEYRING_TOKEN: false,
      OF_NO_USE: false,
      PYTHONPATH: true,
      CUDA_VISIBLE_DEVICES: true,
      https_proxy: true,
      LC_ALL: true,
      LABORATORY: true,
    };
    const given = childEnv({
      ...Object.fromEntries(Object.keys(names).map((name) => [name, 'x'])),
      PATH: '/bin',
      POLICYLOOP_PASS_ENV: 'LABORATORY, OTHER',
    });
    for (const [name, passed] of Object.entries(names)) expect([name, name in given]).toEqual([name, passed]);
    process.env.CANARY_API_KEY = 'canary';
    const bridge = start('JSON.stringify(Object.keys(process.env))');
    const seen = (await bridge.request({})) as readonly string[];
    delete process.env.CANARY_API_KEY;
    expect(seen).toContain('PATH');
    expect(seen).not.toContain('CANARY_API_KEY');
  });

  test('reports a program that does not exist', async () => {
    expect(await failureOf(open('/no/such/python', []))).toMatchObject({
      kind: 'died',
      message: 'a task: /no/such/python was not found',
    });
  });

  test('reports the exit code and the last output of a process that ends, on one screen', async () => {
    const bridge = start(
      '(process.stderr.write("noise\\n".repeat(500) + "the last words\\n"), process.exit(7))',
    );
    const { kind, message } = await failureOf(bridge);
    expect(kind).toBe('died');
    expect(message).toMatch(/^a task: its process ended \(exit code 7\)\n[\s\S]*the last words$/);
    expect(message.split('\n').length).toBeLessThan(25);
    await expect(bridge.request({ n: 2 })).rejects.toThrow(/exit code 7/);
  });

  test('reports a timeout even if the request for a stack trace ends the process', async () => {
    const bridge = open('sleep', ['60'], 50);
    expect(await failureOf(bridge)).toMatchObject({ kind: 'timeout' });
  });

  test('reports a reply that is not JSON', async () => {
    expect(await failureOf(start('"{ I am no JSON"'))).toMatchObject({
      kind: 'protocol',
      message: expect.stringContaining('{ I am no JSON'),
    });
  });

  test('can be closed during a request, and closed again', async () => {
    const bridge = start('undefined');
    const failure = failureOf(bridge);
    await bridge.close();
    await bridge.close();
    expect(await failure).toMatchObject({ kind: 'died', message: 'a task: it was closed' });
  });
});
