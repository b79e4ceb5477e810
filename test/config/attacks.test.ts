import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { loadConfig } from '../../src/config/load.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const base = 'environment: CartPole-v1\nmodel: {provider: ollama, name: x}\n';
const many = (count: number, item: (i: number) => string, between = '\n') =>
  Array.from({ length: count }, (_, i) => item(i)).join(between);

function refusal(file: string, readFile?: (path: string) => string): string {
  try {
    loadConfig({ file, ...(readFile && { readFile }) });
  } catch (error) {
    expect(error).toBeInstanceOf(UserError);
    const { message } = error as UserError;
    expect(message.split('\n').length).toBeLessThan(40);
    return message;
  }
  throw new Error('the config was accepted');
}

describe('loadConfig with hostile files', () => {
  it.each([
    ['50,000 keys', base + many(50_000, (i) => `k${i}: 1`), /488949 characters; the maximum is 256000/],
    ['20,000 short keys', base + many(20_000, (i) => `k${i}: 1`), /too many keys/],
    ['4,000 keys', base + many(4_000, (i) => `k${i}: 1`), /k0: unknown key/],
    ['a key that occurs 4,000 times', base + 'a: 1\n'.repeat(4_000), /duplicate key: a/],
    ['deep lists', `${base}a: ${'['.repeat(45_000)}${']'.repeat(45_000)}`, /nested too deeply/],
    ['lists 500 deep', `${base}a: ${'['.repeat(500)}${']'.repeat(500)}`, /nested more than 100 levels deep/],
    ['deep keys', `${base}${'? '.repeat(4_900)}`, /nested too deeply/],
    ['15,000 tags in a row', `${base}x: ${'!!str '.repeat(15_000)}`, /not valid YAML/],
    [
      'aliases of aliases',
      `a: &a [${'1,'.repeat(9)}]\n${many(10, (i) => `${'bcdefghijk'[i]}: &${'bcdefghijk'[i]} [${Array(9).fill(`*${'abcdefghij'[i]}`).join()}]`)}`,
      /alias/,
    ],
  ])('rejects %s', (_name, text, message) => {
    expect(refusal('/config.yaml', () => text)).toMatch(message);
  });

  it('rejects devices, pipes and folders', () => {
    const folder = temporaryDirectory();
    symlinkSync('/dev/zero', join(folder, 'endless.yaml'));
    execFileSync('mkfifo', [join(folder, 'pipe.yaml')]);
    for (const name of ['endless.yaml', 'pipe.yaml'])
      expect(refusal(join(folder, name))).toMatch(/is a device, pipe or socket, not a regular file/);
    expect(refusal(folder)).toMatch(/is a folder, not a config/);
  });
});
