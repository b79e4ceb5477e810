import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeByteModel } from '../../scripts/byte-model.js';
import { packageRoot } from '../../src/base/package.js';
import { openTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

it('writeByteModel reproduces the packaged byte model', () => {
  const [own, packaged] = [temporaryDirectory(), join(packageRoot(), 'models', 'tiny-bytes')];
  writeByteModel(own);
  expect(readdirSync(packaged).toSorted()).toEqual(readdirSync(own).toSorted());
  for (const name of readdirSync(own))
    expect(readFileSync(join(packaged, name), 'utf8')).toBe(readFileSync(join(own, name), 'utf8'));
});

it('the byte model encodes text byte by byte, and the next turn as its chat template does', () => {
  const directory = temporaryDirectory();
  writeByteModel(directory);
  const tokenizer = openTokenizer(directory);
  const text = 'Grüße, 漢字 🙂\n';
  expect(tokenizer.encodeText(text)).toHaveLength(Buffer.byteLength(text));
  expect(tokenizer.decode(tokenizer.encodeText(text))).toBe(text);
  const user = (content: string) => ({ role: 'user', content }) as const;
  const answer = { role: 'assistant', content: 'An answer.' } as const;
  const before = tokenizer.encodePrompt([user('a')]);
  const after = tokenizer.encodePrompt([user('a'), answer, user('b')]);
  const next = tokenizer.encodeNext([user('a'), answer, user('b')]);
  expect([...before, ...tokenizer.encodeText(answer.content), ...next]).toEqual(after);
});
